"""Finding the row of an id: one table, built once from the ids that a task asks for.

Integers that lie close together are looked up in an array. All other ids stand in a hash table with open addressing,
whose every step is one operation on arrays, so that millions of ids need a few bytes each. Two texts of one hash are
told apart by comparing the texts themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.cells import canonical_ids
from openmle_env.graders.echo import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openmle_env.graders.rows import Array
    from openmle_env.types import Column

NOT_FOUND = -1

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio
_MOST_IDS = (1 << 31) - 1


class IdIndex:
    """The expected ids of a task, in their order, and where each stands."""

    ids: Array
    """Canonical ids: int64 where all are integers of that size, else strings (`numpy.dtypes.StringDType`)."""
    column: Column
    """How ids are read."""

    def __init__(self, ids: Array, column: Column) -> None:
        """Index ids that are canonical: an int64 array for integers, or a string array.

        Raises:
            PackError: There are none, or one appears twice.
        """
        if not len(ids):
            raise PackError(f"The task has no ids in column {column.name!r}.")
        if len(ids) > _MOST_IDS:
            raise PackError(f"The task has {len(ids):,} ids; at most {_MOST_IDS:,} can be told apart.")
        self.ids = ids
        self.column = column
        self._lookup = _Lookup(ids)
        twice = self._lookup.repeated()
        if len(twice):
            raise PackError(f"Expected id {show(str(ids[twice[0]]))} appears twice; correct the task's ids.")

    @classmethod
    def build(cls, cells: Iterable[object], column: Column) -> IdIndex:
        """Index ids as a file spells them.

        Raises:
            PackError: There are none, one is blank or not of the id's kind, or one appears twice.
        """
        texts = [str(cell) for cell in cells]
        keys, faults, huge = canonical_ids(texts, column, as_text=False)
        if huge:
            keys, faults, huge = canonical_ids(texts, column, as_text=True)
        if faults:
            cell = texts[min(faults)]
            raise PackError(
                f"Expected id {show(cell)} is no {column.kind} id ({faults[min(faults)].value}); "
                "correct the task's ids."
            )
        return cls(as_ids(keys), column)

    def __reduce__(self) -> tuple[type[IdIndex], tuple[Array, Column]]:
        return IdIndex, (self.ids, self.column)  # another process hashes texts in another way

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def as_text(self) -> bool:
        """Whether ids are compared as text."""
        return self.ids.dtype != np.int64

    def find(self, keys: Array | Sequence[str]) -> Array:
        """Where each key stands among the ids, or `NOT_FOUND`; shape (keys,), int32.

        Args:
            keys: Canonical ids: an int64 array, or texts if `as_text`.
        """
        if not len(keys):
            return np.empty(0, np.int32)
        wanted: Array = np.array(keys, dtype=self.ids.dtype) if self.as_text else np.asarray(keys, dtype=np.int64)
        first = int(self._lookup.find(wanted[:1])[0])
        if first >= 0 and np.array_equal(self.ids[first : first + len(wanted)], wanted):
            return np.arange(first, first + len(wanted), dtype=np.int32)  # in the task's order: nothing to look up
        return self._lookup.find(wanted)


def repeated(ids: Array) -> Array:
    """Where an id comes a second time, one position for each such id, in ascending order."""
    return _Lookup(ids).repeated()


def as_ids(keys: Array | Sequence[str]) -> Array:
    """Canonical ids as they are kept: an int64 array stays one, texts become a string array."""
    return keys if isinstance(keys, np.ndarray) else np.array(keys, dtype=np.dtypes.StringDType())


class _Lookup:
    """Finds keys in an array of keys."""

    def __init__(self, ids: Array) -> None:
        self._ids = ids
        self._low = 0
        self._direct: Array | None = None
        self._slots: Array = np.empty(0, np.int32)
        self._hashes: Array = np.empty(0, np.int64)
        self._build()

    def find(self, keys: Array) -> Array:
        """Where each key stands; of equal ids, where the first one does."""
        return self._direct_places(keys) if self._direct is not None else self._places(keys, _hash(keys))

    def repeated(self) -> Array:
        """Where an id comes a second time, one position for each such id."""
        places = self._direct_places(self._ids) if self._direct is not None else self._places(self._ids, self._hashes)
        again = np.flatnonzero(places != np.arange(len(places)))
        return np.sort(again[np.unique(places[again], return_index=True)[1]])

    def _build(self) -> None:
        ids = self._ids
        order = np.arange(len(ids), dtype=np.int32)
        if ids.dtype == np.int64:
            low, high = int(ids.min()), int(ids.max())
            if high - low < 4 * len(ids) + 1024:
                self._low = low
                self._direct = np.full(high - low + 1, NOT_FOUND, np.int32)
                self._direct[ids[::-1] - low] = order[::-1]  # of two equal ids the first one stays
                return
        self._hashes = _hash(ids)
        self._slots = np.full(1 << (3 * len(ids) // 2).bit_length(), NOT_FOUND, np.int32)
        waiting = order
        slots, step = self._slot(self._hashes)
        while len(waiting):
            free = self._slots[slots] < 0
            self._slots[slots[free][::-1]] = waiting[free][::-1]
            rest = self._slots[slots] != waiting
            waiting, step = waiting[rest], step[rest]
            slots = (slots[rest] + step) & (len(self._slots) - 1)

    def _slot(self, hashes: Array) -> tuple[Array, Array]:
        """The first slot of each hash and the odd step to the next."""
        spread = hashes.view(np.uint64) * _SPREAD
        bits = len(self._slots).bit_length() - 1
        first = (spread >> np.uint64(64 - bits)).astype(np.intp) if bits else np.zeros(len(hashes), np.intp)
        step = ((spread & np.uint64(len(self._slots) - 1)) | np.uint64(1)).astype(np.intp)
        return first, step

    def _direct_places(self, keys: Array) -> Array:
        direct: Any = self._direct
        if self._low <= int(keys.min()) and int(keys.max()) - self._low < len(direct):
            places: Array = direct.take(keys - self._low if self._low else keys)
            return places
        inside = (keys >= self._low) & (keys <= self._low + (len(direct) - 1))
        places = np.full(len(keys), NOT_FOUND, np.int32)
        places[inside] = direct.take(keys[inside] - self._low)
        return places

    def _places(self, keys: Array, hashes: Array) -> Array:
        places = np.full(len(keys), NOT_FOUND, np.int32)
        waiting = np.arange(len(keys))
        slots, step = self._slot(hashes)
        while len(waiting):
            found = self._slots[slots]
            taken = found >= 0
            same = np.zeros(len(waiting), bool)
            same[taken] = self._hashes[found[taken]] == hashes[waiting[taken]]
            if keys.dtype != np.int64:
                alike = np.flatnonzero(same)
                same[alike] = self._ids[found[alike]] == keys[waiting[alike]]
            places[waiting[same]] = found[same]
            rest = taken & ~same
            waiting, step = waiting[rest], step[rest]
            slots = (slots[rest] + step) & (len(self._slots) - 1)
        return places


def _hash(keys: Array) -> Array:
    """A hash of each key; int64."""
    if keys.dtype == np.int64:
        return keys
    return np.fromiter(map(hash, keys.tolist()), np.int64, len(keys))
