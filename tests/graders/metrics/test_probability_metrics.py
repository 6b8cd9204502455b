from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr
from sklearn import metrics as sklearn_metrics

from openmle_env.errors import PackError, UsageError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.graders.metrics.examples import Value, Values
    from openmle_env.graders.rows import Array

PROBABILITY = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5000001, 0.9, 1.0]) | st.floats(0, 1)


def example(
    truth: Values,
    predicted: Values,
    answers: Mapping[str, Sequence[Value]] | None = None,
    names: tuple[str, ...] = (),
    **parameters: object,
) -> Golden:
    return Golden(
        truth=truth, predicted=predicted, score=0.0, names=names, parameters=parameters, answers=answers or {}
    )


def value(name: str, golden: Golden) -> float:
    used, truth, predicted = metrics.get(name).example(golden)
    assert not used.problems(predicted, truth)
    return used(truth, predicted)


def faults(name: str, golden: Golden) -> tuple[str, ...]:
    used, truth, predicted = metrics.get(name).example(golden)
    return tuple(message for problem in used.problems(predicted, truth) for message in problem.examples)


def rows(array: Array) -> list[tuple[float, ...]]:
    return [tuple(row) for row in array.tolist()]


def distributions(rng: np.random.Generator, count: int, classes: int) -> Array:
    drawn = rng.integers(0, 5, (count, classes)) + np.eye(classes)[rng.integers(0, classes, count)]
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(10))
def test_binary_metrics_agree_with_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(0, 2, 40), rng.integers(0, 11, 40) / 10
    weights = rng.integers(0, 4, 40)
    weighted = example(truth.tolist(), predicted.tolist(), {"w": weights.tolist()}, weight="w")
    inside = predicted.clip(0.05, 0.95)
    assert value(
        "log_loss", example(truth.tolist(), inside.tolist(), {"w": weights.tolist()}, weight="w")
    ) == pytest.approx(sklearn_metrics.log_loss(truth, inside, sample_weight=weights, labels=[0, 1]))
    assert value("brier", weighted) == pytest.approx(
        sklearn_metrics.brier_score_loss(truth, predicted, sample_weight=weights)
    )


@pytest.mark.parametrize("seed", range(10))
def test_multiclass_metrics_agree_with_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes, predicted = rng.integers(0, 3, 30), distributions(rng, 30, 4)
    one_hot = np.eye(4, dtype=int)[codes]  # the last class never occurs
    weights = rng.integers(0, 4, 30)
    golden = example(rows(one_hot), rows(predicted), {"w": weights.tolist()}, weight="w", clip=2.0**-52)
    assert value("multiclass_log_loss", golden) == pytest.approx(
        sklearn_metrics.log_loss(codes, predicted, sample_weight=weights, labels=range(4))
    )
    golden = example(rows(one_hot), rows(predicted), {"w": weights.tolist()}, weight="w")
    squares = ((predicted - one_hot) ** 2).sum(axis=1)
    assert value("multiclass_brier", golden) == pytest.approx(np.average(squares, weights=weights))


@pytest.mark.parametrize("seed", range(10))
def test_divergence_agrees_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, predicted = distributions(rng, 20, 3), distributions(rng, 20, 3).clip(0.01)
    predicted /= predicted.sum(axis=1, keepdims=True)
    expected = rel_entr(truth, predicted).sum(axis=1).mean()
    assert value("kl_divergence", example(rows(truth), rows(predicted))) == pytest.approx(expected)
    assert value("kl_divergence", example(rows(truth), rows(truth))) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("side", [0, 1])
def test_certain_and_wrong_costs_the_same_on_both_sides(side: int) -> None:
    # 34.539 a row: the constant of the competitions, whatever a library does.
    assert value("log_loss", example([side], [1.0 - side])) == -math.log(1e-15)
    one_hot = [(1 - side, side)]
    assert value("multiclass_log_loss", example(one_hot, [(side, 1 - side)])) == -math.log(1e-15)


def test_classes_come_from_the_task() -> None:
    assert value("log_loss", example([1, 1, 1], [0.0, 0.0, 0.0])) > 34
    assert value("log_loss", example([1, 1, 1], [1.0, 1.0, 1.0])) < 1e-14
    two_of_three = example([(1, 0, 0), (0, 1, 0)], [(0.5, 0.25, 0.25), (0.25, 0.5, 0.25)])
    assert value("multiclass_log_loss", two_of_three) == pytest.approx(math.log(2))


@pytest.mark.parametrize("name", ["multiclass_log_loss", "multiclass_brier", "roc_auc_ovr"])
def test_columns_are_matched_by_name(name: str) -> None:
    # Twelve classes in numeric and in shuffled order; sorting them as text would put 10 before 2.
    rng = np.random.default_rng(0)
    classes = [str(i) for i in range(12)]
    predicted = distributions(rng, 24, 12)
    truth = [str(i % 12) for i in range(24)]
    scores = []
    for order in (np.arange(12), rng.permutation(12)):
        golden = example(
            (), rows(predicted[:, order]), {"digit": truth}, tuple(classes[i] for i in order), truth_column="digit"
        )
        scores.append(value(name, golden))
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)
    one_hot = np.array([[int(c == t) for c in classes] for t in truth])
    assert value(name, example(rows(one_hot), rows(predicted), names=tuple(classes))) == pytest.approx(scores[0])


@given(st.lists(st.tuples(*[st.integers(0, 10)] * 3).filter(any), min_size=1, max_size=6))
def test_rows_are_rescaled_before_clipping(shares: list[tuple[int, ...]]) -> None:
    truth = [(1, 0, 0)] * len(shares)
    for name in ("multiclass_log_loss", "multiclass_brier", "kl_divergence"):
        large, small = ([tuple(share / size for share in row) for row in shares] for size in (10, 70))
        assert value(name, example(truth, large)) == pytest.approx(value(name, example(truth, small)), abs=1e-12)


@pytest.mark.parametrize("name", ["multiclass_log_loss", "multiclass_brier", "kl_divergence"])
def test_a_row_of_zeros_is_refused(name: str) -> None:
    golden = example([(1, 0), (1, 0)], [(0.5, 0.5), (0, 0)])
    assert faults(name, golden) == ("id '1': the probabilities of the row are all 0",)


def test_rows_that_do_not_add_to_one_are_refused_where_the_task_says_so() -> None:
    golden = example([(1, 0), (1, 0), (1, 0)], [(0.7, 0.4), (0.7, 0.3000000001), (0, 0)], rescale=False)
    assert faults("multiclass_log_loss", golden) == (
        "id '0': the probabilities of the row do not add to 1",
        "id '2': the probabilities of the row are all 0",
    )
    unscaled = example([(1, 0)], [(0.5, 0.4999999)], rescale=False)
    assert value("multiclass_log_loss", unscaled) == math.log(2)


@pytest.mark.parametrize(
    ("golden", "message"),
    [
        (example([(1, 1)], [(0.5, 0.5)]), "exactly one true class"),
        (example([(0, 0)], [(0.5, 0.5)]), "exactly one true class"),
        (example([(1, 0)], [(0.5, 0.5)], class_weights=(1, 1, 1)), "3 class_weights for 2 classes"),
        (example([(1, 0)], [(0.5, 0.5)], class_weights=(0, 1)), "class_weights of all classes that occur are 0"),
        (example([(1, 0)], [(0.5, 0.5)], {"w": [0]}, weight="w"), "all are 0"),
        (example([(1, 0)] * 2, [(0.5, 0.5)] * 2, {"w": [2, -1]}, weight="w"), "negative"),
    ],
)
def test_answers_on_which_log_loss_is_undefined(golden: Golden, message: str) -> None:
    with pytest.raises(PackError, match=message):
        value("multiclass_log_loss", golden)


def test_equal_class_weights_balance_the_classes() -> None:
    golden = example([(1, 0), (1, 0), (1, 0), (0, 1)], [(0.8, 0.2)] * 4, class_weights=(1, 1))
    assert value("multiclass_log_loss", golden) == pytest.approx((-math.log(0.8) - math.log(0.2)) / 2)


@pytest.mark.parametrize("clip", [0, 0.2, -1])
def test_a_clip_that_is_none(clip: float) -> None:
    with pytest.raises(UsageError, match="clip"):
        metrics.get("log_loss", {"clip": clip})


@pytest.mark.parametrize("truth", [[(-1, 2)], [(0, 0)]])
def test_answers_that_are_no_distribution(truth: Values) -> None:
    with pytest.raises(PackError, match="no distribution"):
        value("kl_divergence", example(truth, [(0.5, 0.5)]))


@given(st.lists(st.tuples(st.integers(0, 1), PROBABILITY), min_size=1, max_size=20), st.integers(1, 12))
def test_calibration_error_by_counting(pairs: list[tuple[int, float]], bins: int) -> None:
    expected = 0.0
    for k in range(bins):
        inside = [(y, p) for y, p in pairs if (k / bins < p or k == 0) and (p <= (k + 1) / bins)]
        expected += abs(sum(p for _, p in inside) - sum(y for y, _ in inside)) / len(pairs)
    found = value("ece", example([y for y, _ in pairs], [p for _, p in pairs], bins=bins))
    assert found == pytest.approx(expected, abs=1e-12)


def test_probabilistic_f_without_ones_is_undefined() -> None:
    with pytest.raises(PackError, match="none of the answers"):
        value("probabilistic_f1", example([0, 0], [0.5, 0.5]))


@given(
    st.lists(st.tuples(st.integers(0, 1), st.floats(-2, 2)), min_size=1, max_size=12).filter(
        lambda pairs: any(y for y, _ in pairs)
    ),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_probabilistic_f_is_the_formula_of_precision_and_recall(pairs: list[tuple[int, float]], beta: float) -> None:
    shares = [(y, min(max(p, 0.0), 1.0)) for y, p in pairs]
    found = sum(p for y, p in shares if y)
    expected = 0.0
    if found > 1e-300:
        precision, recall = found / sum(p for _, p in shares), found / sum(y for y, _ in shares)
        expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    golden = example([y for y, _ in pairs], [p for _, p in pairs], beta=beta)
    assert value("probabilistic_fbeta", golden) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("wrong", [0.1, 1e300])
def test_a_positive_log_probability_is_refused(wrong: float) -> None:
    assert faults("perplexity", example((), [-1.0, wrong])) == ("id '1': a log probability is at most 0",)


def test_rounding_of_a_log_probability_is_none() -> None:
    assert value("perplexity", example((), [1e-7, 0.0])) == 1.0


def test_perplexity_needs_tokens() -> None:
    with pytest.raises(PackError, match="below 1"):
        value("perplexity", example((), [-1.0], {"n": [0]}, tokens="n"))


def test_perplexity_is_the_exponential_of_the_log_loss() -> None:
    chosen = [0.5, 0.25, 0.9]
    one_hot, predicted = [(1, 0)] * 3, [(p, 1 - p) for p in chosen]
    logs = [math.log(p) for p in chosen]
    expected = math.exp(value("multiclass_log_loss", example(one_hot, predicted)))
    assert value("perplexity", example((), logs)) == pytest.approx(expected)


def test_numbers_of_tokens_do_not_overflow() -> None:
    golden = example((), [-1.0, -1e308], {"n": [2**62, 2**62]}, tokens="n")
    assert value("perplexity", golden) == pytest.approx(1e50)  # half of the tokens are as improbable as can be


def test_votes_do_not_overflow() -> None:
    golden = example([(1e308, 1e308)], [(0.25, 0.75)])
    assert value("kl_divergence", golden) == pytest.approx(-(math.log(0.5) + math.log(1.5)) / 2)


@pytest.mark.parametrize(("name", "parameter"), [("kl_divergence", "clip"), ("probabilistic_fbeta", "beta")])
def test_parameters_that_would_overflow(name: str, parameter: str) -> None:
    with pytest.raises(UsageError, match=parameter):
        metrics.get(name, {parameter: 5e-324})
