"""Dividing tasks into those that an agent is trained on and those that it is evaluated on.

Both rules use the position of a task: the first 53 bits of SHA-256 of the salt, a NUL and the task's name, as a
fraction of 1. Tasks of one origin (``data.origin`` of their packs), which are made of the same data, have the position
of that name instead, and stay together: whoever has trained on one knows the answers of the others. So neither the
order of the tasks nor the machine matters. Stratified is by modality: the tasks of one combination of modalities are
one stratum, in whatever order its parts are written; one origin belongs to one stratum.

- `side` and `by_hash`: a task belongs to the evaluation if its position is below the fraction. This depends on nothing
  but the task's own name, so no task ever changes sides, whatever is added, removed or described anew. Shares of the
  strata are right on the average only: a stratum of ten tasks may have none in the evaluation.
- `stratified`: of each stratum, the share of the evaluation is exact, but for origins of several tasks. Of ``n`` tasks,
  ``floor(fraction * n + 1/2)`` belong to it, but at least one and at most ``n - 1`` where ``n`` is 2 or more; those
  with the lowest positions. Tasks of an ``earlier`` split keep their sides; then new ones, by position, join the
  evaluation of their stratum as long as that has too few. To add tasks later without moving any, hand in the split as
  it was.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openmle_env.errors import UsageError
from openmle_env.files import write_whole
from openmle_env.task_registry.filters import stratum

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from openmle_env.task_registry.index import IndexEntry

Side = Literal["training", "evaluation"]

EVALUATION = 0.2
"""Share of the evaluation, if nothing else is said."""
SALT = "openmle"
"""Stands before the names, if nothing else is said. Another salt is another split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSplit:
    """Two lists of names without a common one, each sorted, and how they were made."""

    training: tuple[str, ...]
    """Tasks to train on."""
    evaluation: tuple[str, ...]
    """Tasks to evaluate on."""
    fraction: float
    """Share of the evaluation that was asked for."""
    salt: str
    """Salt of the positions."""

    def side(self, task: str) -> Side | None:
        """Where a task belongs; None for one that the split does not know."""
        if task in self.evaluation:
            return "evaluation"
        return "training" if task in self.training else None


def position(task: str, salt: str = SALT) -> float:
    """A number from 0 to below 1 that depends on the task's name and on the salt alone.

    >>> position("titanic")
    0.3952121499780935
    """
    digest = hashlib.sha256(f"{salt}\0{task}".encode()).digest()
    return (int.from_bytes(digest[:8]) >> 11) / (1 << 53)


def side(task: str, *, fraction: float = EVALUATION, salt: str = SALT) -> Side:
    """Where a task belongs by its name alone; for one that shares its data with others, give their origin.

    Raises:
        UsageError: The fraction is not between 0 and 1.
    """
    _check(fraction)
    return "evaluation" if position(task, salt) < fraction else "training"


def by_hash(tasks: Iterable[IndexEntry], *, fraction: float = EVALUATION, salt: str = SALT) -> TaskSplit:
    """Divide tasks by their names alone.

    Args:
        tasks: Tasks with different names.
        fraction: Share of the evaluation, between 0 and 1; of the strata on the average.
        salt: Stands before the names.

    Raises:
        UsageError: The fraction is not between 0 and 1, or a name stands twice.
    """
    _check(fraction)
    groups = [group for stratum in _strata(tasks).values() for group in stratum.items()]
    names = [name for _, members in groups for name in members]
    chosen = {name for origin, members in groups if position(origin, salt) < fraction for name in members}
    return _split(chosen, names, fraction, salt)


def stratified(
    tasks: Iterable[IndexEntry],
    *,
    fraction: float = EVALUATION,
    salt: str = SALT,
    earlier: TaskSplit | None = None,
) -> TaskSplit:
    """Divide tasks so that the evaluation has its share of each modality.

    Args:
        tasks: Tasks with different names.
        fraction: Share of the evaluation of each stratum, between 0 and 1.
        salt: Stands before the names.
        earlier: A split whose tasks keep their sides.

    Raises:
        UsageError: The fraction is not between 0 and 1, or a name stands twice.
    """
    _check(fraction)
    strata = _strata(tasks)
    chosen: set[str] = set()
    for groups in strata.values():
        kept = {name: earlier.side(name) for names in groups.values() for name in names} if earlier else {}
        inside = {name for name, where in kept.items() if where == "evaluation"}
        wanted = _quota(sum(map(len, groups.values())), fraction)
        for origin in sorted(groups, key=lambda origin: (position(origin, salt), origin)):
            free = [name for name in groups[origin] if kept.get(name) is None]
            where = {kept[name] for name in groups[origin] if kept.get(name) is not None}
            if "evaluation" in where or (not where and len(inside) < wanted):
                inside |= set(free)
        chosen |= inside
    return _split(
        chosen, [name for groups in strata.values() for names in groups.values() for name in names], fraction, salt
    )


def write(path: Path, split: TaskSplit) -> None:
    """Write a split as JSON.

    Raises:
        OSError: It cannot be written.
    """
    content = {
        "fraction": split.fraction,
        "salt": split.salt,
        "training": split.training,
        "evaluation": split.evaluation,
    }
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


def read(path: Path) -> TaskSplit:
    """Read what `write` wrote.

    Raises:
        UsageError: It cannot be read, or is no split.
    """
    try:
        content = json.loads(path.read_bytes())
        sides = {name: _names(content[name]) for name in ("training", "evaluation")}
        split = TaskSplit(**sides, fraction=float(content["fraction"]), salt=str(content["salt"]))
    except OSError as error:
        raise UsageError(f"The split {path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{path} is no split of tasks ({type(error).__name__}: {error}).") from error
    if both := sorted(set(split.training) & set(split.evaluation)):
        raise UsageError(f"{path} has {both[0]!r} on both sides. Remove it from one.")
    return split


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TypeError("each side should be a list of names")
    return tuple(value)


def _check(fraction: float) -> None:
    if not 0 < fraction < 1:  # false for NaN too
        raise UsageError(f"The share of the evaluation is {fraction!r}; it should lie between 0 and 1.")


def _quota(count: int, fraction: float) -> int:
    if count < 2:
        return math.floor(fraction * count + 0.5)
    return min(max(math.floor(fraction * count + 0.5), 1), count - 1)


def _strata(tasks: Iterable[IndexEntry]) -> dict[str, dict[str, list[str]]]:
    """Names of tasks by their origins, by modality; an origin is of the modality of its first task by name."""
    strata: dict[str, dict[str, list[str]]] = {}
    home: dict[str, str] = {}
    seen: set[str] = set()
    for task in sorted(tasks):
        if task.slug in seen:
            raise UsageError(f"The task {task.slug!r} stands twice. Give each task once.")
        seen.add(task.slug)
        origin = task.origin or task.slug
        group = strata.setdefault(home.setdefault(origin, stratum(task.modality)), {})
        group.setdefault(origin, []).append(task.slug)
    return strata


def _split(chosen: set[str], names: list[str], fraction: float, salt: str) -> TaskSplit:
    return TaskSplit(
        training=tuple(sorted(set(names) - chosen)),
        evaluation=tuple(sorted(chosen)),
        fraction=fraction,
        salt=salt,
    )
