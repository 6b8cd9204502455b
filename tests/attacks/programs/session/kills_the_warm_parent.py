# tries: to end or stop the warm parent, so that every later program of the session fails
# expect: success or code_execution_error
import os
import signal

others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
for pid in others:
    for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        try:
            os.kill(pid, number)
        except OSError:
            pass
# --- the next program of the session ---
print("it runs")
