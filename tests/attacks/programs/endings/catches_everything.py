# tries: to go on after each exception, the end of the interpreter included
# expect: timeout
# limits: wall_seconds=1
import sys
import time

while True:
    try:
        time.sleep(0.05)
        sys.exit(0)
    except BaseException:
        pass
