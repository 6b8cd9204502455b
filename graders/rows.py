"""Rows that were read by a schema: what metrics compare.

The values of a column are one array, by the kind of the column:

========================== =========================================================
``integer``                int64
``number``, ``probability`` float64, finite
``label``                  int32, positions in the column's list of labels
``text``                   object, one ``str`` each
========================== =========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.types import Column

Array: TypeAlias = npt.NDArray[Any]
"""An array of any type; the docstrings say which, and its shape."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """Converted columns, aligned on ids. Truth and prediction hold the same ids in the same order."""

    id: Column
    """The column that names a row."""
    ids: Array
    """Canonical ids: int64 where all are integers of that size, else strings (`numpy.dtypes.StringDType`)."""
    columns: Mapping[str, Column]
    """How each column was read: its kind and its labels come from here, never from the data."""
    values: Mapping[str, Array]
    """The values of each column by name, in the order of ``ids``."""

    def __repr__(self) -> str:
        """How many rows, and how each column was read; no values, which may be hidden answers."""
        columns = ", ".join(f"{column.name}: {column.kind}" for column in (self.id, *self.columns.values()))
        return f"Rows({len(self):,}; {columns})"

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, positions: Sequence[int] | Array) -> Rows:
        """The rows at ``positions``, in that order."""
        chosen = np.asarray(positions, dtype=np.intp)
        if len(chosen) == len(self) and np.array_equal(chosen, np.arange(len(self))):
            return self  # all of them: nothing is copied
        values = {name: array[chosen] for name, array in self.values.items()}
        return Rows(self.id, self.ids[chosen], self.columns, values)

    def cells(self, name: str) -> list[int | float | str]:
        """The values of one column as plain Python objects; labels as their text."""
        column = self.columns[name]
        values = self.values[name]
        if column.kind == "label":
            return [column.labels[code] for code in values]
        return list(values.tolist())
