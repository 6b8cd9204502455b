# tries: to write, make, rename, link and delete in every system folder, and in /data
# expect: success
# holds: stdout has DENIED
import os

folders = ["/", "/bin", "/etc", "/usr", "/usr/bin", "/lib", "/opt", "/opt/venv", "/opt/openmle", "/opt/venv/bin", "/data", "/dev"]
folders += ["/home", "/run", "/var", "/var/tmp", "/root", "/mnt", "/proc", "/sys", "/proc/sys", "/proc/sys/kernel"]
attempts = {
    "make a file in": lambda folder: open(f"{folder}/made", "w"),
    "make a folder in": lambda folder: os.mkdir(f"{folder}/made-folder"),
    "make a link in": lambda folder: os.symlink("/tmp", f"{folder}/made-link"),
    "change the mode of": lambda folder: os.chmod(folder, 0o777),
    "change the owner of": lambda folder: os.chown(folder, os.getuid(), os.getgid()),
    "change the times of": lambda folder: os.utime(folder, (0, 0)),
    "rename": lambda folder: os.rename(folder, f"/tmp/moved"),
    "set an attribute of": lambda folder: os.setxattr(folder, "user.made", b"x"),
}
for folder in filter(os.path.isdir, folders):
    for name, attempt in attempts.items():
        try:
            attempt(folder)
            print("LEAK: it could", name, folder)
        except OSError as error:
            print("DENIED:", error)
for path in ("/data/train.csv", "/etc/passwd", "/etc/hosts", "/opt/openmle/child.py", "/opt/venv/bin/python", "/opt/venv/pyvenv.cfg"):
    for attempt in (lambda: open(path, "a"), lambda: os.truncate(path, 0), lambda: os.remove(path), lambda: os.chmod(path, 0o777), lambda: os.link(path, f"/data/{os.getpid()}")):
        try:
            attempt()
            print("LEAK: changed", path)
        except OSError as error:
            print("DENIED:", error)
