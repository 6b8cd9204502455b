"""Makes the task of sorting definitions: a fifth of each category is to be sorted, definitions that are alike together.

Standard library only, and no random generator: definitions are put in order by hashes, so that every machine and Python
version writes the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import math
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

DEFINITIONS = 36586
TEST_SHARE = 0.2
SHARED = 0.8
"""Share of their words that two definitions have in common which differ in a detail only."""
SAMPLE = "artifact"


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``definitions.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The list of definitions is not the one this script was written for.
    """
    with gzip.open(raw / "definitions.csv.gz", "rt", newline="", encoding="utf-8") as file:
        categories = {row["definition"]: row["category"] for row in csv.DictReader(file)}
    if len(categories) != DEFINITIONS:
        raise ValueError(f"definitions.csv.gz has {len(categories)} definitions, not {DEFINITIONS}")

    test = _test_definitions(categories)
    order = sorted(categories, key=lambda text: _hash("number", text))
    rows = [(str(number), text, categories[text]) for number, text in enumerate(order, start=1)]
    train_rows = [row for row in rows if row[1] not in test]
    test_rows = [row for row in rows if row[1] in test]

    _write(public / "train.csv", ("definition_id", "definition", "category"), train_rows)
    _write(public / "test.csv", ("definition_id", "definition"), (row[:2] for row in test_rows))
    _write(public / "sample_submission.csv", ("definition_id", "category"), ((row[0], SAMPLE) for row in test_rows))
    _write(private / "test_answer.csv", ("definition_id", "category"), ((row[0], row[2]) for row in test_rows))


def _test_definitions(categories: Mapping[str, str]) -> set[str]:
    """Whole families, in the order of a hash, until there is enough of their category."""
    wanted = {category: round(count * TEST_SHARE) for category, count in Counter(categories.values()).items()}
    chosen: set[str] = set()
    for family in sorted(_families(sorted(categories)), key=lambda family: _hash("test", family[0])):
        counts = Counter(categories[text] for text in family)
        if all(count <= wanted[category] for category, count in counts.items()):
            chosen.update(family)
            wanted = {category: count - counts[category] for category, count in wanted.items()}
    return chosen


def _families(texts: Sequence[str]) -> list[list[str]]:
    """Definitions that are joined by a chain of such as share most of their words."""
    words = [frozenset(re.findall(r"[a-z0-9]+", text.lower())) for text in texts]
    frequency = Counter(word for own in words for word in own)
    head = list(range(len(texts)))
    holders = defaultdict(list)
    for index, own in enumerate(words):
        # Two sets that share enough share one of these rarest words: the rest alone is too few.
        rarest = sorted(own, key=lambda word: (frequency[word], word))
        rarest = rarest[: len(own) - math.ceil(SHARED * len(own)) + 1]
        for other in sorted({other for word in rarest for other in holders[word]}):
            if len(own & words[other]) >= SHARED * len(own | words[other]):
                low, high = sorted((_first(head, index), _first(head, other)))
                head[high] = low
        for word in rarest:
            holders[word].append(index)
    families = defaultdict(list)
    for index, text in enumerate(texts):
        families[_first(head, index)].append(text)
    return list(families.values())


def _first(head: Sequence[int], index: int) -> int:
    while head[index] != index:
        index = head[index]
    return index


def _hash(purpose: str, text: str) -> str:
    return hashlib.sha256(f"{purpose}|{text}".encode()).hexdigest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
