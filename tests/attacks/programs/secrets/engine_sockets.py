# tries: to talk to a container engine through its socket, at the usual paths
# expect: success
# holds: stdout has DENIED
import glob
import os
import socket

paths = ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"]
paths += ["/run/crio/crio.sock", "/run/systemd/private", "/run/dbus/system_bus_socket", *glob.glob("/run/user/*/*")]
for path in paths:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(path)
            print("LEAK: connected to", path)
        except OSError as error:
            print("DENIED:", path, error)
        if os.path.exists(path):
            print("LEAK: there is", path)
