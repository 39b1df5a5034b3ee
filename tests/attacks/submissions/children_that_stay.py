# tries: Leaves children behind, each in a session of its own.
# base: wrong
# verdict: same

import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(3600)
        os._exit(0)
