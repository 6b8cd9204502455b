"""How many of the candidates become packs, counted from their state files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.files import write_whole
from openmle_env.task_registry.builder.state import STATUSES, Status
from openmle_env.task_registry.pack import Block

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from openmle_env.task_registry.builder.state import TaskState

FUNNEL_FILE = "funnel.json"


class Lost(Block):
    """A candidate that did not become a pack."""

    slug: str
    """Its name."""
    status: Status
    """How it was lost, or that it is not finished."""
    reason: str
    """Why."""


class Funnel(Block):
    """Counts of a build. Each is a part of the one before it."""

    candidates: int
    """Sources that were named."""
    eligible: int
    """Those that are not a benchmark's, and whose data can be had as far as is known: the denominator of rates."""
    executable: int
    """Those whose script makes the files, and whose metric scores them."""
    passed: int
    """Those that the quality gate took, too: they are packs now."""
    excluded: int
    """Left out by name."""
    unobtainable: int
    """Left out since their data cannot be had."""
    failed: int
    """Given up by a stage; the next run tries it again."""
    unfinished: int
    """Still under way."""
    lost: tuple[Lost, ...]
    """Every candidate that is not passed, with the reason."""


def count(states: Sequence[TaskState]) -> Funnel:
    """Count what became of some tasks."""
    by_status = {status: [one for one in states if one.status == status] for status in STATUSES}
    eligible = [one for one in states if one.status not in {"excluded", "unobtainable"}]
    return Funnel(
        candidates=len(states),
        eligible=len(eligible),
        executable=sum(one.done("metric") for one in eligible),
        passed=len(by_status["passed"]),
        excluded=len(by_status["excluded"]),
        unobtainable=len(by_status["unobtainable"]),
        failed=len(by_status["failed"]),
        unfinished=len(by_status["unfinished"]),
        lost=tuple(
            Lost(slug=one.slug, status=one.status, reason=one.reason or "not finished")
            for one in sorted(states, key=lambda one: one.slug)
            if one.status != "passed"
        ),
    )


def store(folder: Path, funnel: Funnel) -> Path:
    """Write the counts beside the work, whole, and return the file."""
    path = folder / FUNNEL_FILE
    write_whole(path, (funnel.model_dump_json(indent=1) + "\n").encode())
    return path
