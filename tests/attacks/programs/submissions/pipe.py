# tries: to keep the reader waiting, by a named pipe as the submission
# expect: submission_invalid
# collects: submission.csv
# holds: reason has a named pipe
import os

os.mkfifo("/output/submission.csv")
