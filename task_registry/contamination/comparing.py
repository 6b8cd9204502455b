"""Whether a task is one that others are measured by: by its name, its text and its data, each with how much and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from openmle_env.task_registry.contamination.names import excluded_by_name
from openmle_env.task_registry.contamination.sketch import overlap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openmle_env.task_registry.contamination.sketch import Sketch

TEXT_EXCLUDES = 0.7
"""From this share of common runs of words on, two descriptions are of one task."""
MIN_RUNS = 10
"""Descriptions of fewer runs say nothing, unless they are the same."""
VALUES_MATCH = 0.5
"""From this share of common values on, two columns are of one source."""
COLUMNS_SUSPECT = 0.8
"""From this share of common names on, the columns of two tasks are worth a look."""
MIN_NAMES = 4
MIN_VALUES = 20
"""Columns with fewer telling values say nothing."""
MIN_SHARED = 3
"""Fewer common hashes may be chance, whatever share of a small sample they are."""


class Kind(StrEnum):
    """What two tasks share."""

    NAME = "name"
    SAME_TEXT = "same description"
    NEAR_TEXT = "nearly the same description"
    VALUES = "values of columns"
    COLUMNS = "names of columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Something that a task shares with one of the reference."""

    task: str
    """The task."""
    other: str
    """The task of the reference."""
    kind: Kind
    """What they share."""
    strength: float
    """How much of it, from 0 to 1."""
    excludes: bool
    """Whether that is enough to leave the task out; otherwise it is worth a look."""
    why: str
    """In words."""


def compare(task: Sketch, references: Iterable[Sketch]) -> list[Match]:
    """What a task shares with the benchmarks known by name and with tasks of a reference, the strongest first."""
    found = []
    if benchmark := excluded_by_name(task.name):
        why = f"{benchmark} has a task of this name"
        found.append(Match(task=task.name, other=benchmark, kind=Kind.NAME, strength=1.0, excludes=True, why=why))
    for other in references:
        found.extend(_texts(task, other))
        found.extend(_columns(task, other))
    return sorted(found, key=lambda match: (not match.excludes, -match.strength, match.other, match.kind))


def excluded(matches: Sequence[Match]) -> bool:
    """Whether a task is to be left out."""
    return any(match.excludes for match in matches)


def _texts(task: Sketch, other: Sketch) -> Iterable[Match]:
    if task.description and task.description == other.description:
        yield Match(
            task=task.name,
            other=other.name,
            kind=Kind.SAME_TEXT,
            strength=1.0,
            excludes=True,
            why="the descriptions have the same words in the same order",
        )
        return
    shared = overlap(task.runs, other.runs)
    if shared >= TEXT_EXCLUDES and min(len(task.runs), len(other.runs)) >= MIN_RUNS:
        yield Match(
            task=task.name,
            other=other.name,
            kind=Kind.NEAR_TEXT,
            strength=shared,
            excludes=True,
            why=f"about {shared:.0%} of the shorter description's runs of words are in the other, too",
        )


def _columns(task: Sketch, other: Sketch) -> Iterable[Match]:
    ours = {column.name: column.sample for column in task.columns}
    theirs = {column.name: column.sample for column in other.columns}
    telling = [name for name, sample in ours.items() if len(sample) >= MIN_VALUES]
    samples = [(set(sample), sample) for sample in theirs.values() if len(sample) >= MIN_VALUES]
    shares = {name: _most_in_common(ours[name], samples) for name in telling}
    alike = sorted(name for name, share in shares.items() if share >= VALUES_MATCH)
    if alike:
        # One common column of many may be a list that both use, such as towns: then it is worth a look.
        excludes = len(alike) * 2 >= len(telling)
        strength = sum(shares[name] for name in alike) / len(telling)
        yield Match(
            task=task.name,
            other=other.name,
            kind=Kind.VALUES,
            strength=strength,
            excludes=excludes,
            why=f"{len(alike)} of {len(telling)} columns with telling values share most: {', '.join(alike[:5])}",
        )
    names, others = set(ours), set(theirs)
    smaller = min(len(names), len(others))
    if smaller >= MIN_NAMES and len(names & others) / smaller >= COLUMNS_SUSPECT:
        yield Match(
            task=task.name,
            other=other.name,
            kind=Kind.COLUMNS,
            strength=len(names & others) / smaller,
            excludes=False,
            why=f"{len(names & others)} of {smaller} columns have the same names",
        )


def _most_in_common(sample: tuple[int, ...], others: Sequence[tuple[set[int], tuple[int, ...]]]) -> float:
    """The largest share of values that a column has in common with one of the other columns."""
    most = 0.0
    for hashes, other in others:
        if len(hashes.intersection(sample)) >= MIN_SHARED:  # quick: tables have a thousand columns
            most = max(most, overlap(sample, other))
    return most
