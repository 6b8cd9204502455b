"""What exists of somebody's boxes, seen from outside: for tests that show that nothing remains.

A box is known by its input, a folder of the test with a name that nothing else has: every process in the box has it in
its list of mounts, whatever it forked, renamed or detached, and those around it have it in their command line.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from openmle_env import scratch
from openmle_env.sandbox import engine, reaper
from tests.sandbox.processes import control_groups, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.sandbox.private_engine import PrivateEngine

GONE_SECONDS = 15.0
"""How long after its owner's end something of a box may still be found."""


def processes_that_know(path: str, name: str = "") -> list[str]:
    """Processes that have something mounted from a path, or in their command line; see `Place.processes`."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # ended meanwhile
            own = (entry / "comm").read_text().strip()
            known = (entry / "cmdline").read_bytes() + (entry / "mountinfo").read_bytes()
            if path.encode() in known and name in ("", own):
                found.append(f"{entry.name} {own}")
    return found


@dataclass(frozen=True)
class Place:
    """Folders that one test gives its boxes and their owners, and the engine that the boxes are in, if any is."""

    folder: Path
    engine: PrivateEngine | None = None
    owners: list[int] = field(default_factory=list)
    """Processes whose control groups count."""

    def __post_init__(self) -> None:
        for path in (self.input, self.home, self.temporary):
            path.mkdir()
        self.folder.chmod(0o755)
        self.input.chmod(0o755)
        (self.input / "train.csv").write_text("id,x\n1,2\n")
        (self.input / "train.csv").chmod(0o644)

    @property
    def input(self) -> Path:
        """What boxes see as ``/data``."""
        return self.folder / f"data-of-{self.folder.name}"

    @property
    def home(self) -> Path:
        """``OPENMLE_HOME`` of the owners."""
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        """``TMPDIR`` of the owners."""
        return self.folder / "temporary"

    def environment(self) -> dict[str, str]:
        """Variables of an owner that is another process."""
        mine = {name: value for name, value in os.environ.items() if not name.startswith("OPENMLE_")}
        mine |= {"OPENMLE_HOME": str(self.home), "TMPDIR": str(self.temporary)}
        return mine | ({"DOCKER_HOST": self.engine.address} if self.engine else {})

    def processes(self, name: str = "") -> list[str]:
        """Processes in the boxes and around them, or only those that call themselves ``name``."""
        return processes_that_know(self.input.name, name)

    def leftovers(self) -> dict[str, list[str]]:
        """All that exists, by kind; kinds of which nothing exists are left out."""
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        found = {
            "processes": self.processes(),
            "mounts": [line for line in mounts if self.input.name in line],
            "control groups": [str(path) for owner in self.owners for path in control_groups(owner)],
            "scratch folders": [str(path) for path in (self.home / scratch.NAME).glob("*")],
            "temporary files": [str(path) for path in self.temporary.rglob("*")],
        }
        if self.engine:
            found |= {f"engine's {kind}": items for kind, items in self.engine.leftovers().items()}
        return {kind: items for kind, items in found.items() if items}

    def nothing_left(self, seconds: float = GONE_SECONDS) -> dict[str, list[str]]:
        """What is still there after waiting for nothing to be: empty where all is well."""
        wait_until(lambda: not self.leftovers(), seconds)
        return self.leftovers()

    def nothing_left_but_unstarted(self) -> dict[str, list[str]]:
        """The same of an owner that may have been killed between making a container and starting it.

        In such a one is nothing that could end by itself: the next owner removes it.
        """
        wait_until(lambda: not self.processes() and not self._started(), GONE_SECONDS)
        if not self.processes() and not self._started():
            self.collect()
        return self.nothing_left()

    def _started(self) -> list[str]:
        containers = self.engine.containers() if self.engine else []
        return [item for item in containers if not item.endswith(" created")]

    def collect(self) -> None:
        """What the next sandbox of any process does first: remove what dead owners left."""
        scratch.sweep()
        if self.engine:
            with engine.connect() as client:
                reaper.collect(client)


@dataclass(frozen=True)
class Held:
    """What this process itself holds."""

    descriptors: tuple[str, ...]
    threads: tuple[str, ...]
    children: int

    @staticmethod
    def now() -> Held:
        """Count it."""
        descriptors = []
        for path in list(Path("/proc/self/fd").iterdir()):
            with contextlib.suppress(OSError):  # the listing itself
                descriptors.append(_without_number(str(path.readlink())))
        names = tuple(sorted(thread.name for thread in threading.enumerate()))
        return Held(tuple(sorted(descriptors)), names, len(_children()))

    @staticmethod
    def quiet() -> Held:
        """What is held once no sandbox of before is at work any more, such as on giving boxes up."""
        return Held.settled(lambda held: not any(name.startswith("openmle") for name in held.threads))

    @staticmethod
    def settled(expected: Callable[[Held], bool], seconds: float = GONE_SECONDS) -> Held:
        """What is held once that is as expected, or in the end."""
        wait_until(lambda: expected(Held.now()), seconds)
        return Held.now()


@contextlib.contextmanager
def full_disk(folder: Path, unavailable: Callable[[str], NoReturn]) -> Iterator[Path]:
    """A new folder in which no byte is left; its one file is called ``ballast``."""
    if os.geteuid() != 0:
        unavailable("a full disk is made by mounting one, which needs root")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0755", "openmle-test", str(folder)], check=True)
    try:
        with contextlib.suppress(OSError), (folder / "ballast").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _without_number(target: str) -> str:
    """``socket:[123]`` without what differs from one socket to the next."""
    return target.partition("[")[0] if target.startswith(("socket:", "pipe:", "anon_inode:")) else target


def _children() -> list[str]:
    me, found = os.getpid(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == me:
                    found.append(entry.name)
    return found
