"""Makes the task of dating works of art: one row for each series, a third of which are to be dated.

Standard library only, and no random generator: rows are put in order by a hash of what they say, so that every machine
and Python version writes the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

ARTWORKS = 4284
TITLES = 6
"""How many different titles of a series are shown."""
TEST_SHARE = 1 / 3
HEADER = ("work_id", "artist", "titles", "works", "medium", "year")
SAMPLE_YEAR = 1999
"""What the sample submission says everywhere: near the median of the training years."""

Series = tuple[str, str, str, str, str]
"""Artist, titles, number of works, medium and year."""


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``artworks.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The list of works is not the one this script was written for.
    """
    with gzip.open(raw / "artworks.csv.gz", "rt", newline="", encoding="utf-8") as file:
        works = list(csv.DictReader(file))
    if len(works) != ARTWORKS:
        raise ValueError(f"artworks.csv.gz has {len(works)} rows, not {ARTWORKS}")

    numbered = sorted(_series(works), key=lambda row: _rank("number", row))
    rows = [(str(number), *row) for number, row in enumerate(numbered, start=1)]
    chosen = set(sorted(numbered, key=lambda row: _rank("test", row))[: round(len(rows) * TEST_SHARE)])
    train_rows = [row for row in rows if row[1:] not in chosen]
    test_rows = [row for row in rows if row[1:] in chosen]

    _write(public / "train.csv", HEADER, train_rows)
    _write(public / "test.csv", HEADER[:-1], (row[:-1] for row in test_rows))
    _write(public / "sample_submission.csv", ("work_id", "year"), ((row[0], SAMPLE_YEAR) for row in test_rows))
    _write(private / "test_answer.csv", ("work_id", "year"), ((row[0], row[-1]) for row in test_rows))


def _series(works: Sequence[dict[str, str]]) -> list[Series]:
    """Works of one artist, medium and year as one row, so that the sheets of a portfolio never date one another.

    Works that differ in nothing but their year, such as untitled ones, cannot be told apart and are left out.
    """
    years = defaultdict(set)
    for work in works:
        years[work["artist"], work["title"], work["medium"]].add(work["year"])
    series = defaultdict(list)
    for work in works:
        if len(years[work["artist"], work["title"], work["medium"]]) == 1:
            series[work["artist"], work["medium"], work["year"]].append(work["title"])
    return [
        (artist, " | ".join(sorted(set(titles))[:TITLES]), str(len(titles)), medium, year)
        for (artist, medium, year), titles in series.items()
    ]


def _rank(purpose: str, row: Series) -> str:
    """Unrelated to the year, which is left out of it: no two rows share all of the rest."""
    return hashlib.sha256("|".join((purpose, *row[:-1])).encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
