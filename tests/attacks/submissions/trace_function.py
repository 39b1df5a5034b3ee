# tries: Has every line run through a function of its own.
# base: wrong
# verdict: same

import sys
sys.settrace(lambda *event: None)
sys.setprofile(lambda *event: None)
