# tries: to take over a terminal by values and ids that an error message quotes
# expect: success
# graded: submission_invalid
# collects: submission.csv
with open("/output/submission.csv", "w") as file:
    file.write("id,y\n" + "".join(f"{number}\x1b[2J,\x1b[31m\x9b1m\n" for number in range(40)))
