"""A control group for each box, where this process may make one: version 1 or 2, each controller on its own.

Where the memory controller is missing the supervisor watches memory instead; where the one for processes is missing an
rlimit stands in; where the one for CPU is missing only the number of threads is told.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.types import MIB, Limits

if TYPE_CHECKING:
    from collections.abc import Iterable

CONTROLLERS = ("memory", "cpu", "pids")
PREFIX = "openmle-"
_OWN_PROCESSES = 2
"""The process of bubblewrap that waits, and the supervisor."""
_PERIOD = 100_000

_counter = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Site:
    """A folder of the cgroup file system below which this process may make groups with some controllers."""

    folder: Path
    version: int
    controllers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The control group of one box: one folder, or with version 1 one for each controller."""

    folders: tuple[Path, ...]
    controllers: frozenset[str]

    @property
    def entrances(self) -> tuple[Path, ...]:
        """The files through which a process enters by writing ``0``."""
        return tuple(folder / "cgroup.procs" for folder in self.folders)

    def oom_kills(self) -> int:
        """Processes of the group that the kernel killed for memory."""
        for name in ("memory.events", "memory.oom_control"):
            for folder in self.folders:
                counts = dict(line.split() for line in _read(folder / name).splitlines())
                if "oom_kill" in counts:
                    return int(counts["oom_kill"])
        return 0

    def peak_bytes(self) -> int | None:
        """The most memory that the group used, or None where this kernel does not say."""
        for name in ("memory.peak", "memory.max_usage_in_bytes"):
            for folder in self.folders:
                text = _read(folder / name)
                if text:
                    return int(text)
        return None

    def forget_peak(self, peak: int) -> int:
        """Have the kernel begin anew with the most memory that was used, where it can; returns what it remembers."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                _write(folder / "memory.max_usage_in_bytes", 0)
                return 0
        return peak

    def remove(self, seconds: float = 5.0) -> bool:
        """Remove the group once its last process is gone; whether that happened within ``seconds``."""
        until = time.monotonic() + seconds
        left = [folder for folder in self.folders if not _remove(folder)]
        while left and time.monotonic() < until:
            time.sleep(0.005)
            left = [folder for folder in left if not _remove(folder)]
        return not left


def make(limits: Limits, *, extra: int = 0) -> Group | None:
    """Make a group with these limits, with whatever controllers this process may use; None where there are none.

    ``extra`` are processes of the box itself, beyond the two that each has.
    """
    folders: list[Path] = []
    controllers: set[str] = set()
    for site in sites():
        with contextlib.suppress(OSError):  # a site that fails now is left out, and the box is confined otherwise
            folders.append(_make_in(site, replace(limits, processes=limits.processes + extra)))
            controllers.update(site.controllers)
    return Group(tuple(folders), frozenset(controllers)) if folders else None


@functools.cache
def sites() -> tuple[Site, ...]:
    """Where groups can be made, tried once for each process: a shell is moved into a group of each site."""
    found: list[Site] = []
    for controller in CONTROLLERS:
        for site in _candidates(controller):
            if _works(site):
                found.append(site)
                break
    by_folder: dict[Path, Site] = {}
    for site in found:
        if site.version == 2 and site.folder in by_folder:
            names = (*by_folder[site.folder].controllers, *site.controllers)
            by_folder[site.folder] = Site(site.folder, site.version, names)
        else:
            by_folder[site.folder] = site
    for folder in by_folder:
        _sweep(folder)
    return tuple(by_folder.values())


def _works(site: Site) -> bool:
    try:
        folder = _make_in(site, Limits())
    except OSError:
        return False
    try:
        command = ["/bin/sh", "-c", 'echo 0 >"$1"', "sh", str(folder / "cgroup.procs")]
        return subprocess.run(command, check=False, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        Group((folder,), frozenset()).remove()


def _make_in(site: Site, limits: Limits) -> Path:
    folder = site.folder / f"{PREFIX}{os.getpid()}-{_start_time(os.getpid())}-{next(_counter)}"
    folder.mkdir()
    try:
        for controller in site.controllers:
            _set_limits(folder, controller, site.version, limits)
    except OSError:
        _remove(folder)
        raise
    return folder


def _set_limits(folder: Path, controller: str, version: int, limits: Limits) -> None:
    memory, quota = int(limits.memory_mb * MIB), int(limits.cpus * _PERIOD)
    if controller == "pids":
        _write(folder / "pids.max", int(limits.processes) + _OWN_PROCESSES)
    elif controller == "cpu" and version == 2:
        _write(folder / "cpu.max", f"{max(1000, quota)} {_PERIOD}")
    elif controller == "cpu":
        _write(folder / "cpu.cfs_period_us", _PERIOD)
        _write(folder / "cpu.cfs_quota_us", max(1000, quota))
    elif version == 2:
        _write(folder / "memory.max", memory)
        if (folder / "memory.swap.max").exists():
            _write(folder / "memory.swap.max", 0)
    else:
        _write(folder / "memory.limit_in_bytes", memory)
        if (folder / "memory.memsw.limit_in_bytes").exists():
            _write(folder / "memory.memsw.limit_in_bytes", memory)


def _candidates(controller: str) -> Iterable[Site]:
    """Folders from this process's own group upwards in which a child would have the controller."""
    memberships = _memberships(_read(Path("/proc/self/cgroup")))
    for version, names, root, point in _mounts(_read(Path("/proc/self/mountinfo"))):
        if version == 1 and controller in names:
            own = _below(point, root, memberships.get(controller, "/"))
            for folder in (own, point):
                yield Site(folder, 1, (controller,))
        elif version == 2:
            own = _below(point, root, memberships.get("", "/"))
            for folder in (own, *own.parents):
                if controller in _read(folder / "cgroup.subtree_control").split():
                    yield Site(folder, 2, (controller,))
                if folder == point:
                    break


def _memberships(text: str) -> dict[str, str]:
    """Path of this process's group by controller; under ``""`` the one of version 2."""
    result: dict[str, str] = {}
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        result.update(dict.fromkeys(names.split(","), path))
    return result


def _mounts(text: str) -> list[tuple[int, frozenset[str], str, Path]]:
    """Version, controllers, root and mount point of each cgroup file system in a mountinfo file."""
    result = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, (kind, *rest) = left.split(), right.split()
        if kind in ("cgroup", "cgroup2"):
            options = frozenset(rest[-1].split(","))
            result.append((1 if kind == "cgroup" else 2, options, fields[3], Path(fields[4])))
    return result


def _below(point: Path, root: str, path: str) -> Path:
    """Where a group's path stands under a mount that may itself show only a part of the hierarchy."""
    try:
        return point / Path(path).relative_to(root)
    except ValueError:
        return point


def left() -> list[Path]:
    """Groups whose owner died without removing them, wherever this process may make some."""
    places = dict.fromkeys(site.folder for controller in CONTROLLERS for site in _candidates(controller))
    return [entry for place in places for entry in _ownerless(place)]


def remove_left(folders: Iterable[Path]) -> list[Path]:
    """Remove groups that `left` found; returns those that are gone. One with processes in it stays."""
    return [folder for folder in folders if _remove(folder)]


def _sweep(folder: Path) -> None:
    """Remove groups whose owner died without doing so."""
    remove_left(_ownerless(folder))


def _ownerless(folder: Path) -> list[Path]:
    found = []
    with contextlib.suppress(OSError):
        for entry in folder.glob(f"{PREFIX}*-*-*"):
            owner, started, _ = entry.name.removeprefix(PREFIX).split("-", 2)
            if owner.isdigit() and _start_time(int(owner)) != started:
                found.append(entry)
    return found


def _start_time(pid: int) -> str:
    """When a living process started, in clock ticks since boot: with its number it names the process for good."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else ""


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _write(path: Path, value: int | str) -> None:
    path.write_text(str(value))


def _remove(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
