"""Submissions of whoever has not looked at the data, or only copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.task_registry.quality.subject import TEST, TRAIN
from openmle_env.task_registry.quality.target import MIN_ROWS, to_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.quality.probes import Columns, Probes
    from openmle_env.task_registry.quality.subject import Subject

MAX_TRAIN = 4_000
"""The nearest of as many training rows is copied."""
MOST = 1e100
"""Larger numbers count as this, since their squares are none."""
MAX_CATEGORIES = 20
"""A text column with as many values counts as categories for the distance between rows, others not at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Attacker:
    """One submission."""

    name: str
    table: Columns
    is_blind: bool
    """Whether it has seen nothing but ids and the order of rows."""


def attackers(probes: Probes) -> Iterator[Attacker]:
    """Predictions that rise or fall with the id or with the row, and copies of the nearest training row.

    How often each value is predicted is as in the answers, which only helps the attacker.
    """
    places = np.arange(probes.rows, dtype=np.float64)
    orders = {"predictions in the order of rows": places}
    numbers = to_numbers(np.array(probes.sample[probes.subject.schema.id.name], dtype=object))
    if np.isfinite(numbers).all() and not _same_order(numbers, places):
        orders["predictions in the order of ids"] = numbers
    over_time = "time" in probes.subject.pack.config.modality or "forecast" in probes.subject.pack.config.task_type
    for name, values in orders.items():
        for descending in (False, True):
            table = None if over_time else probes.by_order(values, descending=descending)
            if table is not None:
                yield Attacker(f"{name}, {'falling' if descending else 'rising'},", table, is_blind=True)
    copied = _nearest(probes)
    if copied is not None:
        yield Attacker("copies of the nearest training row", copied, is_blind=False)


def _same_order(one: Array, other: Array) -> bool:
    return np.array_equal(np.argsort(one, kind="stable"), np.argsort(other, kind="stable"))


def _nearest(probes: Probes) -> Columns | None:
    """For each row the answer of the training row that is nearest by numbers and categories; None where none can be."""
    subject = probes.subject
    if TRAIN not in subject.public_files or TEST not in subject.public_files:
        return None
    train, test = subject.table(TRAIN), subject.table(TEST)
    names = [target.name for target in subject.schema.targets]
    usable = (
        subject.id_name in test.names
        and all(name in train.names for name in names)
        and not test.sampled
        and len(train.positions) >= MIN_ROWS
    )
    if not usable:
        return None
    row_of = {key: row for row, key in enumerate(subject.keys(test))}
    schema = subject.schema
    ids = probes.sample[schema.id.name]
    rows = [row_of.get(key, -1) for key in _canonical(subject, ids)]
    if min(rows, default=-1) < 0:
        return None
    chosen = np.linspace(0, len(train.positions) - 1, min(len(train.positions), MAX_TRAIN)).astype(np.int64)
    known, asked = [], []
    for name in test.names:
        if name in train.names and name != subject.id_name and name not in names:
            for one, other in _measures(train.cells[name][chosen], test.cells[name][np.array(rows)]):
                known.append(one)
                asked.append(other)
    if not known:
        return None
    from sklearn.neighbors import NearestNeighbors  # 0.5 s

    nearest = (
        NearestNeighbors(n_neighbors=1).fit(np.array(known).T).kneighbors(np.array(asked).T, return_distance=False)
    )
    copied = chosen[nearest[:, 0]]
    made = {schema.id.name: ids} | {name: [cell.strip() for cell in train.cells[name][copied]] for name in names}
    return made if all(cell for name in names for cell in made[name]) else None


def _canonical(subject: Subject, ids: list[str]) -> list[str]:
    from openmle_env.graders.loading.cells import canonical_id

    return [str(canonical_id(cell, subject.schema.id)) for cell in ids]


def _measures(train: Array, test: Array) -> Iterator[tuple[Array, Array]]:
    """A column as numbers of about one size on both sides; a category as one number for each of its values."""
    both = np.array([cell.strip() for cell in np.concatenate([train, test])], dtype=object)
    cut = len(train)
    numbers = np.clip(to_numbers(both), -MOST, MOST)
    known = np.isfinite(numbers)
    if known.mean() > 0.5:
        middle, spread = numbers[known].mean(), numbers[known].std() or 1.0
        scaled = np.where(known, (numbers - middle) / spread, 0.0)
        yield scaled[:cut], scaled[cut:]
        return
    values = np.unique(both.astype(str))
    if len(values) <= MAX_CATEGORIES:
        for value in values:
            is_it = (both == value).astype(np.float64)
            yield is_it[:cut], is_it[cut:]
