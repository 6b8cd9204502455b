# tries: to change built-ins, modules and hooks, so that the next program computes something else
# expect: success
import builtins
import json
import os
import random
import sys

original = builtins.open
builtins.open = lambda *arguments, **names: print("LEAK: poisoned open") or original(*arguments, **names)
builtins.poisoned = True
json.dumps = lambda value: "LEAK: poisoned"
sys.modules["poison"] = json
os.environ["POISON"] = os.environ["PYTHONPATH"] = "/tmp/poison"
random.seed(1)
sys.meta_path.insert(0, None)
sys.setrecursionlimit(99_999)
sys.dont_write_bytecode = False
sys.meta_path.pop(0)
for module in list(sys.modules.values()):
    try:
        module.poisoned = True
    except (AttributeError, TypeError):
        continue
# --- the next program of the session ---
import builtins
import json
import os
import sys

if hasattr(builtins, "poisoned") or "poison" in sys.modules or "POISON" in os.environ or any(getattr(module, "poisoned", False) for module in list(sys.modules.values())):
    print("LEAK: poisoned modules")
print(json.dumps("fine"))
with open("/data/test.csv") as file:
    file.read()
