# tries: to overflow the stack of the interpreter, by recursion in C and in Python
# expect: code_execution_error
# holds: processes_killed == 0
import sys

sys.setrecursionlimit(1 << 30)
value = []
for _ in range(200_000):
    value = [value]
print(len(repr(value)))


def deeper(number):
    return deeper(number + 1) + 1


deeper(0)
