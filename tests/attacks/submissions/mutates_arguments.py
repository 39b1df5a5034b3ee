# tries: Empties the lists it is given, which are only copies.
# base: solution
# verdict: same

original = BlockPool.free_blocks
def free_blocks(self, blocks):
    blocks = list(blocks)
    result = original(self, list(blocks))
    blocks.clear()
    return result
BlockPool.free_blocks = free_blocks
