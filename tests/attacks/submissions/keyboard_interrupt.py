# tries: Raises what a person's Ctrl-C raises.
# base: wrong
# verdict: less

def interrupt(self, n): raise KeyboardInterrupt
BlockPool.get_new_blocks = interrupt
