"""Makes the task of the carbon dioxide in the air: the weeks from 1997 on are to be forecast.

Standard library only. Weeks without a measurement stay in the known part, with an empty cell.
"""

from __future__ import annotations

import csv
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

WEEKS = 2284
FIRST_HIDDEN_YEAR = 1997
HORIZON = 261
"""Weeks from 1997-01-04 to 2001-12-29; all of them were measured."""
ID = "week"
TARGET = "co2"


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``co2.csv``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The record is not the one this script was written for.
    """
    with (raw / "co2.csv").open(newline="", encoding="utf-8") as file:
        record = list(csv.DictReader(file))
    dates = [date(int(row["date"][:4]), int(row["date"][4:6]), int(row["date"][6:])) for row in record]
    if len(dates) != WEEKS or any((later - earlier).days != 7 for earlier, later in pairwise(dates)):
        raise ValueError(f"co2.csv is not {WEEKS} weeks without a gap")

    weeks = [
        (str(number), saturday.isoformat(), row["co2"])
        for number, (saturday, row) in enumerate(zip(dates, record, strict=True), start=1)
    ]
    train = [row for row, saturday in zip(weeks, dates, strict=True) if saturday.year < FIRST_HIDDEN_YEAR]
    test = weeks[len(train) :]
    if len(test) != HORIZON or not all(row[2] for row in test):
        raise ValueError(f"the weeks from {FIRST_HIDDEN_YEAR} on are not {HORIZON} measured ones")

    last = next(row[2] for row in reversed(train) if row[2])
    _write(public / "train.csv", (ID, "date", TARGET), train)
    _write(public / "test.csv", (ID, "date"), (row[:2] for row in test))
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], last) for row in test))
    _write(private / "test_answer.csv", (ID, TARGET), ((row[0], row[2]) for row in test))


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
