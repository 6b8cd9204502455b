# tries: to break the reporting by closing all its descriptors and replacing its streams and hooks
# expect: code_execution_error
# holds: exit_code == 1
import os
import sys

sys.excepthook = None
sys.stdout = sys.stderr = None
os.closerange(0, 256)
raise ValueError("unheard")
