# tries: to make device nodes of disks and memory, and to open those that are there for writing
# expect: success
# holds: stdout has DENIED
import os
import stat

for folder in ("/tmp", "/work", "/output", "/dev/shm"):
    for kind, major, minor in ((stat.S_IFBLK, 8, 0), (stat.S_IFBLK, 254, 0), (stat.S_IFCHR, 1, 1), (stat.S_IFCHR, 10, 232)):
        path = f"{folder}/device-{major}-{minor}"
        try:
            os.mknod(path, 0o666 | kind, os.makedev(major, minor))
            print("LEAK: made", path)
        except OSError as error:
            print("DENIED:", error)
for name in ("/dev/console", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/vhost-net", "/dev/loop0", "/dev/sda", "/dev/vda"):
    try:
        os.open(name, os.O_RDWR)
        print("LEAK: opened", name)
    except OSError as error:
        print("DENIED:", error)
