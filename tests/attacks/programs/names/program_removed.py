# tries: to remove and replace its own program and working folder while it runs
# expect: success or code_execution_error
import os

os.remove("/work/program.py")
os.symlink("/etc/passwd", "/work/program.py")
try:
    os.rmdir("/work")
    print("LEAK: removed the working folder")
except OSError as error:
    print("DENIED:", error)
for source, target in (("/work", "/tmp/work"), ("/output", "/work/output"), ("/tmp", "/work/tmp")):
    try:
        os.rename(source, target)
        print("LEAK: moved", source)
    except OSError as error:
        print("DENIED:", error)
