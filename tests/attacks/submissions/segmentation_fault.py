# tries: Reads address zero.
# base: wrong
# verdict: less

import ctypes
BlockPool.get_new_blocks = lambda self, n: ctypes.string_at(0)
