# tries: to have a huge file read that takes no room: a sparse one
# expect: submission_invalid or code_execution_error
# limits: file_mb=1024
# collects: submission.csv
# holds: submission is too_large
import os

descriptor = os.open("/output/submission.csv", os.O_CREAT | os.O_WRONLY)
os.ftruncate(descriptor, 1 << 30)
