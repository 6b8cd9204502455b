# tries: to have an endless device read as the submission, by a link
# expect: submission_invalid
# collects: submission.csv
# holds: reason has a symbolic link
import os

os.symlink("/dev/zero", "/output/submission.csv")
