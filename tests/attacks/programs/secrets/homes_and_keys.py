# tries: to read home folders, keys, cloud credentials and shadow passwords
# expect: success
# holds: stdout has DENIED
import os

places = ["/root", "/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/etc/docker", "/var/lib/docker", "/etc/ssh"]
places += ["/root/.ssh", "/root/.aws/credentials", "/root/.config", "/root/.docker/config.json", "/etc/kubernetes"]
places += ["/var/run/secrets", "/var/lib/kubelet", "/home", "/var/spool", "/var/log", "/boot", "/mnt", "/media", "/srv"]
for place in places:
    try:
        found = os.listdir(place) if os.path.isdir(place) else open(place, "rb").read(20)
        print("LEAK:" if found else "DENIED:", place, "holds", found[:3])
    except OSError as error:
        print("DENIED:", error)
