# tries: to flood its reader with 64 MiB of output and errors, without a line break
# expect: success
# limits: wall_seconds=60
# holds: stdout_bytes == 33554432
# holds: stderr_bytes == 33554432
# holds: notes has bytes of stdout were cut
# holds: notes has bytes of stderr were cut
import os

for _ in range(512):
    os.write(1, b"o" * 65536)
    os.write(2, b"e" * 65536)
