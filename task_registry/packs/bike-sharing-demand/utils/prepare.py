"""Makes the bike sharing task: of each month the days from the 20th on are to be filled in.

Standard library only, and no random generator. How many of the rentals were by members and how many by others is
left out, since the two sum to the target.
"""

from __future__ import annotations

import csv
import gzip
import math
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

HOURS = 8645
LAST_KNOWN_DAY = 19
"""Of each month."""
NEW_YEAR = date(2011, 1, 1)
ID = "id"
TARGET = "rentals"
SEASONS = {"1": "winter", "2": "spring", "3": "summer", "4": "autumn"}
HEADER = (
    ID,
    "date",
    "hour",
    "season",
    "weekday",
    "holiday",
    "workingday",
    "weather",
    "temperature",
    "feels_like",
    "humidity",
    "windspeed",
)


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``bikeshare.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The record is not the one this script was written for.
    """
    with gzip.open(raw / "bikeshare.csv.gz", "rt", newline="", encoding="utf-8") as file:
        record = sorted(csv.DictReader(file), key=lambda row: (int(row["day"]), int(row["hr"])))
    if len(record) != HOURS:
        raise ValueError(f"bikeshare.csv.gz has {len(record)} rows, not {HOURS}")

    train: list[tuple[str, ...]] = []
    test: list[tuple[str, ...]] = []
    for number, row in enumerate(record, start=1):
        day = NEW_YEAR + timedelta(days=int(row["day"]) - 1)
        side = train if day.day <= LAST_KNOWN_DAY else test
        side.append((*_features(number, day, row), row["bikers"]))

    # The constant that is best by the metric: the mean on the scale of logarithms.
    constant = math.expm1(math.fsum(math.log1p(int(row[-1])) for row in train) / len(train))
    _write(public / "train.csv", (*HEADER, TARGET), train)
    _write(public / "test.csv", HEADER, (row[:-1] for row in test))
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], f"{constant:.1f}") for row in test))
    _write(private / "test_answer.csv", (ID, TARGET), ((row[0], row[-1]) for row in test))


def _features(number: int, day: date, row: dict[str, str]) -> tuple[str, ...]:
    return (
        str(number),
        day.isoformat(),
        row["hr"],
        SEASONS[row["season"]],
        row["weekday"],
        row["holiday"],
        row["workingday"],
        row["weathersit"],
        row["temp"],
        row["atemp"],
        row["hum"],
        row["windspeed"],
    )


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
