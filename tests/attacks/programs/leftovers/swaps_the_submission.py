# tries: to change the submission while it is read: a daemon swaps it with a link to a file of the system
# expect: success or submission_invalid or submission_missing
# collects: submission.csv
# holds: submission has no root:
import os
import time

with open("/output/good", "w") as file:
    file.write("id,y\n" + "1,0\n" * 100_000)
os.symlink("/etc/passwd", "/output/bad")
if os.fork() == 0:
    os.setsid()
    while True:
        for source in ("good", "bad"):
            os.link(f"/output/{source}", "/output/next", follow_symlinks=False)
            os.rename("/output/next", "/output/submission.csv")
time.sleep(0.2)
