# tries: to have an endless device read as the submission
# expect: submission_missing
# collects: submission.csv
# holds: stdout has DENIED
import os
import stat

try:
    os.mknod("/output/submission.csv", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    print("LEAK: made /dev/zero")
except OSError as error:
    print("DENIED:", error)
