"""Front and engine core in two processes that talk over ZMQ, as vLLM's do.

The messages are `reference.wire`'s; msgpack and the sockets are here.
"""
