# tries: Gives an endless generator for a list.
# base: wrong
# verdict: less

import itertools
BlockPool.free_order = lambda self: itertools.count()
