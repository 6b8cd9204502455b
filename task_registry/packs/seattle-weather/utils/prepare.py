"""Makes the Seattle weather task: whole weeks of a four-year record lose their labels.

Standard library only, and no random generator: weeks are chosen by a hash of their number.
"""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

DAYS = 1461
TEST_WEEKS = 84
ID = "id"
TARGET = "weather"
MEASURED = ("date", "precipitation", "temp_max", "temp_min", "wind")


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``seattle-weather.csv``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The record is not the one this script was written for.
    """
    with (raw / "seattle-weather.csv").open(newline="", encoding="utf-8") as file:
        days = sorted(csv.DictReader(file), key=lambda day: day["date"])
    if len(days) != DAYS:
        raise ValueError(f"seattle-weather.csv has {len(days)} rows, not {DAYS}")

    weeks = sorted(range(DAYS // 7), key=_rank)
    hidden = set(weeks[:TEST_WEEKS])
    numbered = [(str(number), *(day[name] for name in (*MEASURED, TARGET))) for number, day in enumerate(days, start=1)]
    train = [row for place, row in enumerate(numbered) if place // 7 not in hidden]
    test = [row for place, row in enumerate(numbered) if place // 7 in hidden]

    _write(public / "train.csv", (ID, *MEASURED, TARGET), train)
    _write(public / "test.csv", (ID, *MEASURED), (row[:-1] for row in test))
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], "rain") for row in test))
    _write(private / "test_answer.csv", (ID, TARGET), ((row[0], row[-1]) for row in test))


def _rank(week: int) -> str:
    return hashlib.sha256(f"seattle-weather|week|{week}".encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
