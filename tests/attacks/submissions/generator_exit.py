# tries: Raises GeneratorExit, which few handlers catch.
# base: wrong
# verdict: less

def leave(self, n): raise GeneratorExit
BlockPool.get_new_blocks = leave
