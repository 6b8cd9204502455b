"""Makes the glucose task: windows of an hour, cut out of the later record, whose value half an hour later is asked for.

Standard library only, and no random generator. Windows are far enough apart, and told without their dates, so that what
comes after one cannot be read from another.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

READINGS = 52_281
KNOWN = 31_368
"""Of the readings so many are in the known part: the first 60 percent."""
STEP = timedelta(minutes=5)
HISTORY = 12
"""Readings of a window, five minutes apart: 55 minutes from the first to the last."""
AHEAD = 6
"""Readings from the last of a window to the one that is asked for: 30 minutes."""
GAP = 18
"""At least so many readings (90 minutes) lie between what is asked for and the next window."""
JITTER = 12
"""Up to so many more, by a hash, so that windows keep no rhythm."""
ID = "id"
TARGET = "glucose_30min_later"

Reading = tuple[datetime, str, str]


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``CGM.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The record is not the one this script was written for.
    """
    with gzip.open(raw / "CGM.csv.gz", "rt", newline="", encoding="utf-8") as file:
        record: list[Reading] = [
            (
                datetime.strptime(row["datetime"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC),
                "" if row["isig"] == "nil" else row["isig"],
                row["glucose"],
            )
            for row in csv.DictReader(file)
        ]
    if len(record) != READINGS:
        raise ValueError(f"CGM.csv.gz has {len(record)} rows, not {READINGS}")

    known, later = record[:KNOWN], record[KNOWN:]
    starts = sorted(_starts(later), key=lambda start: _hash("number", later[start]))
    ages = [5 * age for age in reversed(range(HISTORY))]
    header = (ID, "minute_of_day", *(f"glucose_{age}" for age in ages), *(f"isig_{age}" for age in ages))
    test, answers = [], []
    for number, start in enumerate(starts, start=1):
        window = later[start : start + HISTORY]
        last = window[-1][0]
        glucose, current = [reading[2] for reading in window], [reading[1] for reading in window]
        test.append((str(number), str(last.hour * 60 + last.minute), *glucose, *current))
        answers.append((str(number), later[start + HISTORY - 1 + AHEAD][2]))

    mean = sum(int(reading[2]) for reading in known) / len(known)
    train = ((time.strftime("%Y-%m-%d %H:%M"), current, glucose) for time, current, glucose in known)
    _write(public / "train.csv", ("time", "isig", "glucose"), train)
    _write(public / "test.csv", header, test)
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], f"{mean:.1f}") for row in test))
    _write(private / "test_answer.csv", (ID, TARGET), answers)


def _starts(record: Sequence[Reading]) -> list[int]:
    """Where windows begin: nothing is missing from the first reading to the one that is asked for."""
    span = HISTORY - 1 + AHEAD
    starts = []
    place = GAP
    while place + span < len(record):
        times = [time for time, _, _ in record[place : place + span + 1]]
        if all(later - earlier == STEP for earlier, later in pairwise(times)):
            starts.append(place)
            place += span + 1 + GAP + int(_hash("gap", record[place]), 16) % (JITTER + 1)
        else:
            place += 1
    return starts


def _hash(purpose: str, reading: Reading) -> str:
    return hashlib.sha256(f"glucose-30min|{purpose}|{reading[0].isoformat()}".encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
