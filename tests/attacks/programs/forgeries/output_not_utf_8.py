# tries: to break the reader of its output with bytes that are no text
# expect: success
# holds: stdout has end
import os

os.write(1, bytes(range(256)) * 20 + b"\xed\xa0\x80\xf8\x88\xff\nend\n")
os.write(2, b"\xff" * 1000)
