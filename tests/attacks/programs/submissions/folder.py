# tries: to confuse the reader by a folder as the submission
# expect: submission_invalid
# collects: submission.csv
# holds: reason has a folder
import os

os.makedirs("/output/submission.csv/submission.csv")
