"""The metric of orders: each cell lists the same items as the truth, in the predicted order."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn
from openmle_env.graders.metrics.rank_counts import inversions
from openmle_env.graders.metrics.ranking import Separator
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.tokens import split_items, too_long
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def _not_the_items(predicted: Array, *, items: Array | None = None, separator: str = "") -> Iterator[tuple[int, str]]:
    yield from too_long(predicted)
    if items is None:
        return
    for position, (cell, asked) in enumerate(zip(predicted, items, strict=True)):
        found, wanted = split_items(cell, separator), set(split_items(asked, separator))
        different = set(found)
        if len(different) < len(found):
            yield position, "an item is listed twice; list each item of the row once"
        elif different != wanted:
            missing, unknown = len(wanted - different), len(different - wanted)
            yield position, f"{missing:,} items are missing and {unknown:,} unknown; list each item of the row once"


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=("text",),
    truth="text",
    source="1 - 4 * (sum over rows of inversions) / (sum over rows of n * (n - 1)), where a row has n items and an "
    "inversion is a pair of items in the wrong order: Kendall's tau over all pairs of one row, as in Kaggle's AI4Code.",
    degenerate="A list that is no permutation of the row's items counts as fully reversed, the worst that there is; "
    "with the parameter items it is refused instead. A row of fewer than two items counts nothing; where all rows "
    "are such, the metric is undefined. The mean over all orders is 0.",
    golden=(
        Golden(
            truth=("a b c d", "x y z"),
            predicted=("b a c d", "z y x"),
            score=1 - 4 * 4 / 18,
            note="1 and 3 inversions; 4 * 3 + 3 * 2 = 18.",
        ),
        Golden(truth=("a b c",), predicted=("c b a",), score=-1.0),
        Golden(truth=("a b c", "x"), predicted=("a b c", "y"), score=1.0, note="One item has no order."),
        Golden(truth=("a b c",), predicted=("a b",), score=-1.0, note="An item is missing."),
        Golden(truth=("a b c",), predicted=("a b b",), score=-1.0),
        Golden(truth=("a,b",), predicted=("a, b",), score=1.0, parameters={"separator": ","}),
        Golden(
            truth=("a b",), predicted=("a b",), score=1.0, parameters={"items": "cells"}, answers={"cells": ("b a",)}
        ),
    ),
    trial=Trial(
        truth=("a b c", "c b a"),
        perfect=("a b c", "c b a"),
        noisy=("a b c", "b c a"),
        constant=("a b c", "a b c"),
        chance=0.0,
    ),
    check=_not_the_items,
)
def order_kendall_tau(
    truth: Array,
    predicted: Array,
    *,
    separator: Separator = "",
    items: Annotated[
        Array | None,
        AnswerColumn("The items of each row in any order, where the task shows them: other lists are refused.", "text"),
    ] = None,
) -> float:
    """The rank correlation of predicted orders of items with the true orders, over all pairs of items of a row."""
    if items is not None and any(
        set(split_items(true, separator)) != set(split_items(asked, separator))
        for true, asked in zip(truth, items, strict=True)
    ):
        raise PackError("A true order does not consist of the items that are shown for its row.")
    # All rows as one permutation: each row's positions follow those of the row before, which adds no inversion.
    order, pairs = array("q"), 0
    for true, found in zip(truth, predicted, strict=True):
        offset, row = len(order), _order(split_items(true, separator), split_items(found, separator))
        order.extend(offset + position for position in row)
        pairs += len(row) * (len(row) - 1)
    if not pairs:
        raise PackError("No row has two items whose order could be right or wrong.")
    return 1 - 4 * inversions(np.frombuffer(order, dtype=np.int64)) / pairs


def _order(true: Sequence[str], found: Sequence[str]) -> Sequence[int]:
    """The true position of each predicted item; the reversed order, if these are not the row's items."""
    position = {item: at for at, item in enumerate(true)}
    if len(position) < len(true):
        raise PackError("A true order lists an item twice.")
    if len(found) != len(true) or set(found) != position.keys():
        return range(len(true) - 1, -1, -1)
    return [position[item] for item in found]
