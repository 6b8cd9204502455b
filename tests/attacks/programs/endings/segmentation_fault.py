# tries: to crash the interpreter
# expect: code_execution_error
# holds: exit_code == -11
import ctypes

ctypes.string_at(1)
