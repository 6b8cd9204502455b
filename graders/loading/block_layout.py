"""Where the fields of a block of plain rows stand, and their bytes as 64-bit words: what arrays can work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openmle_env.graders.loading.cells import MAX_SPELLINGS, convert
from openmle_env.graders.loading.id_index import MAX_ID_BYTES, RowLookup, key_text, text_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openmle_env.graders.rows import Array
    from openmle_env.types import Column

_WORD = 8
_LITTLE = np.dtype("<u8")
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], _LITTLE)
"""Masks that keep so many bytes from the start of a word."""
_LAST_BYTES = ~_FIRST_BYTES[::-1]
"""Masks that keep so many bytes from its end."""


class BlockLayout:
    """The fields of a block without quotes, of which every row has ``width`` and ends with a line feed."""

    def __init__(self, block: bytes, width: int) -> None:
        """Find the separators."""
        characters = np.frombuffer(block, np.uint8)
        separators = np.flatnonzero((characters == ord(",")) | (characters == ord("\n")))
        padded = bytes(MAX_ID_BYTES) + block + bytes(MAX_ID_BYTES)  # a word may begin before and end after a field
        self._words_at = np.ndarray((len(padded) - _WORD + 1,), _LITTLE, padded, strides=(1,))
        self._bytes_at = np.frombuffer(padded, np.uint8)
        self._separators = (separators + MAX_ID_BYTES).reshape(-1, width)

    def spans(self, place: int) -> tuple[Array, Array]:
        """Where the fields of a column start, and how long they are; in bytes."""
        if place:
            starts = self._separators[:, place - 1] + 1
        else:
            starts = np.concatenate([[MAX_ID_BYTES], self._separators[:-1, -1] + 1])
        return starts, self._separators[:, place] - starts

    def texts(self, place: int, size: int) -> Array:
        """The fields of a column, none longer than ``size`` bytes, padded to that: (rows, size / 8), uint64."""
        starts, lengths = self.spans(place)
        words = np.empty((len(starts), size // _WORD), _LITTLE)
        for i in range(words.shape[1]):
            kept = lengths if size == _WORD else np.clip(lengths - i * _WORD, 0, _WORD)
            words[:, i] = self._words_at[starts + i * _WORD] & _FIRST_BYTES[kept]
        return words.view(np.uint64)

    def ids(self, place: int, size: int) -> Array | None:
        """The `texts` of ids; None where one is empty, longer than ``size`` bytes, or may have blanks around it."""
        starts, lengths = self.spans(place)
        if lengths.min() < 1 or lengths.max() > size:
            return None
        for edge in (self._bytes_at[starts], self._bytes_at[starts + lengths - 1]):
            if edge.min() <= ord(" ") or edge.max() >= 0x7F:
                return None
        return self.texts(place, size)

    def integers(self, place: int) -> Array | None:
        """The values of fields that hold nothing but digits, int64; None where one is empty or has more than 16."""
        starts, lengths = self.spans(place)
        longest = int(lengths.max())
        if lengths.min() < 1 or longest > 2 * _WORD:
            return None
        ends = starts + lengths
        values = _eight_digits(self._words_at[ends - _WORD] & _LAST_BYTES[np.minimum(lengths, _WORD)])
        if longest > _WORD:
            higher = self._words_at[ends - 2 * _WORD] & _LAST_BYTES[np.maximum(lengths - _WORD, 0)]
            values += _eight_digits(higher) * np.uint64(10**8)
        return values.astype(np.int64)

    def labels(self, place: int, reader: LabelReader) -> Array | None:
        """The positions of labels, int32; None where a field is none, or is empty or long."""
        _, lengths = self.spans(place)
        if lengths.min() < 1 or lengths.max() > MAX_ID_BYTES:
            return None
        size = -(-int(lengths.max()) // _WORD) * _WORD
        return reader.codes(self.texts(place, size), size)


class LabelReader:
    """The labels of one column, of which every spelling is read once."""

    def __init__(self, column: Column) -> None:
        """Know the labels as the task spells them."""
        self._column = column
        self._spellings = column.labels
        self._table: tuple[int, RowLookup, Array] | None = None

    def codes(self, words: Array, size: int) -> Array | None:
        """The positions of labels that are given as texts padded to ``size`` bytes; None where one is no label."""
        table = self._table
        if table is None or table[0] != size:
            table = self._new_table(self._spellings, size)
        while True:
            _, lookup, known = table
            places = lookup.find(words)
            unknown = np.flatnonzero(places < 0)
            if not len(unknown):
                codes: Array = known.take(places)
                return codes
            new = dict.fromkeys(key_text(words, row) for row in unknown[:MAX_SPELLINGS].tolist())
            if len(known) > MAX_SPELLINGS + len(self._column.labels) or convert(list(new), self._column)[1]:
                return None
            table = self._new_table((*self._spellings, *new), size)

    def _new_table(self, spellings: Iterable[str], size: int) -> tuple[int, RowLookup, Array]:
        """Where each spelling of at most ``size`` bytes stands, and its label. Threads may replace each other's."""
        spellings = self._spellings = tuple(dict.fromkeys(spellings))
        known = [text for text in spellings if len(text.encode()) <= size]
        table = self._table = size, RowLookup(text_words(known, size)), convert(known, self._column)[0]
        return table


def _eight_digits(words: Array) -> Array:
    """The numbers that eight characters spell, the first in the lowest byte; NUL and ``0`` are both a zero.

    Pairs of digits, then of pairs, then of fours are joined within each word, by one multiplication each.
    """
    words = words & np.uint64(0x0F0F0F0F0F0F0F0F)
    words = (words * np.uint64(1 + (10 << 8)) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    words = (words * np.uint64(1 + (100 << 16)) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    joined: Array = words * np.uint64(1 + (10_000 << 32)) >> np.uint64(32)
    return joined
