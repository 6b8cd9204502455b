"""Makes the salary task: who of the developers is hidden is chosen by a hash of the answers to the other questions.

Standard library only, and no random generator.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

DEVELOPERS = 5_594
TEST_SHARE = 0.4
ID = "id"
TARGET = "salary"
KINDS = (
    "Data_scientist",
    "Database_administrator",
    "Desktop_applications_developer",
    "Developer_with_stats_math_background",
    "DevOps",
    "Embedded_developer",
    "Graphic_designer",
    "Graphics_programming",
    "Machine_learning_specialist",
    "Mobile_developer",
    "Quality_assurance_engineer",
    "Systems_administrator",
    "Web_developer",
)
HEADER = (
    ID,
    "country",
    "years_coded",
    "company_size",
    "remote",
    "open_source",
    "hobby",
    "satisfaction",
    *(kind.lower() for kind in KINDS),
)

Row = tuple[str, ...]


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``stackoverflow.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The table is not the one this script was written for.
    """
    with gzip.open(raw / "stackoverflow.csv.gz", "rt", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    if len(table) != DEVELOPERS:
        raise ValueError(f"stackoverflow.csv.gz has {len(table)} rows, not {DEVELOPERS}")

    # Who gave the same answers to all questions, salary included, is there once.
    developers = sorted({_row(row) for row in table}, key=lambda row: _hash("number", row))
    hidden = sorted({row[:-1] for row in developers}, key=lambda answers: _hash("hidden", answers))
    chosen = set(hidden[: round(len(hidden) * TEST_SHARE)])
    numbered = [(str(number), *row) for number, row in enumerate(developers, start=1)]
    train = [row for row in numbered if row[1:-1] not in chosen]
    test = [row for row in numbered if row[1:-1] in chosen]

    mean = sum(int(row[-1]) for row in train) / len(train)
    _write(public / "train.csv", (*HEADER, TARGET), train)
    _write(public / "test.csv", HEADER, (row[:-1] for row in test))
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], f"{mean:.0f}") for row in test))
    _write(private / "test_answer.csv", (ID, TARGET), ((row[0], row[-1]) for row in test))


def _row(row: dict[str, str]) -> Row:
    return (
        row["Country"],
        row["YearsCodedJob"],
        row["CompanySizeNumber"],
        "1" if row["Remote"] == "Remote" else "0",
        row["OpenSource"],
        row["Hobby"],
        row["CareerSatisfaction"],
        *(row[kind] for kind in KINDS),
        str(round(float(row["Salary"]))),
    )


def _hash(purpose: str, row: Row) -> str:
    return hashlib.sha256("|".join(("developer-salary", purpose, *row)).encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
