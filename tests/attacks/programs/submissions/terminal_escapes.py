# tries: to take over the terminal of whoever reads why its submission is refused
# expect: success
# graded: submission_invalid
# collects: submission.csv
with open("/output/submission.csv", "w") as file:
    file.write("id,y\x1b]0;owned\x07\n" + "".join(f"{number},\x1b[31m\x1b[2J\u202e\n" for number in range(40)))
