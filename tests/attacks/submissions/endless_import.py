# tries: Never finishes loading.
# base: wrong
# verdict: none

while True: pass
