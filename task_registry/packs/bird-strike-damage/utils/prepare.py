"""Makes the bird strike task: all strikes at one airport on one day are on the same side.

Standard library only, and no random generator: reports are ordered and chosen by a hash. What the damage cost is not
in the raw table, since only damage costs anything.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

REPORTS = 10_000
TEST_ROWS = 4_000
"""At least so many reports are hidden; the last day that is chosen may add a few."""
ID = "id"
TARGET = "damage"
COLUMNS = {
    "Flight Date": "date",
    "Time of day": "time_of_day",
    "Airport Name": "airport",
    "Origin State": "state",
    "Aircraft Airline Operator": "operator",
    "Aircraft Make Model": "aircraft",
    "Phase of flight": "phase",
    "Speed IAS in knots": "speed",
    "Wildlife Species": "species",
    "Wildlife Size": "size",
}
"""Columns of the raw table, and what they are called here."""
OUTCOME = "Effect Amount of damage"

Row = tuple[str, ...]


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``birdstrikes.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The table is not the one this script was written for.
    """
    with gzip.open(raw / "birdstrikes.csv.gz", "rt", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    if len(table) != REPORTS:
        raise ValueError(f"birdstrikes.csv.gz has {len(table)} rows, not {REPORTS}")

    # A report that is there twice is one report.
    reports = {
        (*(row[name] for name in COLUMNS), "0" if row[OUTCOME] == "None" else "1"): (
            row["Airport Name"],
            row["Flight Date"],
        )
        for row in table
    }
    ordered = sorted(reports, key=lambda report: _hash("number", report))
    hidden = _hidden(list(reports.values()))
    numbered = [(str(number), *report) for number, report in enumerate(ordered, start=1)]
    train = [row for row, report in zip(numbered, ordered, strict=True) if reports[report] not in hidden]
    test = [row for row, report in zip(numbered, ordered, strict=True) if reports[report] in hidden]

    header = (ID, *COLUMNS.values())
    _write(public / "train.csv", (*header, TARGET), train)
    _write(public / "test.csv", header, (row[:-1] for row in test))
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], "0.1") for row in test))
    _write(private / "test_answer.csv", (ID, TARGET), ((row[0], row[-1]) for row in test))


def _hidden(places: Sequence[Row]) -> set[Row]:
    """The airports' days whose reports are to be predicted."""
    reports: dict[Row, int] = {}
    for place in places:
        reports[place] = reports.get(place, 0) + 1
    chosen: set[Row] = set()
    rows = 0
    for place in sorted(reports, key=lambda place: _hash("hidden", place)):
        if rows >= TEST_ROWS:
            break
        chosen.add(place)
        rows += reports[place]
    return chosen


def _hash(purpose: str, row: Row) -> str:
    return hashlib.sha256("|".join((purpose, *row)).encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
