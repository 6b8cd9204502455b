"""Makes the task of sorting emoji: two fifths of each category are to be sorted, by picture and name.

No random generator: emoji are put in order by a hash of their names, so that every machine and version of Python and
numpy writes the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

EMOJI = 937
SIDE = 32
"""Pixels of a picture, in each direction."""
TEST_SHARE = 0.4
SAMPLE = "animal-mammal"


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and pictures and the hidden answers.

    Args:
        raw: Folder that holds ``emoji.csv.gz`` and ``pictures.bin.gz``: in the same order, a byte for each of red,
            green and blue of a pixel, row by row.
        public: Folder for the tables and for ``train_pictures.npy`` and ``test_pictures.npy``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The list of emoji is not the one this script was written for.
    """
    with gzip.open(raw / "emoji.csv.gz", "rt", newline="", encoding="utf-8") as file:
        emoji = [(row["name"], row["subcategory"]) for row in csv.DictReader(file)]
    with gzip.open(raw / "pictures.bin.gz") as file:
        pictures = np.frombuffer(file.read(), np.uint8).reshape(-1, SIDE, SIDE, 3)
    if len(emoji) != EMOJI or len(pictures) != EMOJI:
        raise ValueError(f"the raw data has {len(emoji)} emoji and {len(pictures)} pictures, not {EMOJI} of each")

    test = _test_names(emoji)
    order = sorted(range(EMOJI), key=lambda index: _hash("number", emoji[index][0]))
    rows = [(str(number), *emoji[index]) for number, index in enumerate(order, start=1)]
    train_rows = [row for row in rows if row[1] not in test]
    test_rows = [row for row in rows if row[1] in test]
    np.save(public / "train_pictures.npy", pictures[[index for index in order if emoji[index][0] not in test]])
    np.save(public / "test_pictures.npy", pictures[[index for index in order if emoji[index][0] in test]])

    _write(public / "train.csv", ("emoji_id", "name", "subcategory"), train_rows)
    _write(public / "test.csv", ("emoji_id", "name"), (row[:2] for row in test_rows))
    _write(public / "sample_submission.csv", ("emoji_id", "subcategory"), ((row[0], SAMPLE) for row in test_rows))
    _write(private / "test_answer.csv", ("emoji_id", "subcategory"), ((row[0], row[2]) for row in test_rows))


def _test_names(emoji: Iterable[tuple[str, str]]) -> set[str]:
    """The same share of each category, by a hash of the name."""
    members = defaultdict(list)
    for name, subcategory in emoji:
        members[subcategory].append(name)
    chosen: set[str] = set()
    for names in members.values():
        chosen.update(sorted(names, key=lambda name: _hash("test", name))[: round(len(names) * TEST_SHARE)])
    return chosen


def _hash(purpose: str, name: str) -> str:
    return hashlib.sha256(f"{purpose}|{name}".encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
