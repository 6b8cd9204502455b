# tries: to become another program, which ignores what the first was told
# expect: timeout
# limits: wall_seconds=1.5
import os
import sys

os.execv(sys.executable, ["python", "-c", "import time; time.sleep(600)"])
