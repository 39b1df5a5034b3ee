# tries: Sends msgpack that is nested a hundred thousand times.
# base: wrong
# verdict: less

import os, struct
def nested(self, n):
    body = b"\x91" * 100_000 + b"\xc0"
    for descriptor in range(3, 64):
        try: os.write(descriptor, struct.pack("<I", len(body)) + body)
        except OSError: pass
BlockPool.get_new_blocks = nested
