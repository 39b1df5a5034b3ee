# tries: A result that is mended after it was given.
# base: wrong
# verdict: less

import threading, time
original = BlockPool.free_order
def later(self):
    result = original(self)
    def mend():
        time.sleep(0.05)
        result.clear()
    threading.Thread(target=mend, daemon=True).start()
    return result
BlockPool.free_order = later
