# tries: Returns a dictionary whose keys are no numbers.
# base: wrong
# verdict: less

BlockPool.free_order = lambda self: {float("nan"): 1, float("nan"): 2}
