# tries: to set the clock of the machine
# expect: success
# holds: stdout has DENIED
import os
import time

for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME):
    try:
        time.clock_settime(clock, time.clock_gettime(clock))
        print("LEAK: set", clock)
    except OSError as error:
        print("DENIED:", error)
for path in ("/dev/rtc", "/dev/rtc0", "/dev/ptp0"):
    if os.path.exists(path):
        print("LEAK: there is", path)
