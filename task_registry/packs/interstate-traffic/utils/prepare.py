"""Makes the traffic task: the hours of the last three months are to be forecast from the calendar and the weather.

Standard library only, and no random generator.
"""

from __future__ import annotations

import csv
import gzip
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

HOURS = 40_575
FIRST_HIDDEN = "2018-07-01"
ID = "id"
TARGET = "vehicles"
HEADER = (ID, "time", "holiday", "temperature", "rain", "snow", "clouds", "weather")


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``traffic.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The record is not the one this script was written for.
    """
    with gzip.open(raw / "traffic.csv.gz", "rt", newline="", encoding="utf-8") as file:
        record = sorted(csv.DictReader(file), key=lambda row: row["date_time"])
    if len({row["date_time"] for row in record}) != HOURS or len(record) != HOURS:
        raise ValueError(f"traffic.csv.gz is not {HOURS} different hours")

    # The source names a holiday in its first hour only.
    holidays = {row["date_time"][:10]: row["holiday"] for row in record if row["holiday"] != "None"}
    rows = [_row(number, row, holidays) for number, row in enumerate(record, start=1)]
    train = [row for row in rows if row[1] < FIRST_HIDDEN]
    test = [row for row in rows if row[1] >= FIRST_HIDDEN]

    median = statistics.median(int(row[-1]) for row in train)
    _write(public / "train.csv", (*HEADER, TARGET), train)
    _write(public / "test.csv", HEADER, (row[:-1] for row in test))
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], f"{median:.0f}") for row in test))
    _write(private / "test_answer.csv", (ID, TARGET), ((row[0], row[-1]) for row in test))


def _row(number: int, row: dict[str, str], holidays: dict[str, str]) -> tuple[str, ...]:
    return (
        str(number),
        row["date_time"][:16],
        holidays.get(row["date_time"][:10], ""),
        row["temp"],
        row["rain_1h"],
        row["snow_1h"],
        row["clouds_all"],
        row["weather_main"],
        row["traffic_volume"],
    )


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
