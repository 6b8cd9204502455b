from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score, precision_score, recall_score

from openmle_env.errors import PackError, UsageError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.graders.metrics.examples import Values
    from openmle_env.types import ColumnKind


def fbeta(
    truth: Values,
    predicted: Values,
    kind: ColumnKind = "integer",
    classes: tuple[str, ...] = (),
    name: str = "fbeta",
    **parameters: object,
) -> float:
    golden = Golden(kind=kind, labels=classes, truth=truth, predicted=predicted, parameters=parameters, score=0)
    used, true, found = metrics.get(name, parameters).example(golden)
    return used(true, found)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("average", ["binary", "macro", "micro", "weighted"])
@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_agrees_with_scikit_learn(seed: int, average: str, beta: float) -> None:
    rng = np.random.default_rng(seed)
    classes = 2 if average == "binary" else 6
    truth = np.concatenate(([1, 2 % classes], rng.integers(0, classes, 20)))
    predicted = np.where(rng.random(22) < 0.5, truth, rng.integers(0, classes, 22))
    expected = fbeta_score(truth, predicted, beta=beta, average=average)
    given = (truth.tolist(), predicted.tolist())
    assert fbeta(*given, beta=beta, average=average) == pytest.approx(expected)
    # Classes of the task that do not occur change nothing, if they are left out.
    labels = tuple("9876543210")
    assert fbeta(*given, "label", labels, beta=beta, average=average, positive="1") == pytest.approx(expected)
    if average != "binary":
        subset = fbeta_score(truth, predicted, beta=beta, average=average, labels=[2, 1])
        assert fbeta(*given, beta=beta, average=average, labels="2,1") == pytest.approx(subset)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("average", ["binary", "macro", "micro", "weighted"])
@pytest.mark.parametrize(("name", "function"), [("precision", precision_score), ("recall", recall_score)])
def test_precision_and_recall_agree_with_scikit_learn(
    seed: int, average: str, name: str, function: Callable[..., float]
) -> None:
    rng = np.random.default_rng(seed)
    classes = 2 if average == "binary" else 5
    # One class is never predicted, and, unless there are two only, one is predicted that the truth does not hold.
    truth = np.concatenate(([1, 2 % classes], rng.integers(0, min(classes, 4), 12)))
    predicted = rng.integers(1, classes, 14)
    expected = function(truth, predicted, average=average, zero_division=0)
    given = (truth.tolist(), predicted.tolist())
    assert fbeta(*given, name=name, average=average) == pytest.approx(expected)
    assert fbeta(*given, "label", tuple("9876543210"), name, average=average, positive="1") == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=15))
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_precision_and_recall_are_the_limits_of_fbeta(average: str, pairs: list[tuple[int, int]]) -> None:
    truth, predicted = zip(*pairs, strict=True)
    for name, beta in (("precision", 0.001), ("recall", 1000)):
        limit = fbeta(truth, predicted, beta=beta, average=average)
        assert fbeta(truth, predicted, name=name, average=average) == pytest.approx(limit, abs=1e-4)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=15))
def test_micro_over_all_classes_is_accuracy(pairs: list[tuple[int, int]]) -> None:
    truth, predicted = zip(*pairs, strict=True)
    right = sum(a == b for a, b in pairs) / len(pairs)
    assert fbeta(truth, predicted, name="f1_micro") == pytest.approx(right)


@pytest.mark.parametrize(
    ("kind", "classes", "truth", "predicted"),
    [
        ("label", ("yes", "no"), ("yes", "yes", "no"), ("yes", "no", "no")),
        ("label", ("False", "True"), ("True", "True", "False"), ("1", "0", "no")),
        ("text", (), ("yes", "yes", "no"), ("yes", "perhaps", "no")),
        ("integer", (), (1, 1, 0), (1, 0, 0)),
        ("integer", (), (1, 1, 0), (1, 7, 0)),
        ("integer", (), (1, 1, 2), (1, 2, 2)),
        ("text", (), ("yes", "yes"), ("yes", "perhaps")),
        ("text", (), ("yes", "yes"), ("yes", "no")),
        ("label", ("yes", "no", "perhaps"), ("yes", "yes"), ("perhaps", "yes")),
    ],
)
def test_the_positive_class_is_the_yes_or_the_1(
    kind: ColumnKind, classes: tuple[str, ...], truth: Values, predicted: Values
) -> None:
    assert fbeta(truth, predicted, kind, classes) == pytest.approx(2 / 3)  # 1 TP, 1 FN


@pytest.mark.parametrize(
    ("kind", "classes", "truth"),
    [
        ("text", (), ("a", "b")),
        ("text", (), ("no", "no")),
        ("integer", (), (0, 1, 2)),
        ("label", ("a", "b", "c"), ("a", "b", "c")),
    ],
)
def test_no_positive_class_by_itself(kind: ColumnKind, classes: tuple[str, ...], truth: Values) -> None:
    with pytest.raises(PackError, match="parameter positive"):
        fbeta(truth, truth, kind, classes)


@pytest.mark.parametrize(
    "parameters",
    [
        {"positive": "spma"},
        {"average": "macro", "labels": ("ham", "spma")},
        {"average": "micro", "labels": ("spma",)},
        {"average": "weighted", "labels": ("spma",)},
    ],
)
@pytest.mark.parametrize("predicted", [("spam", "ham"), ("ham", "spma")])
def test_a_class_that_the_truth_does_not_hold_is_the_tasks_fault_whatever_was_predicted(
    parameters: dict[str, Any], predicted: tuple[str, str]
) -> None:
    with pytest.raises(PackError, match="'spma'"):
        fbeta(("spam", "ham"), predicted, "text", **parameters)


def test_a_truth_without_positives_is_the_tasks_fault_whatever_was_predicted() -> None:
    for predicted in ((0, 0), (0, 1)):
        with pytest.raises(PackError, match="'1'"):
            fbeta((0, 0), predicted)


def test_a_class_that_is_predicted_only_costs_its_place_in_the_macro_mean() -> None:
    assert fbeta(("a", "a"), ("a", "b"), "text", name="f1_macro") == pytest.approx((2 / 3 + 0) / 2)


def test_several_targets_are_averaged() -> None:
    assert fbeta(((1, 1), (0, 1)), ((1, 0), (0, 1))) == pytest.approx((1 + 2 / 3) / 2)


def test_beta_is_above_zero() -> None:
    for beta in (0, 1e-200):  # of the latter, the square is 0
        with pytest.raises(UsageError, match=r"at least 0\.001"):
            metrics.get("fbeta", {"beta": beta})


def test_the_average_over_rows_has_other_metrics() -> None:
    with pytest.raises(UsageError, match=r"samples, is that of multilabel_fbeta .* and multilabel_columns_fbeta"):
        metrics.get("fbeta", {"average": "samples"})
