# tries: to choke the grader with one line of 3 MiB
# expect: success
# graded: submission_invalid
# collects: submission.csv
with open("/output/submission.csv", "w") as file:
    file.write("1" * (3 << 20))
