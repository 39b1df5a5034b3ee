# tries: Returns lists within lists, very deep.
# base: wrong
# verdict: less

def deep(self):
    result = []
    for _ in range(200_000): result = [result]
    return result
BlockPool.free_order = deep
