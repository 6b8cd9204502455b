"""Makes the titanic task from the list of passengers: who is in which half, and under which number.

Standard library only, and no random generator: passengers are put in order by a hash of their own entry,
so that every machine and Python version writes the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

PASSENGERS = 1309
TEST_ROWS = 418
TARGET = "Survived"
HEADER = (
    "PassengerId",
    TARGET,
    "Pclass",
    "Name",
    "Sex",
    "Age",
    "SibSp",
    "Parch",
    "Ticket",
    "Fare",
    "Cabin",
    "Embarked",
)


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``passengers.csv``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The list of passengers is not the one this script was written for.
    """
    with (raw / "passengers.csv").open(newline="", encoding="utf-8") as file:
        passengers = list(csv.DictReader(file))
    if len(passengers) != PASSENGERS:
        raise ValueError(f"passengers.csv has {len(passengers)} rows, not {PASSENGERS}")

    # Numbers follow an order of their own, unrelated to who survives and to which half a passenger falls in.
    numbered = sorted(passengers, key=lambda row: _rank("number", row))
    rows = [_row(number, row) for number, row in enumerate(numbered, start=1)]
    test = _test_numbers(numbered)
    train_rows = [row for row in rows if row[0] not in test]
    test_rows = [row for row in rows if row[0] in test]

    at = HEADER.index(TARGET)
    _write(public / "train.csv", HEADER, train_rows)
    _write(public / "test.csv", HEADER[:at] + HEADER[at + 1 :], (row[:at] + row[at + 1 :] for row in test_rows))
    _write(public / "sample_submission.csv", (HEADER[0], TARGET), ((row[0], "0") for row in test_rows))
    _write(private / "test_answer.csv", (HEADER[0], TARGET), ((row[0], row[at]) for row in test_rows))


def _rank(purpose: str, row: dict[str, str]) -> str:
    entry = "|".join((purpose, row["name"], row["ticket"], row["age_years"]))
    return hashlib.sha256(entry.encode()).hexdigest()


def _test_numbers(numbered: Sequence[dict[str, str]]) -> set[str]:
    """The numbers of the test half; survivors and victims are in it in the same share as in the whole."""
    chosen: set[str] = set()
    survivors = sum(row["survived"] == "1" for row in numbered)
    survivors_in_test = round(TEST_ROWS * survivors / len(numbered))
    for fate, count in (("1", survivors_in_test), ("0", TEST_ROWS - survivors_in_test)):
        group = [(_rank("half", row), str(number)) for number, row in enumerate(numbered, 1) if row["survived"] == fate]
        chosen.update(number for _, number in sorted(group)[:count])
    return chosen


def _row(number: int, row: dict[str, str]) -> tuple[str, ...]:
    return (
        str(number),
        row["survived"],
        row["class"],
        row["name"],
        row["sex"],
        row["age_years"],
        row["siblings_spouses"],
        row["parents_children"],
        row["ticket"],
        row["fare_pounds"],
        row["cabin"],
        row["embarked_at"][:1],
    )


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
