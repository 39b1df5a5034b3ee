"""Numbers that several modules use."""

KIB = 1 << 10
CHUNK = 24 * KIB * KIB
