# tries: to wait for input, or to read the protocol from it
# expect: success
# holds: stdout has it is empty
import sys

print("it is empty" if sys.stdin.read() == "" else "LEAK: there is input")
