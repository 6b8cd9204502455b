from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn import metrics as sklearn_metrics

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden
from openmle_env.graders.metrics.clustering import MAX_CLASSES

if TYPE_CHECKING:
    from openmle_env.graders.metrics.examples import Values
    from openmle_env.types import ColumnKind

NAMES = ["adjusted_rand", "nmi", "homogeneity", "v_measure", "clustering_accuracy"]
PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20)


def value(name: str, truth: Values, predicted: Values, kind: ColumnKind = "integer", **parameters: object) -> float:
    golden = Golden(kind=kind, truth=truth, predicted=predicted, parameters=parameters, score=0)
    used, true, found = metrics.get(name, parameters).example(golden)
    return used(true, found)


@given(PAIRS)
def test_agrees_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, predicted = zip(*pairs, strict=True)
    expected = {
        "adjusted_rand": sklearn_metrics.adjusted_rand_score,
        "nmi": sklearn_metrics.normalized_mutual_info_score,
        "homogeneity": sklearn_metrics.homogeneity_score,
        "v_measure": sklearn_metrics.v_measure_score,
    }
    for name, function in expected.items():
        assert value(name, truth, predicted) == pytest.approx(function(truth, predicted), abs=1e-9), name
    weighted = sklearn_metrics.v_measure_score(truth, predicted, beta=0.3)
    assert value("v_measure", truth, predicted, beta=0.3) == pytest.approx(weighted, abs=1e-9)


@given(PAIRS)
def test_clustering_accuracy_tries_every_assignment(pairs: list[tuple[int, int]]) -> None:
    truth, predicted = zip(*pairs, strict=True)
    best = max(sum(order[b] == a for a, b in pairs) for order in permutations(range(5)))
    assert value("clustering_accuracy", truth, predicted) == pytest.approx(best / len(pairs))


@pytest.mark.parametrize(("classes", "clusters"), [(30, 30), (5, 200), (200, 5)])
def test_clustering_accuracy_agrees_with_a_dense_assignment(classes: int, clusters: int) -> None:
    rng = np.random.default_rng(classes)
    truth, predicted = rng.integers(0, classes, 2_000), rng.integers(0, clusters, 2_000)
    table = np.zeros((classes, clusters))
    np.add.at(table, (truth, predicted), 1)
    best = table[linear_sum_assignment(table, maximize=True)].sum() / 2_000
    assert value("clustering_accuracy", truth.tolist(), predicted.tolist()) == pytest.approx(best)


@pytest.mark.parametrize("name", NAMES)
@given(PAIRS)
def test_names_of_clusters_do_not_matter(name: str, pairs: list[tuple[int, int]]) -> None:
    truth, predicted = zip(*pairs, strict=True)
    renamed = [f"cluster {7 - cluster}" for cluster in predicted]
    words = [f"class {true}" for true in truth]
    assert value(name, words, renamed, "text") == pytest.approx(value(name, truth, predicted), abs=1e-12)
    assert value(name, truth, [9 - true for true in truth]) == 1.0


@pytest.mark.parametrize("name", ["adjusted_rand", "nmi", "homogeneity", "v_measure"])
@given(st.lists(st.integers(0, 3), min_size=2, max_size=20).filter(lambda truth: len(set(truth)) > 1))
def test_one_cluster_scores_0(name: str, truth: list[int]) -> None:
    assert value(name, truth, [1] * len(truth)) == 0.0


def test_many_clusters_take_memory_of_the_rows_only() -> None:
    # A table of 2,000 classes by 200,000 clusters would take 3 GB.
    truth = np.arange(200_000) % 2_000
    assert metrics.get("clustering_accuracy").function(truth, np.arange(200_000)) == 0.01
    assert metrics.get("adjusted_rand").function(truth, np.arange(200_000)) == 0.0


def test_more_classes_than_can_be_matched_are_a_fault_of_the_task() -> None:
    truth = np.arange(MAX_CLASSES + 1)
    function = metrics.get("clustering_accuracy").function
    assert function(truth[1:], truth[1:]) == 1.0
    with pytest.raises(PackError, match="adjusted_rand or nmi"):
        function(truth, np.zeros_like(truth))
