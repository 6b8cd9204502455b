# tries: to have its own modules imported in place of the standard library, by files beside the program
# expect: success
# holds: stdout has still here
import subprocess
import sys

for name in ("json", "os", "random", "struct", "sitecustomize", "usercustomize", "encodings"):
    with open(f"/work/{name}.py", "w") as file:
        file.write("print('poisoned')\n")
done = subprocess.run([sys.executable, "-I", "-c", "import json, random; print('clean')"], capture_output=True, text=True, cwd="/work", check=True)
print("LEAK: poisoned" if "poisoned" in done.stdout else "still here")
