# tries: Closes all that is open.
# base: wrong
# verdict: none

import os
os.closerange(0, 256)
