# tries: to overflow the stack of the interpreter, by recursion in C without a limit
# expect: code_execution_error
# holds: processes_killed == 0
import sys

sys.setrecursionlimit(1 << 30)
one, other = [], []
for _ in range(1_000_000):
    one, other = [one], [other]
print(one == other)
