# tries: Returns more than a message may hold.
# base: wrong
# verdict: less

BlockPool.free_order = lambda self: list(range(30_000_000))
