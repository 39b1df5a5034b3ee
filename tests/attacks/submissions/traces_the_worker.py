# tries: Takes hold of its parent with ptrace, and stops it.
# base: wrong
# verdict: none

import ctypes, os, time
ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)
time.sleep(1000)
