"""Choosing among thousands of tasks. A value that no task has is an error that names the nearest one that exists."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError, unknown_name
from openmle_env.task_registry import catalogue, index, suites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from openmle_env.task_registry.catalogue import Known
    from openmle_env.task_registry.index import IndexEntry

    Check = Callable[[Known], bool]

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
          "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}  # fmt: skip
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([a-z]*)")


def select(
    tasks: Iterable[Known] | None = None,
    *,
    text: str = "",
    modality: str | Sequence[str] = (),
    task_type: str | Sequence[str] = (),
    licence: str | Sequence[str] = (),
    source: str | Sequence[str] = (),
    tier: int | Sequence[int] = (),
    max_size: int | str | None = None,
    gpu: bool | None = None,
    fetched: bool | None = None,
    prepared: bool | None = None,
    suite: str | Path | None = None,
) -> list[Known]:
    """The tasks for which all that is asked holds, by their names. What is not asked for does not matter.

    Where several values are given for one thing, one of them has to hold. Case means nothing.

    Args:
        tasks: Those to choose from; every task that is known here, if left out.
        text: Words that all stand somewhere in the name, title, modality, type or metric.
        modality: A modality, any part of a combination: ``image`` is in ``image+text``; or a whole combination.
        task_type: A type, or its last words: ``classification`` is in ``binary classification``.
        licence: Words that stand in the licence of the data.
        source: Where the pack lies: ``built-in``, a folder of ``OPENMLE_PACKS``, or the name of an entry point.
        tier: 1, 2 or 3.
        max_size: Bytes of the data at most; or a text, see `size_of`.
        gpu: Whether programs get a GPU.
        fetched: Whether data is fetched when the task is prepared.
        prepared: Whether the task is prepared on this machine.
        suite: Name or file of a suite.

    Raises:
        UnknownNameError: No task has this modality, type, licence, source or tier; or there is no such suite.
        UsageError: The size or the suite cannot be read.
    """
    left = list(catalogue.known()) if tasks is None else list(tasks)
    most = size_of(max_size) if isinstance(max_size, str) else max_size
    words = text.casefold().split()
    checks = [
        *_vocabulary(left, _words(modality), _words(task_type), _words(licence)),
        *_origin(left, {source} if isinstance(source, str) else set(source), suite),
    ]
    if tiers := {tier} if isinstance(tier, int) else set(tier):
        _need("tier", set(map(str, tiers)), {"1", "2", "3"})
        checks.append(lambda task: task.entry.tier in tiers)
    checks.append(lambda task: most is None or task.entry.size <= most)
    checks.append(lambda task: gpu is None or (task.entry.gpus > 0) is gpu)
    checks.append(lambda task: fetched is None or task.entry.fetched is fetched)
    checks.append(lambda task: not words or _mentions(task.entry, words))
    checks.append(lambda task: prepared is None or is_prepared(task.entry) is prepared)  # last: it looks at the disk
    return [task for task in left if all(check(task) for check in checks)]


def _vocabulary(tasks: list[Known], modality: set[str], task_type: set[str], licence: set[str]) -> Iterator[Check]:
    """What is asked of a text is asked of each different one, once: among thousands of tasks there are few."""
    if modality:
        wanted = {stratum(one) if "+" in one else one for one in modality}
        kinds = _matching("modality", wanted, {task.entry.modality for task in tasks}, _parts_and_whole)
        yield lambda task: task.entry.modality in kinds
    if task_type:
        types = _matching("task type", task_type, {task.entry.task_type for task in tasks}, _endings)
        yield lambda task: task.entry.task_type in types
    if licence:
        licences = _licences(licence, {task.entry.licence for task in tasks})
        yield lambda task: task.entry.licence in licences


def _origin(tasks: list[Known], sources: set[str], suite: str | Path | None) -> Iterator[Check]:
    if sources:
        _need("source", sources, {task.source for task in tasks})
        yield lambda task: task.source in sources
    if suite is not None:
        members = set(suites.members(suite))
        members |= set(map(index.slug_of, members))
        yield lambda task: task.entry.slug in members


def modalities(modality: str) -> list[str]:
    """The parts of a modality.

    >>> modalities("Image + text")
    ['image', 'text']
    """
    return [part.strip() for part in modality.casefold().split("+")]


def stratum(modality: str) -> str:
    """A combination of modalities in one spelling, in whatever order it is written.

    >>> stratum("Text + image")
    'image+text'
    """
    return "+".join(sorted(set(modalities(modality))))


def _parts_and_whole(modality: str) -> list[str]:
    return [*modalities(modality), stratum(modality)]


def size_of(text: str) -> int:
    """Bytes from a size as people write it: decimal units, or binary ones with an ``i``.

    >>> size_of("100MB"), size_of("1.5 GiB"), size_of("4096")
    (100000000, 1610612736, 4096)

    Raises:
        UsageError: It is no size.
    """
    match = _SIZE.fullmatch(text.strip().casefold())
    size = float(match[1]) * _UNITS.get(match[2], math.nan) if match else math.nan
    if not math.isfinite(size):
        raise UsageError(f"The size {text!r} should be a number with a unit, such as 100MB or 1.5GiB.")
    return int(size)


def is_prepared(entry: IndexEntry) -> bool:
    """Whether the task is prepared on this machine, by names and sizes of its files."""
    from openmle_env.task_registry.prepare import locate  # with the sandbox

    return locate(entry) is not None


def _words(value: str | Sequence[str]) -> set[str]:
    return {one.strip().casefold() for one in ([value] if isinstance(value, str) else value)}


def _endings(task_type: str) -> set[str]:
    words = task_type.casefold().split()
    return {" ".join(words[start:]) for start in range(len(words))}


def _matching(kind: str, wanted: set[str], values: set[str], parts: Callable[[str], Iterable[str]]) -> set[str]:
    """The values that have one of the wanted parts; each wanted part has to be one of some value."""
    of_each = {value: set(parts(value)) for value in values}
    _need(kind, wanted, {part for found in of_each.values() for part in found})
    return {value for value, found in of_each.items() if not found.isdisjoint(wanted)}


def _licences(wanted: set[str], values: set[str]) -> set[str]:
    """The licences in which one of the wanted texts stands, as whole words."""
    found: set[str] = set()
    for words in sorted(wanted):
        pattern = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
        holding = {value for value in values if pattern.search(value.casefold())}
        if not holding:
            raise unknown_name("licence", words, values)
        found |= holding
    return found


def _mentions(entry: IndexEntry, words: list[str]) -> bool:
    said = f"{entry.slug} {entry.title} {entry.modality} {entry.task_type} {entry.metric}".casefold()
    return all(word in said for word in words)


def _need(kind: str, wanted: set[str], known: set[str]) -> None:
    for name in sorted(wanted - known):
        raise unknown_name(kind, name, known)
