# tries: to never finish exiting: each function for the exit registers the next
# expect: timeout or code_execution_error or success or out_of_memory
# limits: wall_seconds=1
# holds: stdout has no LEAK
import atexit


def again():
    atexit.register(again)
    atexit.register(again)


atexit.register(again)
while True:
    again()
    try:
        raise SystemExit(0)
    except SystemExit:
        continue
