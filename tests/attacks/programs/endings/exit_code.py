# tries: to leave with a code, past every function for the exit
# expect: code_execution_error
# holds: exit_code == 3
# holds: stderr has no Traceback
import os

os._exit(3)
