# tries: Ignores all signals that can be ignored and sleeps.
# base: wrong
# verdict: less

import signal, time
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
BlockPool.get_new_blocks = lambda self, n: time.sleep(1000)
