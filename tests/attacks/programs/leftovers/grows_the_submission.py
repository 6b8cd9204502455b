# tries: to make the reader read for ever: a daemon appends to the submission
# expect: success or submission_invalid
# collects: submission.csv
import os
import time

file = open("/output/submission.csv", "w")
file.write("id,y\n")
file.flush()
if os.fork() == 0:
    os.setsid()
    while True:
        file.write("1,0\n" * 100)
        file.flush()
        if file.tell() > 1 << 20:
            file.seek(0)
            file.truncate()
time.sleep(0.2)
os._exit(0)
