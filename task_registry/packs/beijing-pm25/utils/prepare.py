"""Makes the task of Beijing's fine dust: the hours of 2014 are to be told from their weather.

Standard library only, and no random generator.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

HOURS = 43_824
HIDDEN_YEAR = 2014
ID = "id"
TARGET = "pm25"
WIND = {"cv": "calm", "NE": "NE", "NW": "NW", "SE": "SE"}
HEADER = (ID, "time", "dew_point", "temperature", "pressure", "wind", "wind_run", "snow_hours", "rain_hours")


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``beijing_pm.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The record is not the one this script was written for.
    """
    with gzip.open(raw / "beijing_pm.csv.gz", "rt", newline="", encoding="utf-8") as file:
        record = list(csv.DictReader(file))
    if len(record) != HOURS:
        raise ValueError(f"beijing_pm.csv.gz has {len(record)} rows, not {HOURS}")

    train: list[tuple[str, ...]] = []
    test: list[tuple[str, ...]] = []
    answers: list[tuple[str, ...]] = []
    for number, row in enumerate(record, start=1):
        year, month, day, hour = (int(row[key]) for key in ("year", "month", "day", "hour"))
        time = datetime(year, month, day, hour, tzinfo=UTC)
        features = _features(number, time, row)
        dust = "" if row["pm2.5"] == "NA" else row["pm2.5"]
        if time.year < HIDDEN_YEAR:
            train.append((*features, dust))
        elif dust:
            test.append(features)
            answers.append((str(number), dust, _part(time)))

    # The constant that is best by the metric: the mean on the scale of logarithms.
    known = [math.log1p(int(row[-1])) for row in train if row[-1]]
    constant = math.expm1(math.fsum(known) / len(known))
    _write(public / "train.csv", (*HEADER, TARGET), train)
    _write(public / "test.csv", HEADER, test)
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], f"{constant:.1f}") for row in test))
    _write(private / "test_answer.csv", (ID, TARGET, "part"), answers)


def _features(number: int, time: datetime, row: dict[str, str]) -> tuple[str, ...]:
    return (
        str(number),
        time.strftime("%Y-%m-%d %H:%M"),
        row["DEWP"],
        row["TEMP"],
        row["PRES"],
        WIND[row["cbwd"]],
        row["Iws"],
        row["Is"],
        row["Ir"],
    )


def _part(time: datetime) -> str:
    """Weeks are whole in one part, and of two weeks that follow one another one is in each part."""
    week = (time.timetuple().tm_yday - 1) // 7
    swapped = hashlib.sha256(f"beijing-pm25|part|{week // 2}".encode()).digest()[0] % 2
    return ("validation", "test")[(week + swapped) % 2]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
