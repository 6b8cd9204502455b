# tries: to make the reader of tables slow or wrong by quotes that never end
# expect: success
# graded: submission_invalid
# collects: submission.csv
with open("/output/submission.csv", "w") as file:
    file.write('id,y\n"' + '""' * 500_000 + "\n1,0\n")
