# tries: Takes memory in many small pieces.
# base: wrong
# verdict: less

def hoard(self, n):
    pieces = []
    while True: pieces.append(bytearray(1 << 20))
BlockPool.get_new_blocks = hoard
