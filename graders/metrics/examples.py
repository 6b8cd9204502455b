"""Worked examples of a metric, the three submissions that show which way it points, and how plain values are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from openmle_env.errors import UsageError
from openmle_env.graders.echo import show
from openmle_env.graders.loading.cells import convert
from openmle_env.graders.rows import Rows

if TYPE_CHECKING:
    from openmle_env.graders.rows import Array
    from openmle_env.types import Column, ColumnKind

Value: TypeAlias = int | float | str
Values: TypeAlias = Sequence[Value] | Sequence[tuple[Value, ...]]
"""One value, or one tuple of values (a value for each column), for each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """One worked example, small enough to be checked by hand."""

    truth: Values
    predicted: Values
    score: float
    kind: ColumnKind | None = None
    """Of the predictions; the first that the metric takes, if None."""
    labels: tuple[str, ...] = ()
    """For ``label``: every allowed value."""
    names: tuple[str, ...] = ()
    """Names of the target columns; ``target``, or ``target0``, ``target1`` and so on, if left out."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    answers: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """Further columns of the answers, which parameters name."""
    note: str = ""
    """What it shows, where that is not plain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One truth and three submissions: a perfect one beats a noisy one, which beats a constant one."""

    truth: Values
    perfect: Values
    noisy: Values
    constant: Values
    chance: float | None = None
    """What the constant one scores, where the metric has a level of chance."""
    kind: ColumnKind | None = None
    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    answers: Mapping[str, Sequence[Value]] = field(default_factory=dict)

    def as_golden(self, predicted: Values) -> Golden:
        """One of its submissions, as an example without a score of its own."""
        return Golden(
            truth=self.truth,
            predicted=predicted,
            score=0.0,
            kind=self.kind,
            labels=self.labels,
            names=self.names,
            parameters=self.parameters,
            answers=self.answers,
        )


def as_tuples(values: Values | Array) -> list[Any]:
    """The same with each row of several values as a tuple, be it a list or a row of an array."""
    return [tuple(row) if isinstance(row, list | tuple | np.ndarray) else row for row in values]


def by_column(values: Values) -> list[list[Any]]:
    """The values of each column.

    Raises:
        UsageError: Rows have different numbers of values.
    """
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    if len({len(row) for row in rows}) > 1:
        raise UsageError("Not every row has as many values as the first.")
    return [list(column) for column in zip(*rows, strict=True)]


def as_rows(
    identity: Column, count: int, columns: Mapping[str, Column], values: Mapping[str, Sequence[Value]], what: str
) -> Rows:
    """Rows with the ids 0, 1, 2 and so on, whose values are read as cells of a file are.

    Raises:
        UsageError: A column is not there, has another number of values, or one that is not of its kind.
    """
    arrays = {}
    for name, column in columns.items():
        if len(values.get(name, ())) != count:
            raise UsageError(
                f"{what}: column {name!r} should have {count:,} values, not {len(values.get(name, ())):,}."
            )
        cells = [str(value) for value in values[name]]
        arrays[name], faults = convert(cells, column)
        for fault, rows in faults.items():
            raise UsageError(
                f"{what}: {len(rows):,} of {count:,} values of column {name!r} are wrong for the kind {column.kind} "
                f"({fault.value}), such as {show(cells[rows[0]])}."
            )
    return Rows(identity, np.arange(count), columns, arrays)
