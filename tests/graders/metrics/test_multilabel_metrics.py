from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score, jaccard_score
from sklearn.preprocessing import MultiLabelBinarizer

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden
from openmle_env.graders.metrics.tokens import MAX_CHARACTERS

if TYPE_CHECKING:
    from random import Random

    from openmle_env.graders.metrics.examples import Values

SETS = st.lists(
    st.tuples(st.sets(st.sampled_from("abcde")), st.sets(st.sampled_from("abcde"))), min_size=1, max_size=10
)


def value(name: str, truth: Values, predicted: Values, **parameters: object) -> float:
    golden = Golden(truth=truth, predicted=predicted, parameters=parameters, score=0)
    used, true, found = metrics.get(name, parameters).example(golden)
    return used(true, found)


def drawn(seed: int) -> tuple[list[set[str]], list[set[str]]]:
    """True and predicted sets, none of the true ones empty."""
    rng = np.random.default_rng(seed)
    truth = [{*rng.choice(list("abcdefg"), 3)} for _ in range(20)]
    predicted = [{*rng.choice(list("abcdefgh"), 2), *list(true)[: rng.integers(0, 3)]} for true in truth]
    return truth, predicted


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("average", ["samples", "micro", "macro", "weighted"])
@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_fbeta_agrees_with_scikit_learn(seed: int, average: str, beta: float) -> None:
    truth, predicted = drawn(seed)
    binary = MultiLabelBinarizer().fit(truth + predicted)
    expected = fbeta_score(
        binary.transform(truth), binary.transform(predicted), beta=beta, average=average, zero_division=0
    )
    cells = [" ".join(labels) for labels in truth], [" ".join(labels) for labels in predicted]
    assert value("multilabel_fbeta", *cells, beta=beta, average=average) == pytest.approx(expected)
    known = MultiLabelBinarizer().fit(truth)
    kept = [labels & set(known.classes_) for labels in predicted]
    peers = fbeta_score(known.transform(truth), known.transform(kept), beta=beta, average=average, zero_division=0)
    assert value("multilabel_fbeta", *cells, beta=beta, average=average, compat="mlebench") == pytest.approx(peers)


@pytest.mark.parametrize("seed", range(10))
def test_jaccard_agrees_with_scikit_learn(seed: int) -> None:
    truth, predicted = drawn(seed)
    binary = MultiLabelBinarizer().fit(truth + predicted)
    true, found = binary.transform(truth), binary.transform(predicted)
    cells = [" ".join(labels) for labels in truth], [" ".join(labels) for labels in predicted]
    assert value("jaccard", *cells) == pytest.approx(jaccard_score(true, found, average="samples"))


@given(SETS, st.randoms(use_true_random=False))
@pytest.mark.parametrize("name", ["multilabel_fbeta", "jaccard"])
def test_order_and_repetition_of_labels_do_not_matter(
    name: str, sets: list[tuple[set[str], set[str]]], random: Random
) -> None:
    def written(labels: set[str]) -> str:
        repeated = [*labels, *labels]
        random.shuffle(repeated)
        return "  ".join(repeated)

    plain = value(name, [" ".join(sorted(a)) for a, _ in sets], [" ".join(sorted(b)) for _, b in sets])
    assert value(name, [written(a) for a, _ in sets], [written(b) for _, b in sets]) == pytest.approx(plain)


@given(SETS)
def test_the_truth_itself_scores_1(sets: list[tuple[set[str], set[str]]]) -> None:
    truth = [" ".join(labels) for labels, _ in sets]
    assert value("jaccard", truth, truth) == 1.0
    assert value("multilabel_fbeta", truth, truth) == 1.0
    for average in ("micro", "macro", "weighted"):
        if any(truth):
            assert value("multilabel_fbeta", truth, truth, average=average) == 1.0
        else:
            with pytest.raises(PackError, match="no label"):
                value("multilabel_fbeta", truth, truth, average=average)


@pytest.mark.parametrize(
    ("average", "score"),
    [
        ("samples", (2 / 3 + 1) / 2),
        ("micro", 4 / 5),  # 2 TP of 2 true and 3 predicted labels
        ("macro", 2 / 3),  # 1 for a and b, 0 for x
        ("weighted", 1.0),  # of x there are none in the truth
    ],
)
def test_what_a_label_costs_that_the_truth_holds_nowhere(average: str, score: float) -> None:
    truth, predicted = ["a", "b"], ["a x", "b"]
    assert value("multilabel_fbeta", truth, predicted, average=average) == pytest.approx(score)
    assert value("multilabel_fbeta", truth, predicted, average=average, compat="mlebench") == 1.0


@pytest.mark.parametrize("name", ["multilabel_fbeta", "jaccard"])
def test_a_set_that_is_too_long_is_refused(name: str) -> None:
    used, true, found = metrics.get(name).example(
        Golden(truth=("a", "b"), predicted=("a", "b " * MAX_CHARACTERS), score=0)
    )
    [problem] = used.problems(found, true)
    assert problem.count == 1
    assert "write less" in problem.message


@pytest.mark.parametrize("name", ["multilabel_fbeta", "jaccard"])
def test_a_column_for_each_label_is_not_read_as_sets(name: str) -> None:
    # Else 0 and 1 would be labels, and each wrong cell a whole set.
    with pytest.raises(PackError, match="needs 1 target column"):
        value(name, (("0", "1"), ("1", "1")), (("0", "1"), ("1", "0")))
