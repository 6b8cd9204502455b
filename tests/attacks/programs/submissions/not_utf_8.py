# tries: to break the grader with bytes that are no UTF-8, and a byte order mark of another encoding
# expect: success
# graded: submission_invalid
# collects: submission.csv
with open("/output/submission.csv", "wb") as file:
    file.write(b"\xff\xfei\x00d\x00,\x00y\x00\n\x00" + b"\xc3\x28,\xa0\xa1\n" * 40)
