"""Makes the task of telling dogs from cats by their names: no name of the test pets stands among the training ones.

Standard library only, and no random generator: pets and names are put in order by hashes, so that every machine and
Python version writes the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

PETS = 51993
TEST_PETS = 8000
MOST_OF_A_NAME = 40
"""Names that more pets have are always in training: one such name would weigh too much among the test pets."""
HEADER = ("pet_id", "name", "zip_code", "issued", "cat")


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``licences.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The list of licences is not the one this script was written for.
    """
    with gzip.open(raw / "licences.csv.gz", "rt", newline="", encoding="utf-8") as file:
        pets = list(csv.DictReader(file))
    if len(pets) != PETS:
        raise ValueError(f"licences.csv.gz has {len(pets)} rows, not {PETS}")

    # The list is sorted, species last: its own order would tell the species of pets that are alike in all else.
    order = sorted(range(PETS), key=lambda index: _hash(f"number {index}", pets[index]["name"]))
    test = _test_names(Counter(_spelling(pet["name"]) for pet in pets))
    train_rows, test_rows = [], []
    for number, index in enumerate(order, start=1):
        pet = pets[index]
        cat = "1" if pet["species"] == "Cat" else "0"
        row = (str(number), pet["name"].strip(), pet["zip_code"], pet["issued"], cat)
        (test_rows if _spelling(pet["name"]) in test else train_rows).append(row)

    _write(public / "train.csv", HEADER, train_rows)
    _write(public / "test.csv", HEADER[:-1], (row[:-1] for row in test_rows))
    _write(public / "sample_submission.csv", ("pet_id", "cat"), ((row[0], "0.5") for row in test_rows))
    _write(private / "test_answer.csv", ("pet_id", "cat"), ((row[0], row[-1]) for row in test_rows))


def _spelling(name: str) -> str:
    """The letters of a name: ``Mr. Kitty``, ``mr kitty`` and ``Mr Kitty 2`` are one name."""
    return "".join(filter(str.isalpha, name.casefold())) or name.strip()


def _test_names(pets_of: Counter[str]) -> set[str]:
    chosen: set[str] = set()
    pets = 0
    for name in sorted(pets_of, key=lambda name: _hash("test", name)):
        if pets_of[name] <= MOST_OF_A_NAME and pets + pets_of[name] <= TEST_PETS:
            chosen.add(name)
            pets += pets_of[name]
    return chosen


def _hash(purpose: str, name: str) -> str:
    return hashlib.sha256(f"{purpose}|{name}".encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
