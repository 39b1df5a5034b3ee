# tries: Returns a list that contains itself.
# base: wrong
# verdict: less

def cyclic(self):
    result = [1]
    result.append(result)
    return result
BlockPool.free_order = cyclic
