"""The validation and the test part of the hidden answers: fixed for ever by the ids, whatever the order of rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openmle_env.errors import PackError
from openmle_env.graders.echo import show
from openmle_env.types import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def divide(ids: Sequence[str], split: Split, words: Sequence[str] | None = None) -> dict[Part, Sequence[int]]:
    """Where the rows of each part stand among ``ids``; ``words`` are the cells of the column that states the split.

    Raises:
        PackError: As for `by_hash` and `by_words`.
    """
    everything = range(len(ids))
    if split.method == "none":
        return dict.fromkeys(Part, everything)
    if split.method == "hash":
        parts = by_hash(ids, split.salt, split.validation_fraction)
    else:
        parts = by_words(ids, words or ())
    chosen: dict[Part, Sequence[int]] = {
        part: [i for i, found in enumerate(parts) if found is part] for part in (Part.VALIDATION, Part.TEST)
    }
    chosen[Part.ALL] = everything
    return chosen


def position(salt: str, key: str) -> float:
    """Where the id ``key`` falls in [0, 1): the first 53 bits of SHA-256 of salt, a NUL and the id, in UTF-8.

    >>> round(position("titanic", "1"), 12)
    0.164514242744
    """
    digest = hashlib.sha256(f"{salt}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)


def by_hash(ids: Sequence[str], salt: str, fraction: float) -> tuple[Part, ...]:
    """The part of each canonical id: validation where its `position` lies below ``fraction``.

    Where all ids of a tiny task fall into one part, the id nearest to the border goes to the other one.

    Raises:
        PackError: There are fewer than two ids, or the fraction is not between 0 and 1.
    """
    if not 0.0 < fraction < 1.0:
        raise PackError(f"The validation fraction {fraction!r} must lie between 0 and 1, both excluded.")
    if len(ids) < 2:
        raise PackError(f"Too few answers to split into validation and test: {len(ids)}; at least two are needed.")
    positions = [position(salt, key) for key in ids]
    parts = [Part.VALIDATION if where < fraction else Part.TEST for where in positions]
    if Part.VALIDATION not in parts:
        parts[positions.index(min(positions))] = Part.VALIDATION
    elif Part.TEST not in parts:
        parts[positions.index(max(positions))] = Part.TEST
    return tuple(parts)


def by_words(ids: Sequence[str], words: Sequence[str]) -> tuple[Part, ...]:
    """The part of each id as its cell in ``words`` states it: ``validation``, ``public``, ``test`` or ``private``.

    Raises:
        PackError: A word is another one, or one of the parts is empty.
    """
    parts = []
    for key, word in zip(ids, words, strict=True):
        part = _WORDS.get(word.strip().lower())
        if part is None:
            raise PackError(f"The task's split says {show(word)} for id {show(key)}; write validation or test.")
        parts.append(part)
    for part in (Part.VALIDATION, Part.TEST):
        if part not in parts:
            raise PackError(f"The task's split leaves the {part} part empty.")
    return tuple(parts)
