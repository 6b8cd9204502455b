"""Finding the row of an id: one table, built once from the ids that a task asks for.

Ids are compared as rows of 64-bit words: an integer is one word, a text is its UTF-8 bytes, padded, or, where some are
long, a digest of them. Integers that lie close together are looked up in an array; all other ids stand in a hash table
with open addressing, whose every step is one operation on arrays. So millions of ids need a few bytes each.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.echo import show
from openmle_env.graders.loading.cells import canonical_ids, is_writable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openmle_env.graders.rows import Array
    from openmle_env.types import Column

NOT_FOUND = -1

MAX_ID_BYTES = 64
"""The longest text that is compared byte by byte; longer ones by a digest, for which no two equal ones can be made."""

_DIGEST_BYTES = 32
_MOST_IDS = (1 << 31) - 1
_CHUNK = 1 << 16
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio
_HALF = np.uint64(32)


class IdIndex:
    """The expected ids of a task, in their order, and where each stands."""

    ids: Array
    """Canonical ids: int64 where all are integers of that size, else strings (`numpy.dtypes.StringDType`)."""
    column: Column
    """How ids are read."""
    id_bytes: int
    """Where ids are compared as texts byte by byte: to how many bytes they are padded, with NUL; else 0."""

    def __init__(self, ids: Array, column: Column) -> None:
        """Index ids that are canonical: an int64 array for integers, or a string array.

        Raises:
            PackError: There are none, or one appears twice.
        """
        if not len(ids):
            raise PackError(f"There are no ids in column {column.name!r}.")
        if len(ids) > _MOST_IDS:
            raise PackError(f"The task has {len(ids):,} ids; at most {_MOST_IDS:,} can be told apart.")
        self.ids = ids
        self.column = column
        self.id_bytes = _width(ids)
        self._lookup = RowLookup(_words(ids, self.id_bytes))
        twice = self._lookup.repeated()
        if len(twice):
            raise PackError(f"Expected id {show(str(ids[twice[0]]))} appears twice. Keep one row for each id.")

    @classmethod
    def build(cls, cells: Iterable[object], column: Column) -> IdIndex:
        """Index ids as a file spells them.

        Raises:
            PackError: There are none, one is not of the id's kind or holds what no file can, or one appears twice.
        """
        texts = [str(cell) for cell in cells]
        if not is_writable("".join(texts)):
            strange = next(text for text in texts if not is_writable(text))
            raise PackError(wrong_id(strange, column, "it holds a NUL or half a character"))
        keys, faults, huge = canonical_ids(texts, column, as_text=False)
        if huge:
            keys, faults, huge = canonical_ids(texts, column, as_text=True)
        if faults:
            raise PackError(wrong_id(texts[min(faults)], column, faults[min(faults)].value))
        return cls(as_ids(keys), column)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def as_text(self) -> bool:
        """Whether ids are compared as text."""
        return self.ids.dtype != np.int64

    def find(self, keys: Array | Sequence[str]) -> Array:
        """Where each key stands among the ids, or `NOT_FOUND`; shape (keys,), int32.

        Args:
            keys: Canonical ids: an int64 array; or, if `as_text`, texts, or, if there are `id_bytes`, texts as an
                array of shape (keys, id_bytes / 8) of uint64.
        """
        if not len(keys):
            return np.empty(0, np.int32)
        if isinstance(keys, np.ndarray) and keys.dtype == np.uint64:
            return self._lookup.find(keys)
        places = self._lookup.find(_words(keys, self.id_bytes))
        if self.id_bytes and not isinstance(keys, np.ndarray):
            for row, key in enumerate(keys):
                if len(key) * 4 > self.id_bytes and len(_bytes(key)) > self.id_bytes:
                    places[row] = NOT_FOUND  # only its beginning was compared
        return places


def repeated(ids: Array) -> Array:
    """Where an id comes a second time, one position for each such id, in ascending order."""
    return RowLookup(_words(ids, _width(ids))).repeated()


def as_ids(keys: Array | Sequence[str]) -> Array:
    """Canonical ids as they are kept: an int64 array stays one, texts become a string array."""
    return keys if isinstance(keys, np.ndarray) else np.array(keys, dtype=np.dtypes.StringDType())


def key_text(keys: Array | Sequence[str], row: int) -> str:
    """The id at ``row`` of keys as `IdIndex.find` takes them."""
    key = keys[row]
    if isinstance(key, np.ndarray):
        return key.tobytes().rstrip(b"\0").decode("utf-8", "surrogatepass")
    return str(key)


def wrong_id(cell: str, column: Column, why: str) -> str:
    """What is said of a cell among the expected ids that is none."""
    return f"Expected id {show(cell)} is no {column.kind} id ({why}); correct the task's ids."


class RowLookup:
    """Finds rows of words in an array of them, of shape (ids, words)."""

    def __init__(self, words: Array) -> None:
        self._words = words
        self._low = 0
        self._direct: Array | None = None
        self._slots: Array = np.empty(0, np.int32)
        order = np.arange(len(words), dtype=np.int32)
        if words.shape[1] == 1 and len(words):
            numbers = words[:, 0].view(np.int64)
            low, high = int(numbers.min()), int(numbers.max())
            if high - low < 4 * len(words) + 1024:
                self._low = low
                self._direct = np.full(high - low + 1, NOT_FOUND, np.int32)
                self._direct[(numbers - low)[::-1]] = order[::-1]  # of two equal ids the first one stays
                return
        self._slots = np.full(2 << (3 * len(words) // 2).bit_length(), NOT_FOUND, np.int32)  # a fifth to a third full
        waiting = order
        slots, step = self._slot(words)
        while len(waiting):
            free = self._slots[slots] < 0
            self._slots[slots[free][::-1]] = waiting[free][::-1]
            rest = self._slots[slots] != waiting
            waiting, step = waiting[rest], step[rest]
            slots = (slots[rest] + step) & (len(self._slots) - 1)

    def find(self, words: Array) -> Array:
        """Where each row of words stands; of equal ones, where the first one does."""
        if not len(self._words):
            return np.full(len(words), NOT_FOUND, np.int32)
        if self._direct is not None:
            return self._direct_places(self._direct, words[:, 0].view(np.int64))
        first = int(self._places(words[:1])[0])
        if first >= 0 and np.array_equal(self._words[first : first + len(words)], words):
            return np.arange(first, first + len(words), dtype=np.int32)  # in the same order: nothing to look up
        return self._places(words)

    def repeated(self) -> Array:
        """Where a row of words comes a second time, one position for each such row, in ascending order."""
        again = [np.empty((2, 0), np.intp)]
        for start in range(0, len(self._words), _CHUNK):
            chunk = self._words[start : start + _CHUNK]
            if self._direct is not None:
                places = self._direct_places(self._direct, chunk[:, 0].view(np.int64))
            else:
                places = self._places(chunk)
            rows = np.flatnonzero(places != np.arange(start, start + len(places)))
            again.append(np.stack([places[rows], rows + start]))
        places, rows = np.concatenate(again, axis=1)
        return np.sort(rows[np.unique(places, return_index=True)[1]])

    def _slot(self, words: Array) -> tuple[Array, Array]:
        """The first slot of each row of words and the odd step to the next."""
        mixed = words[:, 0] * _SPREAD
        for column in range(1, words.shape[1]):
            mixed ^= mixed >> _HALF
            mixed += words[:, column]
            mixed *= _SPREAD
        mixed ^= mixed >> _HALF
        mixed *= _SPREAD
        bits = len(self._slots).bit_length() - 1
        first = (mixed >> np.uint64(64 - bits)).astype(np.intp)
        step = ((mixed & np.uint64(len(self._slots) - 1)) | np.uint64(1)).astype(np.intp)
        return first, step

    def _direct_places(self, direct: Array, keys: Array) -> Array:
        if self._low <= int(keys.min()) and int(keys.max()) - self._low < len(direct):
            places: Array = direct.take(keys - self._low if self._low else keys)
            return places
        inside = (keys >= self._low) & (keys <= self._low + (len(direct) - 1))
        places = np.full(len(keys), NOT_FOUND, np.int32)
        places[inside] = direct.take(keys[inside] - self._low)
        return places

    def _places(self, words: Array) -> Array:
        slots, step = self._slot(words)
        found = self._slots.take(slots)
        same = _same(self._words, found, words)
        places = np.where(same, found, np.int32(NOT_FOUND))
        waiting = np.flatnonzero(~same & (found >= 0))
        slots, step = slots[waiting], step[waiting]
        while len(waiting):
            slots = (slots + step) & (len(self._slots) - 1)
            found = self._slots.take(slots)
            same = _same(self._words, found, words[waiting])
            places[waiting[same]] = found[same]
            rest = ~same & (found >= 0)
            waiting, slots, step = waiting[rest], slots[rest], step[rest]
        return places


def _same(table: Array, rows: Array, words: Array) -> Array:
    """Whether each of ``words`` is the row of ``table`` at the place given; not so where that is `NOT_FOUND`."""
    same: Array = rows >= 0
    if table.shape[1] == 1:
        same &= table[:, 0].take(rows, mode="wrap") == words[:, 0]
        return same
    known = table.take(rows, axis=0, mode="wrap")  # all words of a row stand together
    for column in range(table.shape[1]):
        same &= known[:, column] == words[:, column]
    return same


def _width(ids: Array) -> int:
    """The bytes in which texts are compared; 0 for integers, and for texts of which one is too long."""
    if ids.dtype == np.int64 or not len(ids):
        return 0
    # A character has one to four bytes.
    longest = int(np.strings.str_len(ids).max())
    if longest <= MAX_ID_BYTES:
        longest = max(len(_bytes(text)) for chunk in _chunks(ids) for text in chunk)
    return 0 if longest > MAX_ID_BYTES else -(-longest // 8) * 8


def _words(keys: Array | Sequence[str], width: int) -> Array:
    """Keys as rows of words; of texts, as many bytes as ``width``, or, if that is 0, a digest."""
    if isinstance(keys, np.ndarray) and keys.dtype == np.int64:
        return np.ascontiguousarray(keys).view(np.uint64).reshape(-1, 1)
    rows = []
    for chunk in _chunks(keys):
        if width:
            rows.append(text_words(chunk, width))
        else:
            digests = b"".join(hashlib.blake2b(_bytes(text), digest_size=_DIGEST_BYTES).digest() for text in chunk)
            rows.append(np.frombuffer(digests, np.uint64).reshape(-1, _DIGEST_BYTES // 8))
    return np.concatenate(rows) if rows else np.empty((0, max(width, 8) // 8), np.uint64)


def text_words(texts: Sequence[str], size: int) -> Array:
    """Texts, cut or padded to ``size`` bytes of UTF-8, as rows of words: shape (texts, size / 8), uint64."""
    return np.array([_bytes(text) for text in texts], dtype=f"S{size}").view(np.uint64).reshape(-1, size // 8)


def _chunks(keys: Array | Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        yield chunk.tolist() if isinstance(chunk, np.ndarray) else chunk


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
