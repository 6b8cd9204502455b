# tries: to break the grader with NUL characters, in which a C library would end a text
# expect: success
# graded: submission_invalid
# collects: submission.csv
with open("/output/submission.csv", "w") as file:
    file.write("id,y\n" + "".join(f"{number},{number % 2}\0\n" for number in range(40)))
