from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import label_ranking_average_precision_score

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden, label_ranking

if TYPE_CHECKING:
    from openmle_env.graders.rows import Array

TRUTH = arrays.arrays(np.int64, (4, 5), elements=st.integers(0, 1)).filter(np.any)
SCORES = arrays.arrays(np.int64, (4, 5), elements=st.integers(0, 3))


def value(name: str, truth: Array, scores: Array) -> float:
    golden = Golden(
        truth=[tuple(row) for row in truth.tolist()],
        predicted=[tuple(row) for row in scores.tolist()],
        score=0.0,
    )
    used, true, found = metrics.get(name).example(golden)
    return used(true, found)


def precisions(truth: Array, scores: Array) -> list[list[float]]:
    """Label by label, from the definition."""
    return [
        [float(true[found >= found[label]].mean()) for label in np.flatnonzero(true)]
        for true, found in zip(truth, scores, strict=True)
    ]


@given(TRUTH, SCORES)
def test_by_the_definition(truth: Array, scores: Array) -> None:
    expected = precisions(truth, scores)
    assert value("lwlrap", truth, scores) == pytest.approx(np.mean([p for row in expected for p in row]))
    assert value("lrap", truth, scores) == pytest.approx(np.mean([np.mean(row) for row in expected if row]))


@pytest.mark.parametrize("seed", range(10))
def test_agrees_with_scikit_learn_where_every_row_has_a_label(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, scores = rng.integers(0, 2, (30, 6)), rng.integers(0, 8, (30, 6))
    truth[:, 0] = 1
    assert value("lrap", truth, scores) == pytest.approx(label_ranking_average_precision_score(truth, scores))


@pytest.mark.parametrize("labels", [1, 2, 3, 4])
def test_a_constant_scores_no_more_than_the_orders_of_its_ties(labels: int) -> None:
    true = (np.arange(4) < labels).astype(int)
    orders = [np.array([order]) for order in permutations(range(4))]
    mean = np.mean([value("lwlrap", true[np.newaxis], order) for order in orders])
    constant = value("lwlrap", true[np.newaxis], np.ones((1, 4), int))
    assert constant == pytest.approx(true.mean())
    assert constant <= mean + 1e-12


@given(TRUTH, SCORES, st.permutations(range(5)))
def test_the_order_of_columns_never_matters(truth: Array, scores: Array, order: list[int]) -> None:
    assert value("lwlrap", truth[:, order], scores[:, order]) == pytest.approx(value("lwlrap", truth, scores))


def test_rows_are_ranked_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 2, (50, 6)), rng.integers(0, 8, (50, 6))
    whole = value("lwlrap", truth, scores)
    monkeypatch.setattr(label_ranking, "_CELLS", 40)
    assert value("lwlrap", truth, scores) == pytest.approx(whole, rel=1e-12)


def test_answers_without_labels_are_a_fault_of_the_task() -> None:
    with pytest.raises(PackError, match="no row that is scored has a label"):
        value("lwlrap", np.zeros((2, 3), int), np.ones((2, 3), int))
