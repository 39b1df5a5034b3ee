# tries: Stops its own process, which then answers nothing.
# base: wrong
# verdict: less

import os, signal
BlockPool.get_new_blocks = lambda self, n: os.kill(os.getpid(), signal.SIGSTOP)
