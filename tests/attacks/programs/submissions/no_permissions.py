# tries: to make the submission unreadable, and /output with it
# expect: submission_invalid or submission_missing or success
# collects: submission.csv
import os

with open("/output/submission.csv", "w") as file:
    file.write("id,y\n1,0\n")
os.chmod("/output/submission.csv", 0)
try:
    os.chmod("/output", 0)
except OSError as error:
    print("DENIED:", error)
