"""Metrics of several labels a row, written as a set in one cell: F-measure and Jaccard."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.tokens import MAX_CHARACTERS, split_items, too_long
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

_SETS = (
    "Labels stand in one cell; a repeated label counts once, a blank cell is the empty set, and a cell of more than "
    f"{MAX_CHARACTERS:,} characters is refused. Labels that have a column of 0 and 1 each have a metric of their own:"
)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    arity=(1, 1),
    source="F = (1 + b^2) * TP / (b^2 * true labels + predicted labels) (van Rijsbergen 1979; scikit-learn's "
    "fbeta_score for multilabel input). samples: the mean over the rows of the F of each row's two sets (Kaggle's "
    "Mean F-Score); micro: the F of the sums over all rows; macro: the mean over all labels, in the truth or the "
    f"predictions, of each label's F; weighted: mean weighted by how often the truth holds the label. {_SETS} "
    "multilabel_columns_fbeta.",
    degenerate="For samples, a row whose two sets are empty has the value of the parameter empty, and one with one "
    "empty set has 0. For the other averages, a truth without any label is a fault of the task. A label that the "
    "truth holds nowhere costs a false positive, and is a label of F = 0 in the macro mean; with compat=mlebench such "
    "labels are dropped from the predictions.",
    golden=(
        Golden(
            truth=("1 2", "3"),
            predicted=("1", "3 99"),
            parameters={"average": "micro"},
            score=2 / 3,
            note="2 TP of 3 true and 3 predicted labels.",
        ),
        Golden(
            truth=("1 2", "3"),
            predicted=("1", "3 99"),
            parameters={"average": "micro", "compat": "mlebench"},
            score=0.8,
            note="99 is dropped.",
        ),
        Golden(
            truth=("1 2", "3"),
            predicted=("1", "3 99"),
            parameters={"average": "macro"},
            score=0.5,
            note="Labels 1, 2, 3 and 99 have 1, 0, 1 and 0.",
        ),
        Golden(truth=("1 2", "3"), predicted=("1", "3 99"), parameters={"average": "weighted"}, score=2 / 3),
        Golden(
            truth=("a b", "c"),
            predicted=("a a", "d"),
            parameters={"beta": 2},
            score=5 * 1 / (4 * 2 + 1) / 2,
            note="Rows 5/9 and 0; a counts once.",
        ),
        Golden(truth=("", "", "a"), predicted=("", "a", ""), score=1 / 3, note="Empty against empty is 1."),
        Golden(truth=("", "", "a"), predicted=("", "a", ""), parameters={"empty": 0}, score=0.0),
        Golden(truth=("New York|Rome",), predicted=("Rome | New York",), parameters={"separator": "|"}, score=1.0),
    ),
    trial=Trial(
        truth=("a b", "a", "b c"),
        perfect=("b a", "a", "b c"),
        noisy=("a b", "a", "c"),
        constant=("a", "a", "a"),
    ),
    aliases={
        "f1_samples": {"beta": 1, "average": "samples"},
        "f1_micro_multilabel": {"beta": 1, "average": "micro"},
        "f1_macro_multilabel": {"beta": 1, "average": "macro"},
        "f2_samples": {"beta": 2, "average": "samples"},
        "mean_f1": {"beta": 1, "average": "samples"},
    },
    check=too_long,
)
def multilabel_fbeta(
    truth: Array,
    predicted: Array,
    *,
    beta: Annotated[float, Option("How much recall weighs against precision.", low=0.001, high=1000)] = 1.0,
    average: Annotated[Literal["samples", "micro", "macro", "weighted"], Option("Over what the mean is taken.")] = (
        "samples"
    ),
    separator: Annotated[str, Option("What stands between labels; blanks, if left out.")] = "",
    empty: Annotated[float, Option("For samples, what a row counts whose two sets are empty.", low=0, high=1)] = 1.0,
    compat: Annotated[
        Literal["", "mlebench"], Option("mlebench: predicted labels that the truth holds nowhere are dropped.")
    ] = "",
) -> float:
    """The F-measure of predicted sets of labels."""
    square = beta * beta
    known = {label for cell in truth for label in split_items(cell, separator)}
    if average != "samples" and not known:
        raise PackError(f"Multilabel F-beta with average={average} is undefined where the truth holds no label.")
    pairs = _sets(truth, predicted, separator, known if compat else None)
    if average in {"macro", "weighted"}:
        return _by_label(pairs, known, square, weighted=average == "weighted")
    sizes = ((len(true & found), len(true), len(found)) for true, found in pairs)
    counts = np.fromiter(sizes, dtype=np.dtype((np.int64, 3)), count=len(truth))
    if average == "micro":
        right, true, found = counts.sum(axis=0)
        return float((1 + square) * right / (square * true + found))
    right, true, found = counts.T
    size = square * true + found
    return float(np.where(size > 0, (1 + square) * right / np.where(size > 0, size, 1), empty).mean())


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    arity=(1, 1),
    source="Mean over the rows of |A and B| / |A or B| of the true and the predicted set (Jaccard 1912; "
    f"scikit-learn's jaccard_score with average=samples). {_SETS} multilabel_columns_jaccard.",
    degenerate="Empty against empty is 1, empty against any other set 0.",
    golden=(
        Golden(truth=("a b", "c"), predicted=("b c", "c"), score=2 / 3, note="1/3 and 1."),
        Golden(truth=("", "", "a"), predicted=("", "a", ""), score=1 / 3),
        Golden(truth=("a b",), predicted=("a a b",), score=1.0),
        Golden(truth=("x y;z",), predicted=("z ; x",), parameters={"separator": ";"}, score=1 / 3),
    ),
    trial=Trial(
        truth=("a b", "a", "b c"),
        perfect=("b a", "a", "b c"),
        noisy=("a b", "a", "c"),
        constant=("a", "a", "a"),
    ),
    aliases={"jaccard_samples": {}, "set_jaccard": {}},
    check=too_long,
)
def jaccard(
    truth: Array,
    predicted: Array,
    *,
    separator: Annotated[str, Option("What stands between labels; blanks, if left out.")] = "",
) -> float:
    """The mean overlap of predicted and true sets of labels, as a share of their union."""
    sizes = ((len(true & found), len(true | found)) for true, found in _sets(truth, predicted, separator))
    shared, union = np.fromiter(sizes, dtype=np.dtype((np.int64, 2)), count=len(truth)).T
    return float(np.where(union > 0, shared / np.maximum(union, 1), 1.0).mean())


def _sets(
    truth: Array, predicted: Array, separator: str, known: set[str] | None = None
) -> Iterator[tuple[set[str], set[str]]]:
    """The two sets of each row, one row at a time, since all at once take many times the memory of their text."""
    for true, found in zip(truth, predicted, strict=True):
        labels = set(split_items(found, separator))
        yield set(split_items(true, separator)), labels if known is None else labels & known


def _by_label(pairs: Iterator[tuple[set[str], set[str]]], known: set[str], square: float, *, weighted: bool) -> float:
    counts = {label: [0, 0, 0] for label in known}
    # Of labels that the truth holds nowhere only their number matters, and there may be as many as a submission has
    # room for; so 64 bits of each are kept, of which two that are equal are too rare to move the mean.
    strange = array("q")
    for true, found in pairs:
        for label in true:
            counts[label][0] += label in found
            counts[label][1] += 1
        for label in found:
            if label in counts:
                counts[label][2] += 1
            else:
                strange.append(hash(label))
    right, of_truth, of_predicted = np.array(list(counts.values())).T
    values = (1 + square) * right / (square * of_truth + of_predicted)
    if weighted:
        return float((values * of_truth).sum() / of_truth.sum())
    hashes = np.sort(np.asarray(strange, dtype=np.int64))  # np.unique takes ten times as long
    distinct = int((hashes[1:] != hashes[:-1]).sum()) + min(len(hashes), 1)
    return float(values.sum() / (len(values) + distinct))
