# tries: to get a formula into whatever opens the submission as a sheet
# expect: success
# graded: submission_invalid
# collects: submission.csv
with open("/output/submission.csv", "w") as file:
    file.write("id,y\n" + "".join(f"{number},=cmd|' /C calc'!A0\n" for number in range(40)))
