# tries: to look as if it had been killed for memory, by killing itself with the same signal
# expect: code_execution_error
# holds: exit_code == -9
# holds: oom_kills == 0
import os
import signal

os.kill(os.getpid(), signal.SIGKILL)
