# tries: Is right in the examples, and wrong everywhere else.
# base: wrong
# verdict: same

calls = 0
right = {8: list(range(1, 8))}
original = BlockPool.get_new_blocks
def get_new_blocks(self, n):
    global calls
    calls += 1
    return original(self, n)
BlockPool.get_new_blocks = get_new_blocks
