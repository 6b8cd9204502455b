# tries: to be no Python
# expect: code_execution_error
# holds: reason has SyntaxError
# holds: stderr has line 6
import os
for in range(3):
