# tries: to win by values that compare with nothing: NaN, infinity, empty
# expect: success
# graded: submission_invalid
# collects: submission.csv
values = ("NaN", "nan", "inf", "-inf", "", "None", "1e999", "0x1")
with open("/output/submission.csv", "w") as file:
    file.write("id,y\n" + "".join(f"{number},{values[number % 8]}\n" for number in range(40)))
