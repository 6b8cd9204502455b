# tries: to raise its limits, make groups, leave its group or set a release agent in the control group file system
# expect: success
# holds: stdout has DENIED
import os

found = 0
for folder, folders, files in os.walk("/sys/fs/cgroup"):
    found += 1
    if found > 300:
        break
    for name in files:
        if name in ("tasks", "cgroup.procs", "memory.limit_in_bytes", "memory.max", "cpu.max", "pids.max", "release_agent", "notify_on_release", "cgroup.subtree_control", "cgroup.freeze", "freezer.state", "devices.allow", "cpu.cfs_quota_us"):
            try:
                descriptor = os.open(os.path.join(folder, name), os.O_WRONLY)
                print("LEAK: opened for writing:", os.path.join(folder, name))
                os.close(descriptor)
            except OSError:
                pass
    try:
        os.mkdir(os.path.join(folder, "made"))
        print("LEAK: made a group in", folder)
    except OSError:
        pass
print("DENIED: looked into", "groups")
