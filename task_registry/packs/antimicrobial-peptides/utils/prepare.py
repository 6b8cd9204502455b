"""Makes the task of telling antimicrobial peptides from others, with similar sequences always on the same side.

Standard library only, and no random generator: sequences and families are put in order by hashes, so that every
machine and Python version writes the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

PEPTIDES = 4664
SHORTEST, LONGEST = 10, 50
"""Residues. The other proteins were chosen by this range, so that it would give the antimicrobial ones away."""
WORD = 3
"""Residues of the words by which sequences are compared."""
SHARED = 0.5
"""Share of the words of the shorter sequence that two relatives have in common."""
LARGEST_TEST_FAMILY = 20
TEST_ROWS = 1200


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``peptides.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The list of peptides is not the one this script was written for.
    """
    with gzip.open(raw / "peptides.csv.gz", "rt", newline="", encoding="utf-8") as file:
        entries = [(row["sequence"], row["antimicrobial"]) for row in csv.DictReader(file)]
    if len(entries) != PEPTIDES:
        raise ValueError(f"peptides.csv.gz has {len(entries)} rows, not {PEPTIDES}")

    labels = _labels(entries)
    numbers = {sequence: str(number) for number, sequence in enumerate(_in_order("number", labels), start=1)}
    test = _test_peptides(labels)
    rows = [(number, sequence, labels[sequence]) for sequence, number in numbers.items()]
    test_rows = [row for row in rows if row[1] in test]

    _write(public / "train.csv", ("peptide_id", "sequence", "antimicrobial"), (r for r in rows if r[1] not in test))
    _write(public / "test.csv", ("peptide_id", "sequence"), (row[:2] for row in test_rows))
    _write(public / "sample_submission.csv", ("peptide_id", "antimicrobial"), ((row[0], "0.5") for row in test_rows))
    _write(private / "test_answer.csv", ("peptide_id", "antimicrobial"), ((row[0], row[2]) for row in test_rows))


def _labels(entries: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Each sequence with its label; those that stand under both labels are left out.

    A methionine at the start is cut off. It is where the cell begins any protein: precursors have it still and ripe
    peptides do not, which tells how an entry was recorded and not what it does.
    """
    found = defaultdict(set)
    for sequence, label in entries:
        found[sequence.removeprefix("M")].add(label)
    return {
        sequence: next(iter(both))
        for sequence, both in found.items()
        if len(both) == 1 and SHORTEST <= len(sequence) <= LONGEST
    }


def _test_peptides(labels: Mapping[str, str]) -> set[str]:
    """Whole families, in the order of a hash, until there are enough; the large, well-known ones stay in training."""
    chosen: set[str] = set()
    for family in sorted(_families(sorted(labels)), key=lambda family: _rank("test", family[0])):
        if len(family) <= LARGEST_TEST_FAMILY and len(chosen) + len(family) <= TEST_ROWS:
            chosen.update(family)
    return chosen


def _families(sequences: Sequence[str]) -> list[list[str]]:
    """Sequences that are joined by a chain of relatives, the first in the alphabet in front."""
    words = [{sequence[i : i + WORD] for i in range(len(sequence) - WORD + 1)} for sequence in sequences]
    head = list(range(len(sequences)))

    def first(index: int) -> int:
        while head[index] != index:
            head[index] = head[head[index]]
            index = head[index]
        return index

    holders = defaultdict(list)
    for index, own in enumerate(words):
        common: Counter[int] = Counter()
        for word in own:
            common.update(holders[word])
            holders[word].append(index)
        for other, count in common.items():
            if count >= SHARED * min(len(own), len(words[other])):
                low, high = sorted((first(index), first(other)))
                head[high] = low
    families = defaultdict(list)
    for index, sequence in enumerate(sequences):
        families[first(index)].append(sequence)
    return list(families.values())


def _in_order(purpose: str, sequences: Iterable[str]) -> list[str]:
    return sorted(sequences, key=lambda sequence: _rank(purpose, sequence))


def _rank(purpose: str, sequence: str) -> str:
    return hashlib.sha256(f"{purpose}|{sequence}".encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
