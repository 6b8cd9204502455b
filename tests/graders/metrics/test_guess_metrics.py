from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import top_k_accuracy_score

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden
from openmle_env.graders.metrics.tokens import MAX_CHARACTERS


def top_k_accuracy(truth: list[int], scores: list[list[float]], k: int, *, by_name: bool = False) -> float:
    classes = len(scores[0])
    names = tuple(f"class_{code}" for code in range(classes))
    golden = Golden(
        kind="number",
        names=names,
        truth=[tuple(int(code == true) for code in range(classes)) for true in truth],
        predicted=[tuple(row) for row in scores],
        parameters={"k": k, "truth_column": "species"} if by_name else {"k": k},
        answers={"species": [names[true] for true in truth]},
        score=0,
    )
    used, true, found = metrics.get("top_k_accuracy").example(golden)
    return used(true, found)


def top_k_error(truth: list[str], predicted: list[str], k: int = 1) -> float:
    used, true, found = metrics.get("top_k_error", {"k": k}).example(
        Golden(truth=truth, predicted=predicted, parameters={"k": k}, score=0)
    )
    return used(true, found)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("by_name", [False, True])
def test_agrees_with_scikit_learn_without_ties(seed: int, k: int, by_name: bool) -> None:
    rng = np.random.default_rng(seed)
    truth, scores = rng.integers(0, 5, 30), rng.normal(size=(30, 5))
    expected = top_k_accuracy_score(truth, scores, k=k, labels=range(5))
    assert top_k_accuracy(truth.tolist(), scores.tolist(), k, by_name=by_name) == pytest.approx(expected)


@given(st.integers(2, 6).flatmap(lambda count: st.tuples(st.just(count), st.integers(1, count - 1))), st.data())
def test_a_constant_has_the_top_k_accuracy_of_chance(sizes: tuple[int, int], data: st.DataObject) -> None:
    count, k = sizes
    truth = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=6))
    level = data.draw(st.floats(-10, 10))
    assert top_k_accuracy(truth, [[level] * count] * len(truth), k) == pytest.approx(k / count)


@given(st.lists(st.integers(0, 2), min_size=4, max_size=4), st.integers(1, 3), st.integers(0, 3))
def test_ties_are_the_mean_over_their_orders(scores: list[int], k: int, true: int) -> None:
    ranked = [sorted(order, key=lambda code: -scores[code]) for order in permutations(range(4))]
    hits = sum(true in order[:k] for order in ranked)
    assert top_k_accuracy([true], [[float(score) for score in scores]], k) == pytest.approx(hits / len(ranked))


@pytest.mark.parametrize("row", [(0, 0, 0), (1, 1, 0)])
def test_a_row_needs_exactly_one_true_class(row: tuple[int, int, int]) -> None:
    used, true, found = metrics.get("top_k_accuracy").example(
        Golden(truth=((1, 0, 0), row), predicted=((1, 0, 0), (0, 1, 0)), score=0)
    )
    with pytest.raises(PackError, match="exactly one"):
        used(true, found)


def test_as_many_guesses_as_classes_are_refused() -> None:
    with pytest.raises(PackError, match="k=3 of 3 classes"):
        top_k_accuracy([0, 1], [[0.1, 0.2, 0.7]] * 2, 3)


def test_the_error_of_the_first_guess() -> None:
    # The peer's pair on iNaturalist 2019, with its value.
    assert top_k_error(["5", "6", "7"], ["5 6", "7 6", "7"]) == pytest.approx(0.33333333333333337)


def test_guesses_are_compared_as_they_are_written() -> None:
    assert top_k_error(["7", "7", "7"], ["07", "7.0", "\t7\n8"]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("truth", ["", "5 6"])
def test_a_truth_that_is_not_one_label(truth: str) -> None:
    with pytest.raises(PackError, match="one label"):
        top_k_error(["5", truth], ["5", "5"])


def test_a_list_that_is_too_long_is_refused() -> None:
    metric = metrics.get("top_k_error")
    used, true, found = metric.example(Golden(truth=("5", "6"), predicted=("5", "6 " * MAX_CHARACTERS), score=0))
    [problem] = used.problems(found, true)
    assert problem.count == 1
    assert "write less" in problem.message


def test_the_name_in_scikit_learn_has_its_default() -> None:
    assert metrics.get("top_k_accuracy_score").given == {"k": 2}
    assert metrics.get("top_k_accuracy_score", {"k": 3}).given == {"k": 3}
