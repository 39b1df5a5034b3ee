# tries: Prints a million lines while it works.
# base: solution
# verdict: same

print("line\n" * 1_000_000)
