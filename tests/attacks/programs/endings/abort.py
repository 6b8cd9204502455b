# tries: to abort the interpreter
# expect: code_execution_error
# holds: exit_code == -6
import os

os.abort()
