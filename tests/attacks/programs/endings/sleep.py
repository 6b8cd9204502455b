# tries: to sleep beyond its time
# expect: timeout
# limits: wall_seconds=1
# holds: reason has 1 s
import time

time.sleep(600)
