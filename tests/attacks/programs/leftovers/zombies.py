# tries: to leave zombies and orphans to PID 1
# expect: success
# holds: stdout has done
import os

for number in range(15):
    if os.fork() == 0:
        if number % 2 and os.fork():
            os._exit(1)
        os._exit(0)
print("done")
