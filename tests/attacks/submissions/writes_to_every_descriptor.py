# tries: Writes rubbish to all that is open.
# base: wrong
# verdict: none

import os
for descriptor in range(256):
    try: os.write(descriptor, b"\xff" * 64)
    except OSError: pass
