# tries: to write output for ever, so that its reader never comes to an end
# expect: timeout
# limits: wall_seconds=1.5
# holds: notes has bytes of stdout were cut
import os

while True:
    os.write(1, b"again and again\n" * 4096)
