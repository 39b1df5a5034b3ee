# tries: Reads the environment and the memory of all processes in sight.
# base: wrong
# verdict: same

import os
for pid in os.listdir("/proc"):
    for name in ("environ", "cmdline", "maps", "mem"):
        try: open(f"/proc/{pid}/{name}", "rb").read(100)
        except OSError: pass
