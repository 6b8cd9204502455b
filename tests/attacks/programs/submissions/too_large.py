# tries: to have a submission read that is larger than its limit
# expect: submission_invalid
# collects: submission.csv
# holds: submission is too_large
with open("/output/submission.csv", "wb") as file:
    file.write(b"x" * (5 << 20))
