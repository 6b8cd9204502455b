# tries: to be a program without an effect
# expect: submission_missing
# collects: submission.csv
"""Nothing here but words."""
