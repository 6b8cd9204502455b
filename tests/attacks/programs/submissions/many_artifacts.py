# tries: to have very many files read back, or more bytes than are allowed in all
# expect: success
# collects: models/
# limits: artifact_mb=1
import os

os.mkdir("/output/models")
for number in range(300):
    with open(f"/output/models/{number}", "wb") as file:
        file.write(b"x" * 8192)
