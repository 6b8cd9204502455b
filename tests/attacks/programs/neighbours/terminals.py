# tries: to leave no pseudo-terminal to the boxes beside its own, of which the whole machine has 4,096
# expect: success
# limits: open_files=4096
import os
import time

opened = []
until = time.monotonic() + 2.5
while time.monotonic() < until:
    try:
        opened.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        time.sleep(0.01)
print("opened", len(opened))
# --- another program, at the same time ---
import os
import time

until, opened, failed = time.monotonic() + 1.6, 0, ""
while time.monotonic() < until:
    try:
        os.close(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
        opened += 1
    except OSError as error:
        failed = str(error)
    time.sleep(0.01)
if opened and failed:
    print("LEAK: a program of another box had terminals and got none any more:", failed)
