# tries: to start as many threads as it can
# expect: success
# limits: processes=24
# holds: stdout has DENIED
# control: limits processes=60
import threading

gate, started = threading.Event(), 0
try:
    while started < 40:
        threading.Thread(target=gate.wait, daemon=True).start()
        started += 1
    print("LEAK: has", started, "threads")
except RuntimeError as error:
    print("DENIED:", error)
gate.set()
