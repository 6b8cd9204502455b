"""Makes the task of rating the mood of tweets: three tenths of them are to be rated.

Standard library only, and no random generator: tweets are put in order by a hash of their words, so that every machine
and Python version writes the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import html
import math
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

TWEETS = 4200
TEST_SHARE = 0.3
SHARED = 0.6
"""Share of their words that two spellings of one tweet have in common."""
PLACEHOLDERS = frozenset(("anonymous", "http", "url", "removed", "rt"))
SAMPLE_RATING = "0.5"
"""What the sample submission says everywhere: near the mean of the training ratings."""


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds ``tweets.csv.gz``.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The list of tweets is not the one this script was written for.
    """
    with gzip.open(raw / "tweets.csv.gz", "rt", newline="", encoding="utf-8") as file:
        tweets = [(html.unescape(row["text"]), row["rating"]) for row in csv.DictReader(file)]
    if len(tweets) != TWEETS:
        raise ValueError(f"tweets.csv.gz has {len(tweets)} rows, not {TWEETS}")

    rows = [(str(number), *tweet) for number, tweet in enumerate(sorted(tweets, key=_number), start=1)]
    test = _test_texts(sorted({text for text, _ in tweets}))
    train_rows = [row for row in rows if row[1] not in test]
    test_rows = [row for row in rows if row[1] in test]

    _write(public / "train.csv", ("tweet_id", "text", "rating"), train_rows)
    _write(public / "test.csv", ("tweet_id", "text"), (row[:2] for row in test_rows))
    _write(public / "sample_submission.csv", ("tweet_id", "rating"), ((row[0], SAMPLE_RATING) for row in test_rows))
    _write(private / "test_answer.csv", ("tweet_id", "rating"), ((row[0], row[2]) for row in test_rows))


def _number(tweet: tuple[str, str]) -> str:
    return _hash("number", tweet[0])


def _test_texts(texts: Sequence[str]) -> set[str]:
    """Whole families of like texts, in the order of a hash, until there are enough."""
    chosen: set[str] = set()
    for family in sorted(_families(texts), key=lambda family: _hash("test", family[0])):
        if len(chosen) + len(family) <= round(len(texts) * TEST_SHARE):
            chosen.update(family)
    return chosen


def _families(texts: Sequence[str]) -> list[list[str]]:
    """Texts that share most of their words: some tweets were rated in several spellings, or with a word more."""
    words = [frozenset(re.findall(r"[a-z0-9]+", text.lower())) - PLACEHOLDERS for text in texts]
    head = list(range(len(texts)))
    frequency = Counter(word for own in words for word in own)
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
