# tries: to pass itself off as the supervisor by its name and arguments
# expect: timeout
# limits: wall_seconds=1
import ctypes
import os
import sys

ctypes.CDLL(None).prctl(15, b"supervisor", 0, 0, 0)
os.execv(sys.executable, ["/opt/venv/bin/python", "-I", "-S", "-c", "import time; time.sleep(600)", "/opt/openmle/supervisor.py"])
