"""What a box that waits for a program costs in memory."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.commands.bench_ways import checked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.types import Job, Warm

_PATIENCE = 30.0
"""How long a box may take to be there and to grow no more, in seconds."""
_STILL = 1.0
"""How long a box has not grown when it counts as waiting, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What processes hold, in bytes."""

    own: int = 0
    """Pages that no file holds: what a control group counts, and what each further box takes."""
    shared: int = 0
    """The most that one of the processes has of pages that files hold, such as those of libraries: boxes that run from
    the same files share them."""


def idle_box(backend: str, job: Job, warm: Warm = "single") -> Memory | None:
    """Memory of a box that has imported the job's modules and waits: of the largest where several do.

    Returns:
        None where its processes cannot be seen from here, as where the engine has a machine of its own.

    Raises:
        SandboxUnavailableError: The backend does not work on this machine.
        InfrastructureError: The program did not succeed.
    """
    from openmle_env.sandbox import select  # reaches for engines

    with contextlib.closing(select.create(backend, warm=warm)) as sandbox:
        checked(sandbox.run(job), sandbox.name)
        sandbox.end_session(job.session)
        sandbox.warm_up(job)
        return _settled(sandbox)


def _settled(sandbox: Sandbox) -> Memory | None:
    last, since, until = Memory(), time.monotonic(), time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        now = max(map(memory_of, _boxes(sandbox)), default=Memory(), key=lambda memory: memory.own)
        if now != last:
            last, since = now, time.monotonic()
        elif now.own and time.monotonic() - since > _STILL:
            break
        time.sleep(0.1)
    return last if last.own else None


def memory_of(processes: Iterable[int]) -> Memory:
    """Memory of processes that stand in one box; those that are gone or cannot be seen count nothing."""
    own, shared, page = 0, 0, os.sysconf("SC_PAGESIZE")
    for process in processes:
        with contextlib.suppress(OSError):
            _, resident, files, *_ = map(int, Path(f"/proc/{process}/statm").read_text(encoding="ascii").split())
            own, shared = own + page * (resident - files), max(shared, page * files)
    return Memory(own=own, shared=shared)


def _boxes(sandbox: Sandbox) -> list[list[int]]:
    """The processes of each box of this process."""
    return _containers() if sandbox.name == "docker" else _descendants()


def _containers() -> list[list[int]]:
    from openmle_env.errors import SandboxUnavailableError
    from openmle_env.sandbox import engine, reaper

    found: list[list[int]] = []
    with engine.connect() as client, engine.calling("list the containers of this process"):
        own = {"label": f"{reaper.OWNER_LABEL}={reaper.owner(os.getpid())}"}
        for container in client.api.containers(filters=own):
            with contextlib.suppress(SandboxUnavailableError), engine.calling("say what runs in a container"):
                top = client.api.top(container["Id"])
                place = top["Titles"].index("PID")
                found.append([int(row[place]) for row in top["Processes"]])
    return found


def _descendants() -> list[list[int]]:
    """The children of this process, each with all below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int(
                    (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
                )
                children.setdefault(parent, []).append(int(entry.name))
    trees = []
    for child in children.get(os.getpid(), ()):
        tree = [child]
        for process in tree:  # grows while it is walked through
            tree.extend(children.get(process, ()))
        trees.append(tree)
    return trees
