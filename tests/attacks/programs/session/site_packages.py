# tries: to have code run in the next program: by sitecustomize, user site packages, .pth files and start-up files
# expect: success
# control: plain
import os
import site
import sys

home = os.environ["HOME"]
version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
code = "print('LEAK: poisoned start')\n"
places = [home, f"{home}/.local/lib/{version}/site-packages", os.environ["TMPDIR"], f"{home}/.config", f"{home}/.config/matplotlib", f"{home}/.ipython/profile_default/startup"]
for place in places:
    os.makedirs(place, exist_ok=True)
    for name in ("sitecustomize.py", "usercustomize.py", "numpy.py", "json.py", "poison_later.py", "poison.pth", "matplotlibrc"):
        with open(os.path.join(place, name), "w") as file:
            file.write(f"import sys; {code}" if name.endswith(".pth") else code)
if home == "/work":
    for place in (*sys.path, *site.getsitepackages()):
        try:
            with open(os.path.join(place or ".", "poison_later.pth"), "w") as file:
                file.write(f"import sys; {code}")
            if not place.startswith(("/work", "/tmp")):
                print("LEAK: wrote to", place)
        except OSError:
            continue
# --- the next program of the session ---
import importlib
import subprocess
import sys

for name in ("json", "poison_later", "sitecustomize", "usercustomize"):
    try:
        importlib.import_module(name)
    except ImportError:
        continue
done = subprocess.run([sys.executable, "-c", "print('clean')"], capture_output=True, text=True, check=False)
print(done.stdout, done.stderr)
