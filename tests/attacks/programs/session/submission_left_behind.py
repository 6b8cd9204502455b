# tries: to leave a submission, so that the next program gets a score without work
# expect: success
# then: submission_missing
# collects: submission.csv
import os

with open("/output/submission.csv", "w") as file:
    file.write("id,y\n1,0\n")
os.chmod("/output/submission.csv", 0o444)
try:
    os.chmod("/output", 0o555)
except OSError:
    pass  # not its own
# --- the next program of the session ---
print("nothing is written here")
