# tries: to end the supervisor, or the warm parent, so that the run cannot be judged and is given a second chance
# expect: success
# holds: stdout has still here
import ctypes
import os
import signal
import threading

others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
for other in others:
    for number in range(1, 65):
        try:
            os.kill(other, number)
        except OSError:
            pass
        try:
            signal.pidfd_send_signal(os.pidfd_open(other), number)
        except OSError:
            pass
libc = ctypes.CDLL(None, use_errno=True)
number = 234 if os.uname().machine == "x86_64" else 131  # tgkill
for other in others:
    for wanted in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        libc.syscall(number, other, other, wanted)
print("still here", threading.active_count())
