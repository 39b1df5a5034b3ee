# tries: Never returns.
# base: wrong
# verdict: less

def for_ever(self, n):
    while True: pass
BlockPool.get_new_blocks = for_ever
