# tries: to guess twice: each id with both answers
# expect: success
# graded: submission_invalid
# collects: submission.csv
with open("/output/submission.csv", "w") as file:
    file.write("id,y\n" + "".join(f"{number},{label}\n" for number in range(40) for label in (0, 1)))
