"""What a check is: one decorated function, found by its name, with what it looks at and why that matters.

To add a check, write one function in a ``check_*.py`` module with ``@check(...)``. It takes a `Subject` and yields what
it found: `bad` for each fault, `good` for a figure worth showing, `skip` where there is nothing to look at. A function
that yields nothing has found nothing against the pack. What the subject cannot give, it says itself (`Unavailable`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from openmle_env.errors import OpenMLEError, unknown_name

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.task_registry.quality.report import EvidenceSource, Outcome, Severity
    from openmle_env.task_registry.quality.subject import Subject


class Unavailable(OpenMLEError):  # noqa: N818  it is no error of a check that there is nothing for it to look at
    """A check cannot look at what it would look at; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One thing that a check found."""

    outcome: Outcome
    message: str
    evidence: str = ""
    severity: Severity | None = None
    """Where it is not the check's own."""


def bad(message: str, evidence: str = "", severity: Severity | None = None) -> Found:
    """A fault. Neither text may hold a hidden answer."""
    return Found(outcome="failed", message=message, evidence=evidence, severity=severity)


def good(message: str, evidence: str = "") -> Found:
    """What was looked at and found sound."""
    return Found(outcome="passed", message=message, evidence=evidence)


def skip(message: str) -> Found:
    """Why there was nothing to look at."""
    return Found(outcome="skipped", message=message)


Looks: TypeAlias = Callable[["Subject"], Iterator[Found]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check."""

    name: str
    """What reports, ``accepted`` in ``pack.yaml`` and ``--checks`` call it."""
    group: str
    """What kind of fault it looks for."""
    severity: Severity
    """Of a fault that it finds, unless it says another one."""
    source: EvidenceSource
    """Where its evidence comes from."""
    acceptable: bool
    """Whether the author may answer for what it finds; never for what makes a task impossible to play or to grade."""
    title: str
    """What has to be so."""
    reason: str
    """What goes wrong where it is not."""
    function: Looks


GROUPS = ("structure", "tables", "columns", "leaks", "grading", "raw data", "provenance", "programs")
"""In the order in which they run: what is quick and what everything else rests on comes first."""

CHECKS = (
    "check_structure",
    "check_tables",
    "check_columns",
    "check_features",
    "check_side_files",
    "check_duplicates",
    "check_grading",
    "check_raw",
    "check_provenance",
    "check_references",
)
"""The modules that hold checks; importing one registers its checks."""

_registered: dict[str, Check] = {}


def check(
    name: str, *, group: str, severity: Severity, source: EvidenceSource, acceptable: bool = True
) -> Callable[[Looks], Looks]:
    """Register a check. The first line of the function's docstring is its title, the rest its reason.

    Args:
        name: Lower-case words, joined by ``_``.
        group: One of `GROUPS`.
        severity: Of a fault: ``high`` refuses the pack.
        source: Where its evidence comes from.
        acceptable: Whether the author may answer for a fault.
    """

    def register(function: Looks) -> Looks:
        title, _, reason = (inspect.getdoc(function) or "").partition("\n\n")
        if name in _registered or group not in GROUPS or not title or not reason:
            raise ValueError(f"check {name!r} is registered twice, has an unknown group, or lacks title or reason")
        _registered[name] = Check(
            name=name,
            group=group,
            severity=severity,
            source=source,
            acceptable=acceptable,
            title=title.replace("\n", " "),
            reason=reason.replace("\n", " "),
            function=function,
        )
        return function

    return register


def registered() -> dict[str, Check]:
    """Every check by its name, in the order in which they run."""
    modules = [import_module(f"openmle_env.task_registry.quality.{module}").__name__ for module in CHECKS]

    def place(item: tuple[str, Check]) -> tuple[int, int]:
        """By group and module: whoever imported one of them before the others does not change the order."""
        return GROUPS.index(item[1].group), modules.index(item[1].function.__module__)

    return dict(sorted(_registered.items(), key=place))


def named(names: list[str]) -> dict[str, Check]:
    """The checks of these names; a group stands for all of its checks.

    Raises:
        UnknownNameError: There is no such check.
    """
    known = registered()
    chosen: set[str] = set()
    for name in names:
        of_group = {one.name for one in known.values() if one.group == name}
        if name not in known and not of_group:
            raise unknown_name("check", name, [*known, *GROUPS], hint="docs/check-a-task-pack.md lists them.")
        chosen |= of_group or {name}
    return {name: one for name, one in known.items() if name in chosen}


def markdown() -> str:
    """The table of all checks, for the documentation."""
    lines = ["| check | refuses | what has to be so | why |", "|---|---|---|---|"]
    for one in registered().values():
        refuses = {"high": "yes", "medium": "no", "low": "no"}[one.severity]
        refuses += "" if one.acceptable or one.severity != "high" else ", always"
        lines.append(f"| `{one.name}` | {refuses} | {one.title} | {one.reason} |")
    return "\n".join(lines) + "\n"


BEGIN, END = "<!-- checks: begin -->\n", "<!-- checks: end -->"


def write_table(page: Path) -> None:
    """Put the table of all checks between its two marks in a document."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}{markdown()}{END}{after}", encoding="utf-8")
