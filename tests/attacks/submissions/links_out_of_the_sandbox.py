# tries: Makes links to what is outside.
# base: wrong
# verdict: same

import os
for target in ("/etc/shadow", "/proc/1/root", "/work"):
    for folder in ("/tmp", os.getcwd(), "/dev/shm"):
        try: os.symlink(target, os.path.join(folder, "link"))
        except OSError: pass
