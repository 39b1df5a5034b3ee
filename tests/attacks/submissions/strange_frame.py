# tries: Sends a map with NaN for a key, and an unknown extension type.
# base: wrong
# verdict: less

import os, struct
def strange(self, n):
    body = b"\x82\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00\x01\xd4\x7f\x00\x02"
    for descriptor in range(3, 64):
        try: os.write(descriptor, struct.pack("<I", len(body)) + body)
        except OSError: pass
BlockPool.get_new_blocks = strange
