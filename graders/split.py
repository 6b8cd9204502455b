"""The validation and the test part of the hidden answers: fixed for ever by the ids, whatever the order of rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.echo import show
from openmle_env.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openmle_env.graders.rows import Array

_CHUNK = 1 << 16

_WORDS = {
    "validation": Part.VALIDATION,
    "public": Part.VALIDATION,
    "test": Part.TEST,
    "private": Part.TEST,
}


@dataclass(frozen=True, slots=True)
class Split:
    """How the answers fall into the validation and the test part."""

    method: Literal["hash", "column", "none"] = "hash"
    """By hash of the id; by a column of the answers; or ``none``: both parts are all rows."""
    salt: str = ""
    """For ``hash``."""
    validation_fraction: float = 0.5
    """For ``hash``: the expected share of the validation part."""
    column: str = ""
    """For ``column``: its name; its cells are ``validation`` or ``public``, ``test`` or ``private``."""


def divide(ids: Array, split: Split, words: Array | None = None) -> dict[Part, Array]:
    """Where the rows of each part stand among ``ids``, as ascending positions.

    Args:
        ids: Canonical ids, as integers or texts.
        split: How they fall into parts.
        words: For the method ``column``, the cells of the column that states the split.

    Raises:
        PackError: As for `by_hash` and `by_words`.
    """
    everything = np.arange(len(ids))
    if split.method == "none":
        return dict.fromkeys(Part, everything)
    if split.method == "hash":
        validation = by_hash(ids, split.salt, split.validation_fraction)
    else:
        validation = by_words(ids, np.empty(0, np.object_) if words is None else words)
    return {
        Part.VALIDATION: np.flatnonzero(validation),
        Part.TEST: np.flatnonzero(~validation),
        Part.ALL: everything,
    }


def position(salt: str, key: str) -> float:
    """Where the id ``key`` falls in [0, 1): the first 53 bits of SHA-256 of salt, a NUL and the id, in UTF-8.

    >>> round(position("titanic", "1"), 12)
    0.164514242744
    """
    digest = hashlib.sha256(f"{salt}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)


def by_hash(ids: Array | Sequence[str], salt: str, fraction: float) -> Array:
    """Whether each canonical id belongs to the validation part: its `position` lies below ``fraction``; bool.

    Where all ids of a tiny task fall into one part, the id nearest to the border goes to the other one.

    Raises:
        PackError: There are fewer than two ids, or the fraction is not between 0 and 1.
    """
    if not 0.0 < fraction < 1.0:
        raise PackError(f"The validation fraction {fraction!r} must lie between 0 and 1, both excluded.")
    if len(ids) < 2:
        raise PackError(f"Too few answers to split into validation and test: {len(ids)}; at least two are needed.")
    positions = np.fromiter((position(salt, key) for key in _texts(ids)), np.float64, len(ids))
    validation: Array = positions < fraction
    if not validation.any():
        validation[positions.argmin()] = True
    elif validation.all():
        validation[positions.argmax()] = False
    return validation


def by_words(ids: Array | Sequence[str], words: Array | Sequence[str]) -> Array:
    """Whether each id belongs to the validation part, as its cell in ``words`` states it; bool.

    The words are ``validation`` or ``public``, ``test`` or ``private``, in any case and with any blanks around them.

    Raises:
        PackError: A word is another one, or one of the parts is empty.
    """
    known: dict[str, Part | None] = {}
    parts = [known[word] if word in known else known.setdefault(word, _part(word)) for word in words]
    if None in known.values():
        row = parts.index(None)
        found = "another word" if words[row].strip() else "nothing"  # which may be an answer, in a wrong column
        raise PackError(
            f"The column of the task's split says {found} for id {show(str(ids[row]))}; write validation or test."
        )
    for part in (Part.VALIDATION, Part.TEST):
        if part not in known.values():
            raise PackError(f"The task's split leaves the {part} part empty.")
    return np.fromiter((part is Part.VALIDATION for part in parts), bool, len(parts))


def _part(word: str) -> Part | None:
    return _WORDS.get(word.strip().lower())


def _texts(ids: Array | Sequence[str]) -> Iterator[str]:
    """The ids as texts, a few at a time."""
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        yield from map(str, chunk.tolist() if isinstance(chunk, np.ndarray) else chunk)
