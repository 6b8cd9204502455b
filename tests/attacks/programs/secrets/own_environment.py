# tries: to find tokens, keys and secrets among its own environment variables
# expect: success
# holds: stdout has DENIED
# control: plain
import os

ALLOWED = {
    *("PATH", "HOME", "USER", "LANG", "TMPDIR", "MPLCONFIGDIR", "DATA_DIR", "OUTPUT_DIR", "PYTHONUNBUFFERED"),
    *("PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LC_CTYPE"),
    *("HDF5_USE_FILE_LOCKING", "ATTACK_TCP", "ATTACK_UDP", "ATTACK_ABSTRACT", "ATTACK_FOLDER"),
}
for source in (os.environb, dict(part.split(b"=", 1) for part in open("/proc/self/environ", "rb").read().split(b"\0") if b"=" in part)):
    for name, value in source.items():
        if name.decode() not in ALLOWED:
            print("LEAK: the variable", name, value[:20])
        if ("CANARY" + "-").encode() in value:
            print("LEAK: a secret in", name)
print("DENIED: nothing but what is allowed")
