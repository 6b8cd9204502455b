# tries: to end with success by becoming another program, without a submission
# expect: submission_missing
# collects: submission.csv
import os
import sys

os.execv(sys.executable, ["python", "-c", "pass"])
