from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

if TYPE_CHECKING:
    from openmle_env.graders.metrics.examples import Values
    from openmle_env.types import ColumnKind

WEIGHTS = ["none", "linear", "quadratic"]


def value(
    name: str,
    truth: Values,
    predicted: Values,
    kind: ColumnKind = "integer",
    labels: tuple[str, ...] = (),
    **parameters: object,
) -> float:
    golden = Golden(kind=kind, labels=labels, truth=truth, predicted=predicted, parameters=parameters, score=0)
    used, true, found = metrics.get(name, parameters).example(golden)
    return used(true, found)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("classes", [2, 6])
def test_agrees_with_scikit_learn(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, 30)
    truth[:classes] = range(classes)
    predicted = np.where(rng.random(30) < 0.4, truth, rng.integers(0, classes, 30))
    given = (truth.tolist(), predicted.tolist())
    assert value("mcc", *given) == pytest.approx(matthews_corrcoef(truth, predicted))
    for weights in WEIGHTS:
        known = None if weights == "none" else weights
        expected = cohen_kappa_score(truth, predicted, weights=known)
        assert value("kappa", *given, weights=weights) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_compat_has_the_values_of_scikit_learn_where_labels_are_missing(seed: int, weights: str) -> None:
    rng = np.random.default_rng(seed)
    values = np.array([-3, 0, 1, 7])
    truth, predicted = values[rng.integers(0, 4, 20)], values[rng.integers(0, 4, 20)]
    given = (truth.tolist(), predicted.tolist())
    expected = cohen_kappa_score(truth, predicted, weights=weights)
    assert value("kappa", *given, weights=weights, compat="mlebench") == pytest.approx(expected)
    labels = ("7", "1", "-3", "0")
    assert value("kappa", *given, "label", labels, weights=weights, compat="mlebench") == pytest.approx(expected)
    # Ours is what it would be, had all integers between them occurred.
    line = cohen_kappa_score(truth, predicted, weights=weights, labels=range(-3, 8))
    assert value("kappa", *given, weights=weights) == pytest.approx(line)
    assert value("kappa", *given, "label", labels, weights=weights) == pytest.approx(line)


def test_distances_of_words_are_those_of_the_tasks_order() -> None:
    labels = ("none", "mild", "severe", "fatal")
    truth, predicted = ("none", "mild", "fatal"), ("mild", "mild", "none")
    expected = cohen_kappa_score([0, 1, 3], [1, 1, 0], weights="quadratic", labels=range(4))
    assert value("qwk", truth, predicted, "label", labels) == pytest.approx(expected)


@pytest.mark.parametrize("weights", WEIGHTS)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12), st.integers(-5, 5))
def test_kappa_of_a_constant_is_zero_unless_it_is_the_truth(weights: str, truth: list[int], constant: int) -> None:
    expected = 1.0 if set(truth) == {constant} else 0.0
    assert value("kappa", truth, [constant] * len(truth), weights=weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_kappa_is_symmetric(weights: str, pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    assert value("kappa", first, second, weights=weights) == pytest.approx(
        value("kappa", second, first, weights=weights), abs=1e-12
    )


def test_one_prediction_far_away_leaves_the_distances_of_the_others() -> None:
    low, high = -(2**63), 2**63 - 1
    assert value("qwk", (3, 4, 5, 4), (3, 4, 5, low)) == pytest.approx(0, abs=1e-9)
    assert value("qwk", (3, 4, 5, 4), (high, 4, 5, 4)) == pytest.approx(0, abs=1e-9)
    # The same four predictions, each a little off: 1 - 4/4 / (2/4 + 2/4 + 1), with or without 2^62 in front.
    for origin in (0, 2**62):
        truth = [origin + step for step in (3, 4, 5, 4)]
        assert value("qwk", truth, [true + 1 for true in truth]) == pytest.approx(0.5)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.integers(0, 3))
def test_mcc_of_a_constant_is_zero(truth: list[int], constant: int) -> None:
    if len(set(truth)) == 1:
        with pytest.raises(PackError, match="one class only"):
            value("mcc", truth, [constant] * len(truth))
    else:
        assert value("mcc", truth, [constant] * len(truth)) == 0.0


def test_mcc_of_many_rows_does_not_overflow() -> None:
    mcc = metrics.get("mcc").function
    truth = np.tile([0, 1], 100_000)
    assert mcc(truth, truth, classes=("0", "1")) == 1.0
    assert mcc(truth, 1 - truth, classes=("0", "1")) == -1.0
