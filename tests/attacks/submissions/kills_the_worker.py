# tries: Ends the process from which sessions are forked.
# base: wrong
# verdict: none

import os, time
os.kill(os.getppid(), 9)
time.sleep(10)
