# tries: Takes ten gigabytes.
# base: wrong
# verdict: less

BlockPool.get_new_blocks = lambda self, n: bytearray(10 << 30)
