# tries: to confuse the supervisor by its status pipe: many bytes of every value, then closing it
# expect: success
# holds: stdout has still here
import os

for number in range(3, 64):
    try:
        os.set_blocking(number, False)
        for byte in range(256):
            if byte != ord("M"):
                os.write(number, bytes([byte]) * 1000)
    except OSError:
        pass
    try:
        os.close(number)
    except OSError:
        pass
print("still here")
