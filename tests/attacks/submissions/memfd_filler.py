# tries: Fills files that exist only in memory.
# base: wrong
# verdict: same

import os
try:
    for number in range(1000):
        file = os.memfd_create(str(number))
        for _ in range(1000): os.write(file, bytes(1 << 20))
except OSError: pass
