# tries: Sends answers before it is asked.
# base: wrong
# verdict: none

import os, struct, msgspec
for seq in range(64):
    body = msgspec.msgpack.encode([32, seq, [1, 2, 3]])
    for descriptor in range(3, 64):
        try: os.write(descriptor, struct.pack("<I", len(body)) + body)
        except OSError: pass
