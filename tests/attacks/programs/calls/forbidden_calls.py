# tries: to make about sixty system calls that no data science needs: mounts, namespaces, modules, keys, traces, clocks and so on
# expect: success
# holds: stdout has DENIED
# control: plain
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
CALLS = {  # number on x86_64, on aarch64; called with arguments that harm nothing
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "swapon": (167, 224),
    "swapoff": (168, 225), "reboot": (169, 142), "sethostname": (170, 161), "setdomainname": (171, 162),
    "init_module": (175, 105), "delete_module": (176, 106), "finit_module": (313, 273), "acct": (163, 89),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "bpf": (321, 280), "userfaultfd": (323, 282),
    "perf_event_open": (298, 241), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "unshare": (272, 97), "setns": (308, 268),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "fanotify_init": (300, 262), "quotactl": (179, 60),
    "syslog": (103, 116), "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsmount": (432, 432), "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444), "settimeofday": (164, 170), "adjtimex": (159, 171),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "vhangup": (153, 58), "move_pages": (279, 239),
    "migrate_pages": (256, 238), "lookup_dcookie": (212, 18), "shmget": (29, 194), "msgget": (68, 186),
    "semget": (64, 190), "mq_open": (240, 180), "inotify_init1": (294, 26), "vmsplice": (278, 75),
}
column = 0 if os.uname().machine == "x86_64" else 1
for name, numbers in CALLS.items():
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(value) for value in (numbers[column], -1, 0, 0, 0, 0, 0)])
    code = ctypes.get_errno()
    if result < 0 and code in (errno.EPERM, errno.ENOSYS):
        print("DENIED:", name)
    else:
        print("LEAK: the kernel looked at the arguments of", name, "and said", errno.errorcode.get(code, result))
