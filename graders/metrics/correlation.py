"""Metrics of how predicted numbers move with the true ones: correlation, of values and of ranks."""

from __future__ import annotations

import math

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.rank_counts import average_ranks, inversions, rank_codes
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.regression import NUMBERS
from openmle_env.graders.rows import Array

_DEGENERATE = (
    "A constant truth, a single row included, is a fault of the task. A constant prediction gives 0; of several "
    "columns, that column counts 0 and the others count as ever."
)
_TRIAL = Trial(truth=(1, 2, 3, 6), perfect=(1, 2, 3, 6), noisy=(1.5, 3.5, 3, 5), constant=(3, 3, 3, 3), chance=0.0)


def _constant(values: Array) -> bool:
    return bool(values.min() == values.max())


def _varied(truth: Array) -> Array:
    if _constant(truth):
        raise PackError("All true values of a target are equal: nothing can correlate with them.")
    return truth


def _halved(values: Array, peak: float) -> Array:
    """The values times the power of two that brings ``peak`` below 1, so that no square overflows or vanishes."""
    return np.ldexp(values.astype(np.float64), -math.frexp(peak)[1])


def _centred(values: Array) -> Array:
    scaled = _halved(values, float(np.abs(values.astype(np.float64)).max()))
    centred = scaled - scaled.mean()
    return _halved(centred, float(np.abs(centred).max()))


def _product_moment(truth: Array, predicted: Array) -> float:
    x, y = _centred(truth), _centred(predicted)
    return float((x * y).sum() / math.sqrt((x * x).sum() * (y * y).sum()))


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=NUMBERS,
    source="sum of dt * dp / sqrt(sum of dt^2 * sum of dp^2), dt and dp the distances from the means (as scipy's "
    "pearsonr); several target columns: the mean over columns.",
    degenerate=_DEGENERATE,
    golden=(
        Golden(truth=(1, 2, 3), predicted=(1, 3, 2), score=0.5),
        Golden(truth=(1, 2, 3), predicted=(-10, -20, -30), score=-1.0),
        Golden(truth=(1, 2, 3), predicted=(7, 7, 7), score=0.0, note="constant"),
        Golden(
            kind="probability",
            truth=(0.0, 0.25, 0.5, 1.0),
            predicted=(0.1, 0.2, 0.6, 0.8),
            score=0.9599391111188336,
            note="as MLE-bench computes it for us-patent-phrase-to-phrase-matching",
        ),
        Golden(truth=((1, 1), (2, 2), (3, 3)), predicted=((1, 7), (3, 7), (2, 7)), score=0.25, note="mean of columns"),
    ),
    trial=_TRIAL,
    aliases={"pearsonr": {}, "pearson_correlation": {}},
)
def pearson(truth: Array, predicted: Array) -> float:
    """Pearson's correlation of predicted and true values."""
    true = _varied(truth.astype(np.float64))
    return 0.0 if _constant(predicted.astype(np.float64)) else _product_moment(true, predicted)


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=NUMBERS,
    source="Pearson's correlation of the ranks; equal values share the mean of their ranks (as scipy's spearmanr). "
    "Several target columns: the mean over columns (Kaggle's mean column-wise Spearman).",
    degenerate=_DEGENERATE,
    golden=(
        Golden(truth=(1, 2, 3), predicted=(1, 30, 20), score=0.5),
        Golden(truth=(1, 2, 3, 4), predicted=(1, 1, 2, 2), score=4 / math.sqrt(20), note="ranks 1.5, 1.5, 3.5, 3.5"),
        Golden(truth=(1, 2, 3), predicted=(7, 7, 7), score=0.0, note="constant"),
        Golden(truth=((1, 1), (2, 2), (3, 3)), predicted=((3, 7), (2, 7), (1, 7)), score=-0.5, note="mean of columns"),
    ),
    trial=_TRIAL,
    aliases={
        "spearmanr": {},
        "spearman_correlation": {},
        "spearman_mean_columnwise": {},
        "mean_columnwise_spearman": {},
    },
)
def spearman(truth: Array, predicted: Array) -> float:
    """Spearman's correlation of predicted and true ranks."""
    _varied(truth)
    return 0.0 if _constant(predicted) else _product_moment(average_ranks(truth), average_ranks(predicted))


def _pairs(counts: Array) -> int:
    return int((counts * (counts - 1) // 2).sum())


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=NUMBERS,
    source="(C - D) / sqrt((n - ties of truth) * (n - ties of prediction)): C pairs of rows in the right order, D in "
    "the wrong one, n all pairs (Kendall 1945, tau-b; as scipy's kendalltau). Several target columns: the mean.",
    degenerate=_DEGENERATE,
    golden=(
        Golden(truth=(1, 2, 3), predicted=(1, 30, 20), score=1 / 3, note="2 pairs right, 1 wrong"),
        Golden(truth=(1, 2, 3, 4), predicted=(1, 1, 2, 2), score=4 / math.sqrt(6 * 4)),
        Golden(truth=(1, 1, 2), predicted=(1, 2, 3), score=2 / math.sqrt(2 * 3), note="ties of the truth"),
        Golden(truth=(1, 2, 3), predicted=(7, 7, 7), score=0.0, note="constant"),
        Golden(truth=(1, 2, 3), predicted=(3, 2, 1), score=-1.0),
    ),
    trial=_TRIAL,
    aliases={"kendalltau": {}},
)
def kendall_tau_b(truth: Array, predicted: Array) -> float:
    """Kendall's tau-b: pairs of rows in the right order less those in the wrong one."""
    _varied(truth)
    if _constant(predicted):
        return 0.0
    x, y = rank_codes(truth), rank_codes(predicted)
    # Rows in order of the truth, and equal ones in order of the prediction: only pairs that disagree are inverted.
    wrong = inversions(y[np.lexsort((y, x))])
    tied_x, tied_y = _pairs(np.bincount(x)), _pairs(np.bincount(y))
    tied_both = _pairs(np.unique(x * (int(y.max()) + 1) + y, return_counts=True)[1])
    every = len(x) * (len(x) - 1) // 2
    right = every - tied_x - tied_y + tied_both - wrong
    return (right - wrong) / (math.sqrt(every - tied_x) * math.sqrt(every - tied_y))


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    kinds=NUMBERS,
    source="2 * cov(t, p) / (var t + var p + (mean t - mean p)^2), all divided by n (Lin 1989); several target "
    "columns: the mean over columns.",
    degenerate=_DEGENERATE,
    golden=(
        Golden(truth=(1, 2, 3), predicted=(2, 3, 4), score=4 / 7, note="an offset costs"),
        Golden(truth=(1, 2, 3), predicted=(1, 2, 3), score=1.0),
        Golden(truth=(1, 2, 3), predicted=(2, 4, 6), score=(8 / 3) / (2 / 3 + 8 / 3 + 4), note="so does a factor"),
        Golden(truth=(1, 2, 3), predicted=(2, 2, 2), score=0.0, note="constant"),
    ),
    trial=_TRIAL,
    aliases={"concordance_correlation_coefficient": {}, "lin_ccc": {}},
)
def ccc(truth: Array, predicted: Array) -> float:
    """Lin's concordance correlation: how near the pairs of truth and prediction lie to the line of equality."""
    true, found = _varied(truth.astype(np.float64)), predicted.astype(np.float64)
    if _constant(found):
        return 0.0
    peak = max(float(np.abs(true).max()), float(np.abs(found).max()))
    x, y = _halved(true, peak), _halved(found, peak)
    shared = ((x - x.mean()) * (y - y.mean())).mean()
    return float(2 * shared / (x.var() + y.var() + (x.mean() - y.mean()) ** 2))
