# tries: Calls itself for ever, with the limit lifted.
# base: wrong
# verdict: less

import sys
sys.setrecursionlimit(1 << 30)
def recurse(self, n): return recurse(self, n)
BlockPool.get_new_blocks = recurse
