"""The numbers of a block of plain rows, read at once, where it is certain that `cells.convert` would read the same.

Integers without signs are read by arithmetic on words. Everything else is read by pandas' C parser, which gives the
same floats as Python does, but is more generous than we are. Tried with all texts of up to five characters over digits,
signs, point, exponent, underscore and blank, and with random longer ones, pandas 2.2 and 3.1 also take: a column that
says true or false on every row; integers in the spelling of a float, through a float that may not hold them; blanks
within an exponent after a plus; a byte-order mark before the first cell; numbers longer than we read. Each is looked
for here, or before.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from openmle_env.graders.loading.cells import MAX_NUMBER_CHARACTERS, convert

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openmle_env.graders.loading.block_layout import BlockLayout
    from openmle_env.graders.rows import Array
    from openmle_env.types import Column

NUMERIC = {"integer": np.int64, "number": np.float64, "probability": np.float64}
"""The kinds of columns that are read here, and what they become."""

DIGITS = b"0123456789+-"
"""All that integers are written with."""

_OF_NUMBERS = DIGITS + b".eE,\n"
_BLANKS = (b" ", b"\t", b"\v", b"\f")
_BLANK_IN_EXPONENT = re.compile(rb"[0-9.][eE][ \t\v\f]")


def read_nothing_else(block: bytes, width: int, places: Mapping[Column, int]) -> dict[Column, Array] | None:
    """Arrays of numeric columns that are all columns of the file; None where a cell needs a closer look.

    The quickest way: the characters of numbers leave no room for a surprise, and as many separators as rows need,
    none of whose fields is empty, are on the right rows. What type pandas finds says how a column is spelled.
    """
    if block.translate(None, _OF_NUMBERS) or _has_long_cell(block):
        return None
    characters = np.frombuffer(block, np.uint8)
    rows = np.count_nonzero(characters == ord("\n"))
    if np.count_nonzero(characters == ord(",")) != rows * (width - 1):
        return None
    if block.count(b",", 0, block.index(b"\n")) != width - 1:
        return None  # pandas would only warn of a first row that is too long
    frame = _parse(block, width, {})
    if frame is None or len(frame) != rows:
        return None
    arrays = {}
    for column, place in places.items():
        values = frame[place].to_numpy()
        if values.dtype == np.int64 and column.kind != "integer" and b"-0" not in block:  # which is a zero of its own
            values = values.astype(np.float64)
        if values.dtype != NUMERIC[column.kind] or not _is_inside(values, column):
            return None
        arrays[column] = values
    return arrays


def read_numbers(
    block: bytes, rest: bytes, shape: tuple[int, int], places: Mapping[Column, int], layout: BlockLayout | None
) -> dict[Column, Array] | None:
    """Arrays of numeric columns.

    Args:
        block: Plain rows, without quotes.
        rest: The same without `DIGITS`.
        shape: How many rows, of how many fields each.
        places: The columns, and where they stand.
        layout: Of the block, where it was needed anyway.

    Returns:
        The values of each column; None where a cell needs a closer look.
    """
    integers = [place for column, place in places.items() if column.kind == "integer"]
    if integers and not _only_digits(rest, integers, shape[1]):
        return None
    if layout is not None and len(integers) == len(places) and b"-" not in block and b"+" not in block:
        found = {column: layout.integers(place) for column, place in places.items()}
        arrays = {column: values for column, values in found.items() if values is not None}
        if len(arrays) == len(places):
            return arrays
    return _by_pandas(block, rest, shape, places)


def _by_pandas(
    block: bytes, rest: bytes, shape: tuple[int, int], places: Mapping[Column, int]
) -> dict[Column, Array] | None:
    rows, width = shape
    if any(blank in rest for blank in _BLANKS) and _BLANK_IN_EXPONENT.search(block):
        return None
    if _has_long_cell(block) or len(set(places.values())) < len(places):  # or one is read in two ways
        return None
    frame = _parse(block, width, {place: NUMERIC[column.kind] for column, place in places.items()})
    if frame is None or len(frame) != rows:
        return None
    first = block[: block.index(b"\n")].decode().split(",")
    arrays = {column: frame[place].to_numpy() for column, place in places.items()}
    if all(_is_plausible(values, first[places[column]], column) for column, values in arrays.items()):
        return arrays
    return None


def _only_digits(rest: bytes, places: Iterable[int], width: int) -> bool:
    """Whether the columns at ``places`` hold nothing but digits and signs, given the block without any of those."""
    characters = np.frombuffer(rest, np.uint8)
    ends = np.flatnonzero((characters == ord(",")) | (characters == ord("\n"))).reshape(-1, width)
    for place in places:
        if place:
            alone = ends[:, place] == ends[:, place - 1] + 1
        elif ends[0, 0]:
            return False
        else:
            alone = ends[1:, 0] == ends[:-1, -1] + 1
        if not alone.all():
            return False
    return True


def _has_long_cell(block: bytes) -> bool:
    """Whether any cell may have as many characters as we read of a number; surely where it has more."""
    part = MAX_NUMBER_CHARACTERS // 2
    whole = len(block) // part * part
    parts = np.frombuffer(block, np.uint8)[:whole].reshape(-1, part)
    parts = parts[~(parts == ord("\n")).any(axis=1)]
    return not (parts == ord(",")).any(axis=1).all()


def _parse(block: bytes, width: int, types: Mapping[int, Any]) -> Any | None:
    """A data frame of the columns at the given places, or of all, of any type; None where pandas does not take them."""
    import pandas as pd

    options: dict[str, Any] = {
        "header": None,
        "names": list(range(width)),
        "usecols": sorted(types) if 0 < len(types) < width else None,
        "dtype": dict(types) or None,
        "na_filter": False,
        "index_col": False,
        "skip_blank_lines": False,
        "low_memory": False,
        "quoting": csv.QUOTE_NONE,
        "engine": "c",
    }
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # since then the default, and deprecated
    try:
        return pd.read_csv(io.BytesIO(block), **options)
    except (ValueError, OverflowError, TypeError):
        return None


def _is_plausible(values: Array, first: str, column: Column) -> bool:
    """Whether what pandas read as numbers is what we would read; ``first`` is the first cell."""
    if column.kind == "integer":
        limits = np.iinfo(np.int64)  # what integers become that are too large
        return bool(values.dtype == np.int64 and limits.min < values.min() and values.max() < limits.max)
    # A column of true and false becomes one of numbers.
    expected, faults = convert([first], column)
    return not faults and bool(expected[0] == values[0]) and _is_inside(values, column)


def _is_inside(values: Array, column: Column) -> bool:
    """Whether all values are finite, and probabilities at most 1."""
    if column.kind == "integer":
        return True
    low, high = values.min(), values.max()  # NaN where there is any
    bounds = (0.0, 1.0) if column.kind == "probability" else (-sys.float_info.max, sys.float_info.max)
    return bool(bounds[0] <= low <= high <= bounds[1])
