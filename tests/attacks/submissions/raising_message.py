# tries: Raises an exception that raises when it is shown.
# base: wrong
# verdict: less

class Raising(Exception):
    def __str__(self): raise Raising
    __repr__ = __str__
def raise_it(self, n): raise Raising
BlockPool.get_new_blocks = raise_it
