from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

if TYPE_CHECKING:
    from openmle_env.graders.metrics.examples import Values
    from openmle_env.types import ColumnKind


def value(
    name: str,
    truth: Values,
    predicted: Values,
    kind: ColumnKind = "integer",
    labels: tuple[str, ...] = (),
    *,
    weights: tuple[float, ...] = (),
    **parameters: object,
) -> float:
    answers = {"w": weights} if weights else {}
    golden = Golden(
        kind=kind,
        labels=labels,
        truth=truth,
        predicted=predicted,
        parameters={**parameters, **({"weight": "w"} if weights else {})},
        answers=answers,
        score=0,
    )
    used, true, found = metrics.get(name).example(golden)
    return used(true, found)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("classes", [2, 5])
def test_agrees_with_scikit_learn(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, 40)
    predicted = np.where(rng.random(40) < 0.5, truth, rng.integers(0, classes, 40))
    weights = rng.integers(0, 4, 40)
    given = (truth.tolist(), predicted.tolist())
    weighted = tuple(weights.tolist())
    assert value("accuracy", *given) == pytest.approx(sklearn_metrics.accuracy_score(truth, predicted))
    assert value("accuracy", *given, weights=weighted) == pytest.approx(
        sklearn_metrics.accuracy_score(truth, predicted, sample_weight=weights)
    )
    assert value("balanced_accuracy", *given) == pytest.approx(
        sklearn_metrics.balanced_accuracy_score(truth, predicted)
    )
    for adjusted in (False, True):
        assert value("balanced_accuracy", *given, weights=weighted, adjusted=adjusted) == pytest.approx(
            sklearn_metrics.balanced_accuracy_score(truth, predicted, sample_weight=weights, adjusted=adjusted)
        )


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(0, 4))
def test_a_constant_has_the_balanced_accuracy_of_chance(truth: list[int], constant: int) -> None:
    held = set(truth)
    expected = 1 / len(held) if constant in held else 0
    assert value("balanced_accuracy", truth, [constant] * len(truth)) == pytest.approx(expected)


def test_balanced_accuracy_of_several_targets_is_their_mean() -> None:
    truth, predicted = ((0, 0), (0, 1)), ((0, 1), (0, 1))
    assert value("balanced_accuracy", truth, predicted) == (1 + 0.5) / 2
    assert value("accuracy", truth, predicted) == 0.5  # rows that are right in all columns


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("weights", [(1.0, -1.0), (0.0, 0.0)])
def test_weights_that_are_none(name: str, weights: tuple[float, ...]) -> None:
    with pytest.raises(PackError, match="weight"):
        value(name, (0, 1), (0, 1), weights=weights)


def test_adjusted_balanced_accuracy_of_one_class() -> None:
    assert value("balanced_accuracy", (1, 1), (1, 0)) == 0.5
    with pytest.raises(PackError, match="one class only"):
        value("balanced_accuracy", (1, 1), (1, 0), adjusted=True)


@pytest.mark.parametrize("truth", ["1", "0"])
def test_yes_and_no_in_any_spelling(truth: str) -> None:
    # The peer's pair on Spaceship Titanic in which 0 and 1 stand for False and True.
    score = value("accuracy", ("True", "False"), (truth, "False"), "label", ("False", "True"))
    assert score == (1.0 if truth == "1" else 0.5)
