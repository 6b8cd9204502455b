# tries: to choke the grader with 1.5 million columns
# expect: success
# graded: submission_invalid
# collects: submission.csv
with open("/output/submission.csv", "w") as file:
    file.write("id,y" + "," * 1_500_000 + "\n1,0\n")
