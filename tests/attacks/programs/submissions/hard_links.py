# tries: to make hard links in /output to the data, the system, and files of PID 1
# expect: submission_missing
# collects: submission.csv
# holds: stdout has DENIED
import os

sources = ("/data/train.csv", "/etc/passwd", "/proc/1/environ", "/opt/openmle/supervisor.py", "/proc/self/exe", "/dev/null")
for source in sources:
    for follow in (True, False):
        try:
            os.link(source, "/output/submission.csv", follow_symlinks=follow)
            print("LEAK: linked", source)
        except OSError as error:
            print("DENIED:", error)
