# tries: to fill pipes, whose contents belong to no process
# expect: success or out_of_memory or code_execution_error
# open(uncgrouped): the watch does not see what pipes hold, of which the kernel gives a user no more than 64 MiB
# limits: memory_mb=48 open_files=4096
# control: limits memory_mb=1024 open_files=4096
import fcntl
import os

total, pipes = 0, []
try:
    for _ in range(1500):
        ends = os.pipe()
        pipes.append(ends)
        os.set_blocking(ends[1], False)
        try:
            fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 1 << 20)
        except OSError:
            pass
        try:
            while True:
                total += os.write(ends[1], bytes(1 << 16))
        except BlockingIOError:
            pass
        if total > 60 << 20:
            print("LEAK: pipes hold", total >> 20, "MiB of 48")
            break
except OSError as error:
    print("DENIED:", error)
