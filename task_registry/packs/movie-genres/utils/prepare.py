"""Makes the task of telling the genres of films: a quarter of them is to be sorted.

Standard library only, and no random generator: films are put in order by a hash of their number, so that every machine
and Python version writes the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

GENRES = (
    *("Action", "Adventure", "Biography", "Comedy", "Crime", "Documentary", "Drama", "Fantasy", "Horror", "Musical"),
    *("Mystery", "Romance", "Sci-Fi", "Thriller", "War"),
)
"""The fifteen most frequent ones; others are left out of a film's genres."""
FILMS = 16871
TEST_SHARE = 0.25
SAMPLE = "Drama"
COLUMNS = (
    *("title", "year", "runtime", "rating", "language", "country", "director", "writer", "cast", "company"),
    "critics",
)
QUERY = """
    SELECT o.imdbID, o.Genre, o.Title, o.Year, o.Runtime, o.Rating, o.Language, o.Country, o.Director, o.Writer,
           o."Cast", t.Production, t.Meter
    FROM omdb o JOIN tomatoes t USING (ID) ORDER BY o.imdbID, o.ID
"""


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``movies.db``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The database is not the one this script was written for.
    """
    films = _films(raw / "movies.db")
    if len(films) != FILMS:
        raise ValueError(f"movies.db has {len(films)} films of a known genre, not {FILMS}")

    test = set(sorted(films, key=lambda name: _rank("test", name))[: round(FILMS * TEST_SHARE)])
    order = sorted(films, key=lambda name: _rank("number", name))
    rows = [(str(number), *films[name]) for number, name in enumerate(order, start=1)]
    train_rows = [row for row, name in zip(rows, order, strict=True) if name not in test]
    test_rows = [row for row, name in zip(rows, order, strict=True) if name in test]

    header = ("film_id", *COLUMNS, "genres")
    _write(public / "train.csv", header, train_rows)
    _write(public / "test.csv", header[:-1], (row[:-1] for row in test_rows))
    _write(public / "sample_submission.csv", ("film_id", "genres"), ((row[0], SAMPLE) for row in test_rows))
    _write(private / "test_answer.csv", ("film_id", "genres"), ((row[0], row[-1]) for row in test_rows))


def _films(database: Path) -> dict[str, tuple[str, ...]]:
    """What is public of each film, and its genres; by its number in a catalogue of films, which is not public."""
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        found = connection.execute(QUERY).fetchall()
    finally:
        connection.close()
    films: dict[str, tuple[str, ...]] = {}
    for name, listed, *values in found:
        genres = sorted({genre.strip() for genre in (listed or "").split(",")} & set(GENRES))
        if genres and name not in films:  # two films stand in it twice
            films[name] = (*map(_text, values), "|".join(genres))
    return films


def _text(value: object) -> str:
    """A cell: whole numbers without a point, one line of text, nothing where nothing is known."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return " ".join(str("" if value is None else value).split())


def _rank(purpose: str, name: str) -> str:
    return hashlib.sha256(f"{purpose}|{name}".encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
