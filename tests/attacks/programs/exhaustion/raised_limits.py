# tries: to raise each limit that it was given, softly and hard
# expect: success
# holds: stdout has DENIED
# control: plain
import resource

for name in ("NOFILE", "FSIZE", "CORE", "MEMLOCK"):
    kind = getattr(resource, f"RLIMIT_{name}")
    soft, hard = resource.getrlimit(kind)
    for wanted in ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), (hard, hard + 1)):
        try:
            resource.setrlimit(kind, wanted)
            print("LEAK: raised", name, "from", soft, hard)
        except (OSError, ValueError):
            print("DENIED:", name)
