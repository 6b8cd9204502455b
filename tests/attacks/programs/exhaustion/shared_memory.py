# tries: to take more shared memory than /dev/shm may have, by POSIX names and by files
# expect: success or code_execution_error
# holds: stdout has DENIED
# control: limits shm_mb=64 file_mb=64
import os
from multiprocessing import shared_memory

try:
    block = shared_memory.SharedMemory(create=True, size=24 << 20, track=False) if os.sys.version_info >= (3, 13) else shared_memory.SharedMemory(create=True, size=24 << 20)
    os.posix_fallocate(block._fd, 0, 24 << 20)
    print("LEAK: 24 MiB of shared memory")
except OSError as error:
    print("DENIED:", error)
