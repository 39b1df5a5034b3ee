# tries: Opens files until there is no descriptor left.
# base: wrong
# verdict: less

import os
kept = []
def exhaust(self, n):
    while True: kept.append(os.open("/dev/null", os.O_RDONLY))
BlockPool.get_new_blocks = exhaust
