# tries: to break the code that runs it by replacing built-ins and modules that it needs after the program
# expect: code_execution_error or success or submission_missing
# collects: submission.csv
import atexit
import builtins
import os
import sys
import threading

os._exit = lambda code: print("LEAK: it decides on its exit")
atexit._run_exitfuncs = threading._shutdown = lambda: 1 / 0
builtins.print = builtins.open = builtins.isinstance = None
sys.modules["os"] = None
raise SystemExit(0)
