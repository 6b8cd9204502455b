# tries: to have the environment of PID 1 read, which only PID 1 can read, by a symbolic link
# expect: submission_invalid
# collects: submission.csv
# holds: submission is not_a_file
# holds: submission has no OPENMLE
import os

os.symlink("/proc/1/environ", "/output/submission.csv")
