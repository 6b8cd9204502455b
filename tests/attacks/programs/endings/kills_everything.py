# tries: to kill every process that it can see, PID 1 and its parent among them
# expect: code_execution_error or success
# holds: oom_kills == 0
import os
import signal

others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
for pid in others:
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV, signal.SIGCHLD, signal.SIGALRM, signal.SIGRTMIN):
        try:
            os.kill(pid, number)
        except OSError as error:
            print("DENIED:", error)
print("still here", flush=True)
os.kill(-1, signal.SIGKILL)
