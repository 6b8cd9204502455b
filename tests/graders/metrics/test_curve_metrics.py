from __future__ import annotations

from itertools import pairwise, permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from sklearn import metrics as sklearn_metrics

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.graders.metrics.examples import Value, Values

PAIRS = st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=2, max_size=15).filter(
    lambda pairs: len({y for y, _ in pairs}) == 2
)


def value(
    name: str,
    truth: Values,
    predicted: Values,
    answers: Mapping[str, Sequence[Value]] | None = None,
    names: tuple[str, ...] = (),
    **parameters: object,
) -> float:
    golden = Golden(
        truth=truth, predicted=predicted, score=0.0, names=names, parameters=parameters, answers=answers or {}
    )
    used, true, found = metrics.get(name).example(golden)
    return used(true, found)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("levels", [3, 10_000])
def test_agrees_with_scikit_learn(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    truth, scores = rng.integers(0, 2, 50), rng.integers(0, levels, 50) / levels
    weights = rng.integers(1, 4, 50)
    given = (truth.tolist(), scores.tolist())
    assert value("roc_auc", *given) == pytest.approx(sklearn_metrics.roc_auc_score(truth, scores))
    assert value("average_precision", *given) == pytest.approx(sklearn_metrics.average_precision_score(truth, scores))
    weighted = {"w": weights.tolist()}
    assert value("roc_auc", *given, weighted, weight="w") == pytest.approx(
        sklearn_metrics.roc_auc_score(truth, scores, sample_weight=weights)
    )
    assert value("average_precision", *given, weighted, weight="w") == pytest.approx(
        sklearn_metrics.average_precision_score(truth, scores, sample_weight=weights)
    )
    one_sided = ks_2samp(scores[truth == 1], scores[truth == 0], alternative="less")
    assert value("ks_statistic", *given) == pytest.approx(one_sided.statistic, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_one_against_the_rest_agrees_with_scikit_learn(seed: int, average: str) -> None:
    rng = np.random.default_rng(seed)
    codes = np.concatenate((rng.integers(0, 3, 40), [0, 1, 2]))
    scores = rng.integers(1, 6, (43, 3)).astype(float)
    scores /= scores.sum(axis=1, keepdims=True)
    weights = rng.integers(1, 4, 43)
    predicted = [tuple(row) for row in scores.tolist()]
    answers = {"class": [str(code) for code in codes], "w": weights.tolist()}
    found = value(
        "roc_auc_ovr", (), predicted, answers, ("0", "1", "2"), truth_column="class", weight="w", average=average
    )
    assert found == pytest.approx(
        sklearn_metrics.roc_auc_score(codes, scores, multi_class="ovr", average=average, sample_weight=weights)
    )


@given(PAIRS)
def test_auc_is_the_share_of_pairs_in_order(pairs: list[tuple[int, int]]) -> None:
    ones, zeros = [s for y, s in pairs if y], [s for y, s in pairs if not y]
    won = sum((a > b) + (a == b) / 2 for a in ones for b in zeros) / (len(ones) * len(zeros))
    truth, scores = [y for y, _ in pairs], [s for _, s in pairs]
    assert value("roc_auc", truth, scores) == pytest.approx(won)
    assert value("roc_auc", truth, [-s for s in scores]) == pytest.approx(1 - won)
    assert value("roc_auc", truth, [10.0**s for s in scores]) == pytest.approx(won)
    assert value("gini", truth, scores) == pytest.approx(2 * won - 1, abs=1e-12)


@given(PAIRS, st.data())
def test_a_weight_is_a_number_of_rows(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(pairs), max_size=len(pairs)))
    repeated = [pair for pair, weight in zip(pairs, weights, strict=True) for _ in range(weight)]
    for name in ("roc_auc", "average_precision", "ks_statistic"):
        once = value(name, [y for y, _ in pairs], [s for _, s in pairs], {"w": weights}, weight="w")
        assert once == pytest.approx(value(name, [y for y, _ in repeated], [s for _, s in repeated]))


@pytest.mark.parametrize("constant", [0.0, 0.5, -1e308, 1e308])
def test_a_constant_scores_chance(constant: float) -> None:
    truth, scores = [0, 1, 1, 0, 0], [constant] * 5
    assert value("roc_auc", truth, scores) == 0.5
    assert value("average_precision", truth, scores) == pytest.approx(0.4)
    assert value("gini", truth, scores) == 0.0
    assert value("ks_statistic", truth, scores) == 0.0


@pytest.mark.parametrize("name", ["roc_auc", "ks_statistic"])
@pytest.mark.parametrize("only", [0, 1])
def test_one_class_is_a_fault_of_the_task(name: str, only: int) -> None:
    with pytest.raises(PackError, match="column 1 of 1: the answers that are scored hold one class only"):
        value(name, [only] * 3, [0.1, 0.2, 0.3])
    with pytest.raises(PackError, match="one class"):
        value(name, [0, 1], [0.1, 0.2], {"w": [1, 0]}, weight="w")


def test_answers_without_a_one_have_no_average_precision() -> None:
    with pytest.raises(PackError, match="none of the answers"):
        value("average_precision", [0, 0], [0.1, 0.2])
    with pytest.raises(PackError, match="none of a weight above 0"):
        value("average_precision", [1, 0], [0.1, 0.2], {"w": [0, 1]}, weight="w")


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "ks_statistic"])
def test_a_column_of_one_class_is_refused_or_left_out_for_everyone(name: str) -> None:
    truth, predicted = [(0, 0), (1, 0), (1, 0)], [(0.1, 0.9), (0.8, 0.1), (0.9, 0.1)]
    with pytest.raises(PackError, match=r"column 2 of 2.*undefined=skip"):
        value(name, truth, predicted)
    assert value(name, truth, predicted, undefined="skip") == 1.0
    with pytest.raises(PackError, match="column 1 of 2"):
        value(name, [(0, 0), (0, 0)], [(0.1, 0.9), (0.8, 0.1)], undefined="skip")


def test_rows_of_weight_zero_do_not_matter() -> None:
    truth, scores, weights = [0, 1, 0, 1], [5, 4, 3, 2], {"w": [0, 1, 1, 1]}
    for name in ("roc_auc", "average_precision", "ks_statistic"):
        found = value(name, truth, scores, weights, weight="w")
        assert found == pytest.approx(value(name, truth[1:], scores[1:]))


def test_columns_are_averaged() -> None:
    # Six label columns of a comment classification task, worked out column by column.
    truth = [(1, 0, 1, 0, 1, 0), (0, 1, 0, 1, 0, 1), (1, 1, 0, 0, 1, 1), (0, 0, 1, 1, 0, 0)]
    scores = [
        (0.9, 0.2, 0.7, 0.1, 0.8, 0.3),
        (0.2, 0.6, 0.4, 0.9, 0.3, 0.5),
        (0.7, 0.4, 0.5, 0.3, 0.35, 0.9),
        (0.4, 0.5, 0.6, 0.2, 0.4, 0.1),
    ]
    assert value("mean_columnwise_auc", truth, scores) == pytest.approx((4 + 3 + 4 + 3 + 3 + 4) / 24)


def kaggle_gini(truth: Sequence[float], order: Sequence[int]) -> float:
    """Twice the area between the curve of the rows in that order, the best first, and the diagonal; unscaled."""
    shares = np.cumsum([truth[row] for row in order]) / sum(truth)
    return float(shares.sum() - (len(truth) + 1) / 2) / len(truth)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2)), min_size=2, max_size=5).filter(
        lambda pairs: len({y for y, _ in pairs}) > 1
    )
)
def test_gini_is_the_mean_over_the_orders_of_ties(pairs: list[tuple[int, int]]) -> None:
    truth, scores = [y for y, _ in pairs], [s for _, s in pairs]
    orders = [
        order for order in permutations(range(len(pairs))) if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    best = kaggle_gini(truth, sorted(range(len(pairs)), key=lambda row: -truth[row]))
    expected = np.mean([kaggle_gini(truth, order) for order in orders]) / best
    assert value("gini", truth, scores) == pytest.approx(expected, abs=1e-9)


def test_gini_of_a_constant_truth_is_undefined() -> None:
    with pytest.raises(PackError, match="all answers"):
        value("gini", [2, 2], [1, 2])


def test_gini_of_huge_answers() -> None:
    assert value("gini", [1e308, -1e308, 0], [3, 1, 2]) == pytest.approx(1.0)
