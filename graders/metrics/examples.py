"""Worked examples of a metric, and the three submissions that show which way it points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from openmle_env.types import ColumnKind

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
