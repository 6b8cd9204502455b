"""Makes the concrete task: whole mixes are held out, so that no hidden sample is one of a mix that is known.

Standard library only, and no random generator: what is chosen is chosen by a hash of the mix itself.
"""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SAMPLES = 1030
TEST_ROWS = 400
"""At least so many samples are hidden; the last mix that is chosen may add a few."""
SAME_MIX = 2.0
"""Kilograms for each cubic metre: mixes that differ by no more in every ingredient count as one."""
ID = "id"
TARGET = "strength"
INGREDIENTS = {
    "cement": "cement",
    "blast_furnace_slag": "slag",
    "fly_ash": "fly_ash",
    "water": "water",
    "superplasticizer": "superplasticizer",
    "coarse_aggregate": "coarse_aggregate",
    "fine_aggregate": "fine_aggregate",
}
"""Columns of the raw table, and what they are called here."""

Row = tuple[str, ...]


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``concrete.csv``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The table is not the one this script was written for.
    """
    with (raw / "concrete.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    if len(table) != SAMPLES:
        raise ValueError(f"concrete.csv has {len(table)} rows, not {SAMPLES}")

    # A sample that is there twice, strength included, is one sample.
    samples = sorted(
        {(*(row[name] for name in INGREDIENTS), row["age"], row["compressive_strength"]) for row in table},
        key=lambda sample: _hash("number", sample),
    )
    mixes = _mixes(samples)
    parts = _parts(mixes)
    train: list[Row] = []
    test: list[Row] = []
    answers: list[Row] = []
    for number, sample in enumerate(samples, start=1):
        *features, strength = sample
        part = parts.get(mixes[sample])
        if part is None:
            train.append((str(number), *features, strength))
        else:
            test.append((str(number), *features))
            answers.append((str(number), strength, part))

    header = (ID, *INGREDIENTS.values(), "age")
    mean = sum(float(row[-1]) for row in train) / len(train)
    _write(public / "train.csv", (*header, TARGET), train)
    _write(public / "test.csv", header, test)
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], f"{mean:.2f}") for row in test))
    _write(private / "test_answer.csv", (ID, TARGET, "part"), answers)


def _mixes(samples: Sequence[Row]) -> dict[Row, tuple[Row, ...]]:
    """The group of each sample: all samples whose mixes are the same, over a chain of nearly equal ones."""
    recipes = {sample[: len(INGREDIENTS)] for sample in samples}
    amounts = {recipe: [float(cell) for cell in recipe] for recipe in recipes}
    group_of: dict[Row, int] = {}
    for number, recipe in enumerate(sorted(recipes)):
        near = {
            group
            for other, group in group_of.items()
            if all(abs(a - b) <= SAME_MIX for a, b in zip(amounts[recipe], amounts[other], strict=True))
        }
        for other, group in group_of.items():
            if group in near:
                group_of[other] = number
        group_of[recipe] = number
    members: dict[int, list[Row]] = {}
    for sample in sorted(samples):
        members.setdefault(group_of[sample[: len(INGREDIENTS)]], []).append(sample)
    return {sample: tuple(group) for group in members.values() for sample in group}


def _parts(mixes: dict[Row, tuple[Row, ...]]) -> dict[tuple[Row, ...], str]:
    """The hidden mixes, each with its part; of two mixes of like strength one is in each part."""
    chosen: list[tuple[Row, ...]] = []
    for group in sorted(set(mixes.values()), key=lambda group: _hash("hidden", group[0])):
        if sum(map(len, chosen)) >= TEST_ROWS:
            break
        chosen.append(group)
    chosen.sort(key=lambda group: (sum(float(sample[-1]) for sample in group) / len(group), group))
    parts = {}
    for position, group in enumerate(chosen):
        pair = chosen[position - position % 2]
        swapped = int(_hash("part", pair[0]), 16) % 2
        parts[group] = ("validation", "test")[(position + swapped) % 2]
    return parts


def _hash(purpose: str, row: Row) -> str:
    return hashlib.sha256("|".join((purpose, *row)).encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
