"""What a box uses: memory of its processes, files in memory, sockets, and what its control group counted."""

# Every import delays every box: no pathlib, no contextlib.
# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import os
import resource
import stat
import time

FILE_BYTES = 1024
"""What a file takes beside its contents, as the kernel reckons for files in memory."""
SOCKET_BYTES = 208 * 1024
"""What may wait in a socket whose buffers have their default size; the filter lets nobody change it."""
TCP_BYTES = 10 << 20
"""What may wait in a TCP socket, whose buffers grow by themselves."""
SMAPS_SECONDS = 0.25
"""How long one look at the mappings of processes goes on."""
_CGROUP_KILLS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_CGROUP_PEAKS = ("/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes")


def resident_bytes(pid: str) -> int:
    """Resident memory of one process; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def proportional_bytes(pid: str) -> tuple[int, int]:
    """Resident memory of one process, shared pages divided among those that share them: private, and in memory files.

    The second is 0 where the kernel does not tell it apart.
    """
    sizes = {}
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith((b"Pss:", b"Pss_Shmem:")):
                    name, size, _ = line.split()
                    sizes[name] = int(size) * 1024
    except OSError:
        pass  # gone, or it forbids this look at itself: then it is counted in full
    shared = sizes.get(b"Pss_Shmem:", 0)
    return (sizes[b"Pss:"] - shared if b"Pss:" in sizes else resident_bytes(pid)), shared


def bytes_mapped_from(folders: list[str], shared: dict[str, int]) -> int:
    """What of the resident memory of processes is that of files in these folders, shared pages divided as above.

    A look at very many mappings is broken off: then it is less. ``shared`` is what `proportional_bytes` said of each
    process: one that has ended meanwhile holds nothing any more, whatever it was.
    """
    devices = set()
    for folder in folders:
        device = os.stat(folder).st_dev
        devices.add(b"%02x:%02x" % (os.major(device), os.minor(device)))
    total, until = 0, time.monotonic() + SMAPS_SECONDS
    for pid, size in shared.items():
        try:
            with open(f"/proc/{pid}/smaps", "rb") as file:
                text = file.read()
        except OSError:
            text = b""
        if not text:  # it has ended, or forbids this look at itself: then it is counted in full
            total += size if resident_bytes(pid) == 0 else 0
            continue
        mappings = (b"\n" + text).split(b"\nVmFlags:")
        for mapping in mappings:
            lines = mapping.split(b"\n", 2)  # flags of the mapping before, what is mapped, its sizes
            fields = lines[1].split(None, 4)
            if len(fields) > 3 and fields[3] in devices:
                total += _bytes_of_file(lines[2])
        if time.monotonic() > until:
            break
    return total


def _bytes_of_file(sizes: bytes) -> int:
    """Pages of a mapped file itself, without the copies that the process made by writing to a private mapping."""
    found = {}
    for line in sizes.split(b"\n"):
        if line.startswith((b"Pss:", b"Anonymous:")):
            name, size, _ = line.split()
            found[name] = int(size) * 1024
    return max(0, found.get(b"Pss:", 0) - found.get(b"Anonymous:", 0))


def memory_folders() -> list[str]:
    """Folders in memory that the program may write to, or may allow itself to: those of the box, and covers it owns."""
    found = []
    with open("/proc/self/mountinfo") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            if right.startswith("tmpfs "):
                place, options = left.split()[4:6]
                if options.startswith("rw"):
                    found.append(place.replace("\\040", " "))
    return [place for place in found if _may_be_written(place)]


def _may_be_written(place: str) -> bool:
    try:
        entry = os.stat(place)
    except OSError:
        return False
    return stat.S_ISDIR(entry.st_mode) and (entry.st_uid == os.getuid() or os.access(place, os.W_OK))


def usage_of(folders: list[str]) -> tuple[int, int]:
    """The most files in one of the folders, and the bytes in all of them; what was deleted but is open counts too."""
    most, size = 0, 0
    for folder in folders:
        found = os.statvfs(folder)
        files = found.f_files - found.f_ffree
        most = max(most, files)
        size += (found.f_blocks - found.f_bfree) * found.f_frsize + files * FILE_BYTES
    return most, size


def bytes_in_sockets() -> int:
    """The most that the sockets of the box can hold, which is in no process's resident memory.

    Sockets are counted for each network namespace, what TCP holds only for the whole machine: a bound too.
    """
    counts = _socket_counts("/proc/net/sockstat")
    newer = _socket_counts("/proc/net/sockstat6").get(b"TCP6:", {})  # none where the kernel has no IPv6
    try:
        tcp = counts[b"TCP:"]
        sockets, streams = counts[b"sockets:"][b"used"], tcp[b"inuse"] + tcp[b"orphan"] + newer.get(b"inuse", 0)
    except KeyError:
        return 0
    return sockets * SOCKET_BYTES + min(streams * TCP_BYTES, tcp[b"mem"] * resource.getpagesize())


def more_locks_than(most: int) -> bool:
    """Whether the box's processes hold more locks on files, whose memory no control group counts.

    Reads no further than it has to: the kernel waits some ms for each page of this file.
    """
    count = 0
    with open("/proc/locks", "rb") as file:
        for line in file:
            # Those of open file descriptions are of the whole machine; no program can take any.
            count += b"OFDLCK" not in line
            if count > most:
                return True
    return False


def _socket_counts(path: str) -> dict[bytes, dict[bytes, int]]:
    counts = {}
    try:
        with open(path, "rb") as file:
            for line in file:
                name, *words = line.split()
                counts[name] = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    except (OSError, ValueError):
        pass
    return counts


def cgroup_oom_kills() -> int:
    """Kills that the box's own cgroup counted, where it can be seen from inside."""
    for path in _CGROUP_KILLS:
        try:
            with open(path) as file:
                counts = dict(line.split() for line in file)
        except (OSError, ValueError):
            continue
        return int(counts.get("oom_kill", 0))
    return 0


def cgroup_peak_bytes() -> int:
    """The most memory that the box ever used, where its cgroup can be seen from inside; else 0."""
    for path in _CGROUP_PEAKS:
        try:
            with open(path) as file:
                return int(file.read())
        except (OSError, ValueError):
            continue
    return 0
