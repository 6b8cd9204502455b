"""What a hostile program says of itself: the comment at its top, which the runner and the page are made from.

Lines of the form ``# key: value``, up to the first line that is no comment:

``tries``     one sentence: what it does, and what it would win
``expect``    the statuses that are right, separated by ``or``; of the first program
``then``      the statuses that are right for the second program, where there is one; else ``success``
``graded``    what the grader says of the submission, where it is to be graded
``limits``    limits other than `LIMITS`, such as ``memory_mb=96 wall_seconds=2``
``collects``  what is read back of ``/output``; nothing unless it is given
``holds``     a condition on the execution of the first program (see conditions.py); may be repeated
``open``      why this is known to get through, in words for the page; then LEAK must be printed
``source``    how the program's text is changed before it is sent, where no file should hold such text
``control``   how to show that the program would notice: ``plain`` runs it outside of any box (harmless ones only), and
              ``limits memory_mb=1024`` in a box with these limits; both must print LEAK

A key may be followed by where it holds, in brackets: a backend (``docker``, ``bubblewrap``), a way (``single``,
``forked``), ``ordinary`` (bubblewrap of an ordinary user) or ``uncgrouped`` (bubblewrap where no control group can be
made). There it replaces the plain one.

A file may hold two programs, separated by one of two comments: `NEXT` runs the second after the first, in the same
session; `MEANWHILE` runs both at the same time, in two boxes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmle_env.types import Limits, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.types import Warm

PROGRAMS = Path(__file__).with_name("programs")
NEXT = "# --- the next program of the session ---"
MEANWHILE = "# --- another program, at the same time ---"

LIMITS = Limits(
    wall_seconds=20,
    memory_mb=192,
    processes=40,
    open_files=256,
    file_mb=8,
    work_mb=12,
    output_mb=12,
    shm_mb=8,
    inodes=400,
    log_kb=16,
    artifact_mb=4,
)
"""Small, so that whatever exhausts them is quick about it."""

WAYS: tuple[Warm, ...] = ("single", "forked")
PLACES = ("docker", "bubblewrap", *WAYS, "ordinary", "uncgrouped")
_KEYS = ("tries", "expect", "then", "graded", "limits", "collects", "holds", "source", "control", "open")
_LINE = re.compile(r"# ([a-z]+)(?:\(([a-z]+)\))?: (.+)")
_SOURCES = ("a NUL at its end", "a lone surrogate at its end", "padded to 200000", "padded to 200001")


class HeaderError(ValueError):
    """A program's header says something that nobody understands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a program runs."""

    backend: str
    way: Warm
    grouped: bool = True
    """Whether a control group confines the box."""
    ordinary: bool = False
    """Whether its boxes are all of one ordinary user of the kernel."""

    @property
    def names(self) -> tuple[str, ...]:
        """What a header may call it, the most particular first."""
        particular = {"uncgrouped": not self.grouped, "ordinary": self.ordinary}
        return (*(name for name, holds in particular.items() if holds), self.backend, self.way)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One file: what it tries, what is right, and one or two programs."""

    name: str
    """Its kind and name, such as ``network/tcp``."""
    programs: tuple[str, ...]
    meanwhile: bool = False
    """Whether the two programs run at the same time."""
    said: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The folder it stands in."""
        return self.name.split("/")[0]

    @property
    def tries(self) -> str:
        """One sentence for people."""
        return self.said["tries", ""][0]

    @property
    def control(self) -> str:
        """How it is shown that it would notice; empty where its status alone shows it."""
        return self.said.get(("control", ""), [""])[0]

    @property
    def limits(self) -> Limits:
        """The limits of both programs."""
        return parse_limits(self.said.get(("limits", ""), [""])[0])

    @property
    def collects(self) -> tuple[str, ...]:
        """What is read back."""
        return tuple(self.said.get(("collects", ""), [""])[0].split())

    @property
    def graded(self) -> ResultStatus | None:
        """What the grader must say of the submission."""
        said = self.said.get(("graded", ""))
        return ResultStatus(said[0]) if said else None

    def expected(self, place: Place, step: int = 0) -> tuple[ResultStatus, ...]:
        """The statuses of one of its programs that are right in a place."""
        said = self._at("expect" if step == 0 else "then", place) or ["success"]
        return tuple(ResultStatus(word) for word in said[0].split(" or "))

    def holds(self, place: Place) -> list[str]:
        """The conditions on the execution of its first program."""
        return self._at("holds", place)

    def is_open(self, place: Place) -> str:
        """Why it is known to get through in a place; empty where it must not."""
        return "".join(self._at("open", place))

    def _at(self, key: str, place: Place) -> list[str]:
        for name in (*place.names, ""):
            if (key, name) in self.said:
                return self.said[key, name]
        return []


def parse_limits(text: str) -> Limits:
    """`LIMITS` with some of them changed.

    >>> parse_limits("memory_mb=96 wall_seconds=1.5").wall_seconds
    1.5
    """
    known = {item.name: getattr(LIMITS, item.name) for item in fields(LIMITS)}
    changed: dict[str, Any] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        if name not in known:
            raise HeaderError(f"There is no limit {name!r}; there are {', '.join(known)}.")
        changed[name] = float(value) if "." in value else int(value)
    return replace(LIMITS, **changed)


def parse(name: str, text: str) -> Attack:
    """Read one program file.

    Raises:
        HeaderError: Its header lacks something or says something that is not known.
    """
    said: dict[tuple[str, str], list[str]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        found = _LINE.fullmatch(line.rstrip())
        if found is None:
            raise HeaderError(f"{name}: {line!r} is not of the form '# key: value'.")
        key, place, value = found[1], found[2] or "", found[3]
        if key not in _KEYS or (place and place not in PLACES):
            raise HeaderError(f"{name}: {line!r}: the keys are {', '.join(_KEYS)}; the places {', '.join(PLACES)}.")
        if (key, place) in said and key != "holds":
            raise HeaderError(f"{name}: {key} is said twice.")
        said.setdefault((key, place), []).append(value)
    for key in ("tries", "expect"):
        if (key, "") not in said:
            raise HeaderError(f"{name}: its header lacks {key!r}.")
    separator = next((line for line in (NEXT, MEANWHILE) if f"\n{line}\n" in text), None)
    programs = tuple(text.split(f"\n{separator}\n")) if separator else (text,)
    if len(programs) > 2:
        raise HeaderError(f"{name}: a file holds at most two programs.")
    source = said.get(("source", ""), [""])[0]
    programs = (_changed(programs[0], source), *programs[1:])
    return Attack(name=name, programs=programs, meanwhile=separator == MEANWHILE, said=said)


def _changed(program: str, source: str) -> str:
    if not source:
        return program
    if source not in _SOURCES:
        raise HeaderError(f"source: {source!r} is none of {', '.join(_SOURCES)}.")
    if source.startswith("padded"):
        size = int(source.rsplit(maxsplit=1)[-1])
        return program + "#" * (size - len(program))
    return program + ("\0" if "NUL" in source else "\ud800")


def attacks() -> Iterator[Attack]:
    """Every program of the suite, by name."""
    for path in sorted(PROGRAMS.rglob("*.py")):
        name = path.relative_to(PROGRAMS).with_suffix("").as_posix()
        yield parse(name, path.read_text(encoding="utf-8"))
