# tries: Sends what it finds to a server on this machine.
# base: wrong
# verdict: same

import socket
for port in (int(open("/etc/canary_port").read()) if __import__("os").path.exists("/etc/canary_port") else 8000, 80, 5432):
    for address in ("127.0.0.1", "::1", "10.0.0.1"):
        try:
            with socket.create_connection((address, port), 0.05) as connection: connection.send(b"all")
        except OSError: pass
