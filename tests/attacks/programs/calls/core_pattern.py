# tries: to have the kernel start a program on the host, by core_pattern, modprobe, uevent_helper or binfmt
# expect: success
# holds: stdout has DENIED
import os

paths = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug", "/sys/kernel/uevent_helper"]
paths += ["/proc/sys/fs/binfmt_misc/register", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger"]
paths += ["/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/panic", "/proc/sys/net/ipv4/ip_forward", "/proc/1/oom_score_adj"]
paths += ["/proc/sys/net/ipv4/ping_group_range", "/proc/sys/kernel/yama/ptrace_scope", "/proc/irq/default_smp_affinity"]
for path in paths:
    try:
        before = b"h" if path.endswith("sysrq-trigger") else open(path, "rb").read()
    except OSError:
        before = b"0"
    try:
        descriptor = os.open(path, os.O_WRONLY)
        os.write(descriptor, before)
        print("LEAK: may write", path)
    except OSError as error:
        print("DENIED:", error)
