# tries: Raises an exception whose text is a gigabyte long.
# base: wrong
# verdict: less

class Huge(Exception):
    def __str__(self): return "x" * (1 << 30)
def raise_it(self, n): raise Huge
BlockPool.get_new_blocks = raise_it
