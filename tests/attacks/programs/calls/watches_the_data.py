# tries: to see by notices of the kernel when other boxes or the host read the data, and to hold up who writes it
# expect: success
# holds: stdout has DENIED
# control: plain
import fcntl
import os
import signal

F_SETLEASE, F_NOTIFY, DN_ACCESS, DN_MULTISHOT = 1024, 1026, 1, 0x80000000
signal.signal(signal.SIGIO, signal.SIG_IGN)
folder = os.open(os.environ["DATA_DIR"], os.O_RDONLY | os.O_DIRECTORY)
file = os.open(f"{os.environ['DATA_DIR']}/train.csv", os.O_RDONLY)
for name, descriptor, command, argument in (
    ("notices of a folder", folder, F_NOTIFY, DN_ACCESS | DN_MULTISHOT),
    ("a lease", file, F_SETLEASE, fcntl.F_RDLCK),
):
    try:
        fcntl.fcntl(descriptor, command, argument)
        print("LEAK: got", name)
    except OSError as error:
        print("DENIED:", name, error)
