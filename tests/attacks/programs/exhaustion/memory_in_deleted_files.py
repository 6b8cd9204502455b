# tries: to hide memory in a deleted file that only a mapping or a message in flight still holds
# expect: out_of_memory or code_execution_error
# limits: memory_mb=96 work_mb=160 file_mb=160
# control: limits memory_mb=512 work_mb=160 file_mb=160
import array
import os
import socket

descriptor = os.open("/tmp/block", os.O_CREAT | os.O_RDWR)
os.remove("/tmp/block")
first, second = socket.socketpair(socket.AF_UNIX)
first.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))])
for _ in range(150):
    os.write(descriptor, bytes(1 << 20))
os.close(descriptor)
print("LEAK: 150 MiB in a file that has no name")
