# tries: to leave the next program its umask, limits, signal handlers, priority, affinity, directory and timers
# expect: success
import os
import resource
import signal

os.umask(0o777)
os.nice(0)
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
resource.setrlimit(resource.RLIMIT_STACK, (4096, 4096))
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGCHLD})
signal.setitimer(signal.ITIMER_REAL, 600)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.chdir("/tmp")
# --- the next program of the session ---
import os
import resource
import signal
import subprocess

assert subprocess.run(["/bin/sh", "-c", "exit 0"] if os.path.exists("/bin/sh") else ["/opt/venv/bin/python", "-c", ""], check=True).returncode == 0
if os.umask(0o022) != 0o022 or os.getcwd() != "/work" or signal.getitimer(signal.ITIMER_REAL)[0]:
    print("LEAK: settings were left")
if resource.getrlimit(resource.RLIMIT_NPROC)[0] == 1 or resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 10:
    print("LEAK: limits were left")
with open("/work/large", "wb") as file:
    file.write(bytes(1 << 20))
