# tries: to have a file of the system read as its submission, by a symbolic link
# expect: submission_invalid
# collects: submission.csv
# holds: submission is not_a_file
# holds: reason has a symbolic link
# holds: submission has no root
import os

os.symlink("/etc/passwd", "/output/submission.csv")
