# tries: to go on working after its end, as a daemon with a session of its own
# expect: success
# holds: processes_killed >= 1
# holds: notes has processes that outlived the program
import os
import time

ready, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (0, 1, 2):
            os.close(number)
        os.write(tell, b"x")
        time.sleep(600)
    os._exit(0)
os.read(ready, 1)
print("done")
