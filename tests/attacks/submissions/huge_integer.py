# tries: Returns a number of many million digits.
# base: wrong
# verdict: less

BlockPool.get_num_free_blocks = lambda self: 1 << 400_000_000
