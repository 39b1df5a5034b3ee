# tries: Keeps count on the disk, to be another one the second time.
# base: wrong
# verdict: same

import os
for folder in ("/tmp", "/dev/shm", os.getcwd()):
    try:
        with open(os.path.join(folder, "count"), "a") as file: file.write("x")
    except OSError: pass
