from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import accuracy_score, fbeta_score, hamming_loss, jaccard_score

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden

if TYPE_CHECKING:
    from openmle_env.graders.metrics.examples import Values
    from openmle_env.graders.rows import Array
    from openmle_env.types import ColumnKind

NAMES = ["multilabel_columns_fbeta", "multilabel_columns_jaccard"]
AVERAGES = ["samples", "micro", "macro", "weighted"]
SHAPES = st.tuples(st.integers(1, 6), st.integers(2, 4))
PAIRS = SHAPES.flatmap(lambda shape: st.tuples(*[arrays(np.int64, shape, elements=st.integers(0, 1))] * 2))


def value(
    name: str,
    truth: Array | Values,
    predicted: Array | Values,
    kind: ColumnKind = "integer",
    labels: tuple[str, ...] = (),
    **parameters: object,
) -> float:
    used, true, found = metrics.get(name).example(
        Golden(
            kind=kind,
            labels=labels,
            truth=[tuple(row) for row in truth],  # type: ignore[arg-type]
            predicted=[tuple(row) for row in predicted],  # type: ignore[arg-type]
            parameters=parameters,
            score=0,
        )
    )
    assert not used.problems(found, true)
    return used(true, found)


def drawn(seed: int) -> tuple[Array, Array]:
    """Truth and predictions, in which rows and columns without a 1 are not rare."""
    rng = np.random.default_rng(seed)
    shape = (rng.integers(2, 8), rng.integers(2, 5))
    truth, predicted = (rng.random(shape) < 0.3).astype(int), (rng.random(shape) < 0.3).astype(int)
    truth[0, 0] = 1
    return truth, predicted


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize(("rule", "peers"), [("one", 1.0), ("zero", 0.0), ("skip", np.nan)])
def test_agrees_with_scikit_learn(seed: int, average: str, rule: str, peers: float) -> None:
    truth, predicted = drawn(seed)
    given: dict[str, Any] = {"average": average, "zero_division": rule}
    for beta in (0.5, 2):
        expected = fbeta_score(truth, predicted, beta=beta, average=average, zero_division=peers)
        assert value("multilabel_columns_fbeta", truth, predicted, beta=beta, **given) == pytest.approx(expected)
    if rule != "skip":  # which scikit-learn has not here
        expected = jaccard_score(truth, predicted, average=average, zero_division=peers)
        assert value("multilabel_columns_jaccard", truth, predicted, **given) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(10))
def test_hamming_loss_and_subset_accuracy_agree_with_scikit_learn(seed: int) -> None:
    truth, predicted = drawn(seed)
    assert value("hamming_loss", truth, predicted) == pytest.approx(hamming_loss(truth, predicted))
    predicted[: len(truth) // 2] = truth[: len(truth) // 2]
    assert value("subset_accuracy", truth, predicted) == pytest.approx(accuracy_score(truth, predicted))


@given(PAIRS)
@pytest.mark.parametrize("name", ["fbeta", "jaccard"])
def test_sets_in_one_cell_have_the_same_value(name: str, pair: tuple[Array, Array]) -> None:
    cells = [[" ".join(str(i) for i in np.flatnonzero(row)) for row in side] for side in pair]
    sets = {"fbeta": "multilabel_fbeta", "jaccard": "jaccard"}[name]
    used, true, found = metrics.get(sets).example(Golden(truth=cells[0], predicted=cells[1], score=0))
    assert value(f"multilabel_columns_{name}", *pair) == pytest.approx(used(true, found))


@given(PAIRS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("average", AVERAGES)
def test_the_truth_itself_scores_1_and_the_fault_is_the_truths_alone(
    name: str, average: str, pair: tuple[Array, Array]
) -> None:
    truth, predicted = pair
    for rule in ("one", "skip"):
        given: dict[str, Any] = {"average": average, "zero_division": rule}
        if truth.any() or (average == "samples" and rule == "one"):
            assert value(name, truth, truth, **given) == 1.0
            assert 0 <= value(name, truth, predicted, **given) <= 1
        else:
            for found in pair:
                with pytest.raises(PackError, match="holds no label"):
                    value(name, truth, found, **given)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("labels", [("yes", "no"), ("False", "True"), ("0", "1"), ("1", "0")])
def test_a_yes_is_a_1_wherever_it_is_listed(name: str, labels: tuple[str, str]) -> None:
    truth, predicted = np.array([[1, 0, 0], [1, 1, 0]]), np.array([[1, 1, 0], [0, 1, 0]])
    yes = next(label for label in labels if label in {"yes", "True", "1"})
    no = next(label for label in labels if label != yes)
    true, found = (np.where(side == 1, yes, no).tolist() for side in (truth, predicted))
    assert value(name, true, found, "label", labels) == pytest.approx(value(name, truth, predicted))


@pytest.mark.parametrize("name", NAMES)
def test_labels_that_are_no_yes_and_no_are_refused(name: str) -> None:
    with pytest.raises(PackError, match="a yes and a no, such as 0 and 1; column 'target0' has a, b"):
        value(name, [(0, 1)], [("a", "b")], "label", ("a", "b"))


@pytest.mark.parametrize("name", NAMES)
def test_a_number_that_is_neither_0_nor_1_is_refused(name: str) -> None:
    used, true, found = metrics.get(name).example(
        Golden(kind="integer", truth=((0, 1), (1, 1)), predicted=((0, 1), (1, 2)), score=0)
    )
    [problem] = used.problems(found, true)
    assert problem.examples == ("id '1': a label is neither 0 nor 1",)
