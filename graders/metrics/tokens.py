"""How a text cell becomes a list of items, words or references, and how long a cell may be."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from openmle_env.graders.rows import Array

MAX_CHARACTERS = 100_000
"""The longest predicted text or list that is accepted, so that no cell can take a grader's time or memory."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def too_long(predicted: Array) -> Iterator[tuple[int, str]]:
    """Positions of cells that are longer than `MAX_CHARACTERS`, with the reason: the ``check`` of metrics of texts."""
    for position, cell in enumerate(predicted):
        if len(cell) > MAX_CHARACTERS:
            yield position, f"{len(cell):,} characters, of which at most {MAX_CHARACTERS:,} are read; write less"


def split_items(cell: str, separator: str = "") -> list[str]:
    """The items of a cell in their order; blanks around them and items without a character are dropped.

    >>> split_items(" w_1  w_2 ")
    ['w_1', 'w_2']
    >>> split_items("New York, Rome,", ",")
    ['New York', 'Rome']
    """
    if not separator:
        return cell.split()
    return [item for part in cell.split(separator) if (item := part.strip())]


def split_references(cell: str, separator: str = "") -> list[str]:
    """The references that one cell of the answers holds: one, unless a separator is given; empty ones are dropped.

    >>> split_references("a cat ||| the cat", "|||")
    ['a cat', 'the cat']
    """
    return (split_items(cell, separator) or [""]) if separator else [cell]


def ascii_words(text: str) -> list[str]:
    """Runs of the letters a to z and of digits, in lower case.

    >>> ascii_words("Don't stop: 3 o'clock!")
    ['don', 't', 'stop', '3', 'o', 'clock']
    """
    return _ASCII_WORD.findall(text.lower())


def answer_words(text: str) -> list[str]:
    """Words of an answer as SQuAD compares them: in lower case, without ASCII punctuation and English articles.

    >>> answer_words("The Cat's hat.")
    ['cats', 'hat']
    """
    return _ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def encode(first: Sequence[Hashable], second: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Both sequences with each value replaced by a number of its own, so that equal numbers mean equal values.

    >>> encode(["a", "b", "a"], ["c", "b"])
    ([0, 1, 0], [2, 1])
    """
    codes: dict[Hashable, int] = {}
    return [codes.setdefault(item, len(codes)) for item in first], [
        codes.setdefault(item, len(codes)) for item in second
    ]
