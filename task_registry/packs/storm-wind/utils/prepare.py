"""Makes the storm wind task: the storms from 2012 on are to be measured by their pressure and path.

Standard library only, and no random generator. Names of storms become numbers, and the columns that say the wind in
another way (category, status as depression, storm or hurricane, diameters of strong winds) are left out.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

REPORTS = 19_537
FIRST_HIDDEN_YEAR = 2012
SAME_STORM = timedelta(days=20)
"""Reports of one name that are further apart are of two storms."""
ID = "id"
TARGET = "wind"
HEADER = (ID, "storm", "time", "latitude", "longitude", "nature", "pressure")

Row = tuple[str, ...]


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``storms.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The table is not the one this script was written for.
    """
    with gzip.open(raw / "storms.csv.gz", "rt", newline="", encoding="utf-8") as file:
        reports = list(csv.DictReader(file))
    if len(reports) != REPORTS:
        raise ValueError(f"storms.csv.gz has {len(reports)} rows, not {REPORTS}")

    train: list[Row] = []
    hidden: dict[int, list[Row]] = {}
    for number, (storm, time, report) in enumerate(_by_storm(reports), start=1):
        row = (
            str(number),
            str(storm),
            time.strftime("%Y-%m-%d %H:%M"),
            report["lat"],
            report["long"],
            _nature(report["status"]),
            report["pressure"],
            report["wind"],
        )
        if time.year < FIRST_HIDDEN_YEAR:
            train.append(row)
        else:
            hidden.setdefault(storm, []).append(row)

    test = [row for rows in hidden.values() for row in rows]
    parts = _parts(hidden)
    mean = sum(int(row[-1]) for row in train) / len(train)
    _write(public / "train.csv", (*HEADER, TARGET), train)
    _write(public / "test.csv", HEADER, (row[:-1] for row in test))
    _write(public / "sample_submission.csv", (ID, TARGET), ((row[0], f"{mean:.1f}") for row in test))
    _write(private / "test_answer.csv", (ID, TARGET, "part"), ((row[0], row[-1], parts[int(row[1])]) for row in test))


def _by_storm(reports: Sequence[dict[str, str]]) -> list[tuple[int, datetime, dict[str, str]]]:
    """Each report with the number of its storm, in the order of the table, which is by storm and then by time.

    Of reports of one storm for one hour the first is kept.
    """
    numbered: list[tuple[int, datetime, dict[str, str]]] = []
    storm, before, name = 0, datetime.min.replace(tzinfo=UTC), ""
    for report in reports:
        year, month, day, hour = (int(report[key]) for key in ("year", "month", "day", "hour"))
        time = datetime(year, month, day, hour, tzinfo=UTC)
        if report["name"] != name or not before <= time <= before + SAME_STORM:
            storm += 1
        elif time == before:
            continue
        numbered.append((storm, time, report))
        before, name = time, report["name"]
    return numbered


def _nature(status: str) -> str:
    """What kind of system it is, without what its wind says of it."""
    for nature in ("subtropical", "extratropical", "tropical wave", "disturbance", "other low"):
        if status.startswith(nature):
            return nature
    return "tropical"


def _parts(hidden: dict[int, list[Row]]) -> dict[int, str]:
    """The part of each hidden storm; of two storms of like mean wind one is in each part."""
    by_wind = sorted(hidden, key=lambda storm: (sum(int(row[-1]) for row in hidden[storm]) / len(hidden[storm]), storm))
    parts = {}
    for position, storm in enumerate(by_wind):
        pair = by_wind[position - position % 2]
        swapped = hashlib.sha256(f"storm-wind|part|{pair}".encode()).digest()[0] % 2
        parts[storm] = ("validation", "test")[(position + swapped) % 2]
    return parts


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
