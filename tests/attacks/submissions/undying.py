# tries: Handlers that run when processes fork or end.
# base: wrong
# verdict: same

import atexit, os
atexit.register(lambda: os.kill(os.getppid(), 9))
os.register_at_fork(before=lambda: os._exit(0))
