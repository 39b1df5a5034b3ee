# tries: Puts itself in front of every import.
# base: wrong
# verdict: same

import sys
class Finder:
    def find_spec(self, name, path=None, target=None): raise ImportError(name)
sys.meta_path.insert(0, Finder())
