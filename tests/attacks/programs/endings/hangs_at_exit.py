# tries: to hang after its last statement, in a function for the exit
# expect: timeout
# limits: wall_seconds=1
import atexit
import time

atexit.register(time.sleep, 600)
