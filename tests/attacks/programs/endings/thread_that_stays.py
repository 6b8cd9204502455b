# tries: to be kept alive by a thread that is no daemon
# expect: timeout
# limits: wall_seconds=1
import threading
import time

threading.Thread(target=time.sleep, args=(600,)).start()
