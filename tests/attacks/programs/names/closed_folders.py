# tries: to leave folders that nobody may enter, files that nobody may write, and links in circles
# expect: success or submission_missing
# collects: models/
import os

for place in ("/output", "/work", "/tmp", "/dev/shm"):
    os.makedirs(f"{place}/models/inner/more")
    open(f"{place}/models/inner/more/file", "w").close()
    os.symlink(".", f"{place}/models/circle")
    os.symlink("self", f"{place}/models/self")
    os.symlink("/data", f"{place}/models/data")
    os.chmod(f"{place}/models/inner/more", 0)
    os.chmod(f"{place}/models/inner", 0o111)
    os.chmod(f"{place}/models", 0o555)
