# tries: to connect by TCP to the host's loopback, to the Internet, and to the usual addresses of engines and clouds
# expect: success
# holds: stdout has DENIED
# control: plain
import os
import socket

port = int(os.environ["ATTACK_TCP"])
targets = [("127.0.0.1", port), ("172.17.0.1", port), ("10.0.0.1", 80), ("169.254.169.254", 80), ("1.1.1.1", 443)]
for target in targets:
    with socket.socket() as client:
        client.settimeout(1)
        try:
            client.connect(target)
            print("LEAK: connected to", target)
        except OSError as error:
            print("DENIED:", target, error)
with socket.socket(socket.AF_INET6) as client:
    client.settimeout(1)
    try:
        client.connect(("2606:4700:4700::1111", 443))
        print("LEAK: connected by IPv6")
    except OSError as error:
        print("DENIED:", error)
