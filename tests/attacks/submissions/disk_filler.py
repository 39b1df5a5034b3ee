# tries: Writes to every place that one can usually write to.
# base: wrong
# verdict: same

import os
for folder in ("/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), os.getcwd(), "/"):
    try:
        with open(os.path.join(folder, "filler"), "wb") as file:
            for _ in range(1000): file.write(bytes(1 << 20))
    except OSError: pass
