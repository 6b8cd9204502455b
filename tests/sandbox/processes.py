"""Looking at processes and control groups from outside, for tests that show that nothing is left."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def descendants(pid: int) -> set[tuple[int, str]]:
    """Processes below one, zombies included, each with its start time."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = (int(fields[1]), fields[19])
    found: set[int] = set()
    size = -1
    while len(found) > size:
        size = len(found)
        found |= {child for child, (parent, _) in parents.items() if parent == pid or parent in found}
    return {(child, parents[child][1]) for child in found}


def alive(processes: set[tuple[int, str]]) -> set[tuple[int, str]]:
    """Those that still exist, other than as zombies that a dead parent left to init."""
    result = set()
    for pid, started in processes:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[19] == started and fields[0] != "Z":
            result.add((pid, started))
    return result


def command_lines(processes: set[tuple[int, str]]) -> list[bytes]:
    """The command line of each."""
    result = []
    for pid, _ in processes:
        try:
            result.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            continue
    return result


def in_boxes(pid: int) -> set[tuple[int, str]]:
    """Processes of the boxes below one, guards included; not what other tests left there, such as a forkserver."""
    guards = {process for process in descendants(pid) if b"openmle-box" in b"".join(command_lines({process}))}
    return guards.union(*(descendants(guard) for guard, _ in guards))


def runs_a_program(pid: int) -> bool:
    """Whether a box below this process has got as far as the program's own process."""
    return any(b"inside.child" in line and b"inside.supervisor" not in line for line in command_lines(descendants(pid)))


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Whether the condition came true within a bound that no healthy machine reaches."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def control_groups(pid: int) -> list[Path]:
    """Groups of boxes that a process made."""
    # os.walk, unlike rglob, is not disturbed by groups that others remove meanwhile.
    walk = os.walk("/sys/fs/cgroup")
    return [Path(root, name) for root, names, _ in walk for name in names if name.startswith(f"openmle-{pid}-")]


def descriptors() -> int:
    """Open descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))
