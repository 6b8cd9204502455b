# tries: to start as many processes as it can: a fork bomb
# expect: code_execution_error
# limits: processes=24
# holds: stderr has BlockingIOError
import os

while True:
    os.fork()
