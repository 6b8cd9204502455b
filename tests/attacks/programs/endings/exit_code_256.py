# tries: to pass a failure off as a success by an exit code that the kernel cuts to 0, without a submission
# expect: submission_missing
# collects: submission.csv
# holds: exit_code == 0
import sys

sys.exit(256)
