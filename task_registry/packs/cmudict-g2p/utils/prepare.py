"""Makes the task of pronouncing words: words that begin alike stand on one side, so that none is read off a relative.

Standard library only, and no random generator: words are put in order by hashes, so that every machine and Python
version writes the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

WORDS = 60000
TEST_WORDS = 5000
BEGINNING = 6
"""Letters: ``wonder``, ``wonders`` and ``wonderful`` begin alike."""
SAMPLE = "AH"
"""What the sample submission says everywhere: the most frequent phoneme."""


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``words.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The list of words is not the one this script was written for.
    """
    with gzip.open(raw / "words.csv.gz", "rt", newline="", encoding="utf-8") as file:
        words = [(row["word"], row["phonemes"]) for row in csv.DictReader(file)]
    if len(words) != WORDS:
        raise ValueError(f"words.csv.gz has {len(words)} rows, not {WORDS}")

    test = _test_beginnings(Counter(word[:BEGINNING] for word, _ in words))
    numbered = enumerate(sorted(words, key=lambda entry: _hash("number", entry[0])), start=1)
    rows = [(str(number), *entry) for number, entry in numbered]
    train_rows = [row for row in rows if row[1][:BEGINNING] not in test]
    test_rows = [row for row in rows if row[1][:BEGINNING] in test]

    _write(public / "train.csv", ("word_id", "word", "phonemes"), train_rows)
    _write(public / "test.csv", ("word_id", "word"), (row[:2] for row in test_rows))
    _write(public / "sample_submission.csv", ("word_id", "phonemes"), ((row[0], SAMPLE) for row in test_rows))
    _write(private / "test_answer.csv", ("word_id", "phonemes"), ((row[0], row[2]) for row in test_rows))


def _test_beginnings(words_of: Counter[str]) -> set[str]:
    chosen: set[str] = set()
    words = 0
    for beginning in sorted(words_of, key=lambda beginning: _hash("test", beginning)):
        if words + words_of[beginning] <= TEST_WORDS:
            chosen.add(beginning)
            words += words_of[beginning]
    return chosen


def _hash(purpose: str, word: str) -> str:
    return hashlib.sha256(f"{purpose}|{word}".encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
