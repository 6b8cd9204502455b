# tries: to have a plain failure counted as lack of memory, by the supervisor's own sign for that
# expect: code_execution_error or out_of_memory
# holds: oom_kills == 0
import os

for number in range(3, 64):
    try:
        os.set_blocking(number, False)
        os.write(number, b"M" * 100)
    except OSError:
        pass
raise ValueError("not memory")
