# tries: Tries to make namespaces and mounts of its own.
# base: wrong
# verdict: same

import ctypes
libc = ctypes.CDLL(None)
for flags in (0x10000000, 0x20000, 0x40000000, 0x20000000):
    libc.unshare(flags)
libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)
libc.chroot(b"/tmp")
