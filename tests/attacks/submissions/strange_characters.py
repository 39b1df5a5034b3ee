# tries: Puts escape sequences, surrogates and bidirectional marks into all texts.
# base: wrong
# verdict: less

TEXT = "\x1b[2J\x1b[31m\x00\ud800\u202e\N{ZERO WIDTH JOINER}</script><b>=1+1"
def raise_it(self, n): raise RuntimeError(TEXT)
BlockPool.get_new_blocks = raise_it
print(TEXT.encode("utf-8", "replace").decode())
