"""What is predicted, as something that features can be tried on: classes, numbers, or texts of any other kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from openmle_env.graders.rows import Array

MAX_CLASSES = 100
"""More different values than these are no classes; in small data, more than half as many as rows."""
MIN_ROWS = 20
"""With fewer rows, a perfect guess means nothing."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Target:
    """One column of the answers, beside the same column of the training rows where there is one."""

    name: str
    kind: Literal["classes", "numbers", "texts"]
    texts: Array
    """What is right, in the order of the test rows."""
    codes: Array
    """For ``classes`` positions in `classes`, for ``numbers`` the values, NaN where a cell is none."""
    classes: tuple[str, ...] = ()
    train_texts: Array | None = None
    train_codes: Array | None = None
    """-1, or NaN, where a training row has no such value."""


def describe(name: str, texts: Array, train: Array | None) -> Target:
    """Tell what kind of target a column is, from its cells."""
    train = None if train is None else np.array([cell.strip() for cell in train], dtype=object)
    values = sorted(set(texts) - {""})
    numbers = to_numbers(texts)
    all_numbers = bool(np.isfinite(numbers[texts != ""]).all())
    most = min(MAX_CLASSES, max(2, len(texts) // 4))
    if 2 <= len(values) <= most and not (all_numbers and _are_measured(values)):
        classes = tuple(values)
        return Target(
            name=name,
            kind="classes",
            texts=texts,
            codes=to_codes(texts, classes),
            classes=classes,
            train_texts=train,
            train_codes=None if train is None else to_codes(train, classes),
        )
    return Target(
        name=name,
        kind="numbers" if all_numbers else "texts",
        texts=texts,
        codes=numbers,
        train_texts=train,
        train_codes=None if train is None else to_numbers(train),
    )


def _are_measured(values: list[str]) -> bool:
    """Whether numbers are amounts rather than names of classes: many, or with decimals that say something."""
    return len(values) > 20 or any(not float(value).is_integer() for value in values)


def to_codes(cells: Array, classes: tuple[str, ...]) -> Array:
    """Positions of the cells among the classes, -1 where a cell is none of them."""
    code = {value: place for place, value in enumerate(classes)}
    return np.array([code.get(cell, -1) for cell in cells], dtype=np.int64)


def to_numbers(cells: Array) -> Array:
    """The cells as float64; NaN where one is no finite decimal number."""
    import pandas as pd  # 0.2 s that opening a pack does not need

    numbers = np.asarray(pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce"), dtype=np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)
