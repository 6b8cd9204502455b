"""Metrics of clusters: whatever they are called, how well they are the classes of the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from openmle_env.types import ColumnKind

MAX_CLASSES = 20_000
"""The most classes that are matched with clusters, as the time grows with their square; these take a second or two."""

_KINDS: tuple[ColumnKind, ...] = ("integer", "label", "text")
_NAMES = "What clusters are called does not matter. Of several targets, the mean over the columns."
_TRIAL = Trial(
    kind="integer",
    truth=(0, 0, 1, 1, 2, 2),
    perfect=(7, 7, 5, 5, 6, 6),
    noisy=(7, 7, 5, 5, 6, 5),
    constant=(1, 1, 1, 1, 1, 1),
    chance=0.0,
)

# Two true classes of two; the second predicted cluster is cut into two. In natural logarithms:
# H(truth) = log 2, H(predicted) = 1.5 * log 2, information that they share = log 2.
_CUT = (0, 0, 1, 1), (0, 0, 1, 2)


@dataclass(frozen=True, slots=True)
class _Counts:
    """How many rows are of each class and cluster; only pairs that occur are held."""

    classes: Array
    """Rows of each class, shape (classes,), int64."""
    clusters: Array
    """Rows of each cluster, shape (clusters,), int64."""
    of_class: Array
    """Class of each pair, shape (pairs,)."""
    of_cluster: Array
    """Cluster of each pair, shape (pairs,)."""
    pairs: Array
    """Rows of each pair, shape (pairs,), int64."""

    @classmethod
    def of(cls, truth: Array, predicted: Array) -> _Counts:
        _, codes, classes = np.unique(truth, return_inverse=True, return_counts=True)
        _, found, clusters = np.unique(predicted, return_inverse=True, return_counts=True)
        cells, pairs = np.unique(codes * len(clusters) + found, return_counts=True)
        return cls(classes, clusters, cells // len(clusters), cells % len(clusters), pairs)

    def entropies(self) -> tuple[float, float, float]:
        """Entropy of the classes, of the clusters, and the information that they share; natural logarithms."""
        # Of identical partitions all three are equal to the last digit: equal terms, and sums that know no order.
        whole = math.log(self.classes.sum())
        of_classes, of_clusters = np.log(self.classes), np.log(self.clusters)
        rows = self.classes.sum()
        apart = np.log(self.pairs) - of_classes[self.of_class]
        return (
            max(math.fsum(self.classes / rows * (whole - of_classes)), 0.0),
            max(math.fsum(self.clusters / rows * (whole - of_clusters)), 0.0),
            max(math.fsum(self.pairs / rows * (apart + (whole - of_clusters[self.of_cluster]))), 0.0),
        )


@metric(
    higher_is_better=True,
    range=(-0.5, 1.0),
    kinds=_KINDS,
    source="(index - expected) / ((same_class + same_cluster) / 2 - expected), where index counts the pairs of rows "
    "that share their class and their cluster, and expected = same_class * same_cluster / all pairs (Hubert and "
    f"Arabie 1985; scikit-learn's adjusted_rand_score). {_NAMES}",
    degenerate="Where the formula is 0 / 0, both put all rows together, or each row alone: 1. Otherwise one cluster "
    "for all rows scores 0, and so does a cluster for each row.",
    golden=(
        Golden(
            truth=_CUT[0],
            predicted=_CUT[1],
            score=4 / 7,
            note="Pairs: 1 in both, 2 in the classes, 1 in the clusters, 6 in all: (1 - 1/3) / (3/2 - 1/3).",
        ),
        Golden(truth=(0, 0, 1, 1), predicted=(0, 1, 0, 1), score=-0.5, note="(0 - 2/3) / (2 - 2/3)."),
        Golden(kind="text", truth=("a", "a", "b"), predicted=("x", "x", "y"), score=1.0),
        Golden(truth=(0, 0, 0), predicted=(1, 1, 1), score=1.0, note="All together in both."),
        Golden(truth=(0, 1, 2), predicted=(5, 3, 4), score=1.0, note="Each alone in both."),
        Golden(truth=(0, 0, 1), predicted=(0, 1, 2), score=0.0, note="Each row alone."),
    ),
    trial=_TRIAL,
    any_names=True,
    aliases={"adjusted_rand_score": {}, "adjusted_rand_index": {}, "ari": {}},
)
def adjusted_rand(truth: Array, predicted: Array) -> float:
    """The share of pairs of rows that are rightly together or apart, corrected for chance."""
    counts = _Counts.of(truth, predicted)
    # Python integers: products of two counts of pairs do not fit into 64 bits.
    index, same_class, same_cluster, all_pairs = (
        int((sizes * (sizes - 1) // 2).sum())
        for sizes in (counts.pairs, counts.classes, counts.clusters, np.array([len(truth)]))
    )
    together = same_class * same_cluster
    spread = (same_class + same_cluster) * all_pairs - 2 * together
    return 2 * (index * all_pairs - together) / spread if spread else 1.0


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=_KINDS,
    source="I / ((H(truth) + H(predicted)) / 2), where H is the entropy and I the information that both share "
    f"(scikit-learn's normalized_mutual_info_score with its arithmetic mean). {_NAMES}",
    degenerate="One cluster for all rows scores 0, unless the truth, too, is one class: then 1. Clusters as small as "
    "one row are not punished as they are by adjusted_rand.",
    golden=(
        Golden(truth=_CUT[0], predicted=_CUT[1], score=0.8, note="1 / ((1 + 1.5) / 2)."),
        Golden(truth=(0, 0, 1, 1), predicted=(0, 1, 0, 1), score=0.0),
        Golden(kind="text", truth=("a", "a", "b"), predicted=("x", "x", "y"), score=1.0),
        Golden(truth=(0, 0), predicted=(1, 1), score=1.0),
        Golden(truth=(0, 0), predicted=(0, 1), score=0.0),
    ),
    trial=_TRIAL,
    any_names=True,
    aliases={"normalized_mutual_info_score": {}, "normalized_mutual_info": {}},
)
def nmi(truth: Array, predicted: Array) -> float:
    """The information that clusters and classes share, as a share of the mean of what each holds."""
    of_truth, of_predicted, shared = _Counts.of(truth, predicted).entropies()
    mean = (of_truth + of_predicted) / 2
    return shared / mean if mean else 1.0


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=_KINDS,
    source="I / H(truth): 1 where each cluster holds rows of one class only (Rosenberg and Hirschberg 2007; "
    f"scikit-learn's homogeneity_score). {_NAMES}",
    degenerate="One cluster for all rows scores 0, and a cluster for each row 1. A truth of one class scores 1.",
    golden=(
        Golden(truth=_CUT[0], predicted=_CUT[1], score=1.0),
        Golden(truth=_CUT[1], predicted=_CUT[0], score=2 / 3, note="1 / 1.5."),
        Golden(truth=(0, 0), predicted=(0, 1), score=1.0, note="One class."),
    ),
    trial=_TRIAL,
    any_names=True,
    aliases={"homogeneity_score": {}},
)
def homogeneity(truth: Array, predicted: Array) -> float:
    """How far each cluster holds rows of one class only."""
    of_truth, _, shared = _Counts.of(truth, predicted).entropies()
    return shared / of_truth if of_truth else 1.0


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=_KINDS,
    source="(1 + b) * h * c / (b * h + c), where h = I / H(truth) is homogeneity and c = I / H(predicted) is how far "
    "each class is in one cluster only (Rosenberg and Hirschberg 2007; scikit-learn's v_measure_score). With b = 1 it "
    f"is nmi. {_NAMES}",
    degenerate="One cluster for all rows scores 0, unless the truth, too, is one class: then 1. An h or c that is 0 / "
    "0 is 1.",
    golden=(
        Golden(truth=_CUT[0], predicted=_CUT[1], score=0.8, note="h = 1, c = 2/3."),
        Golden(
            truth=_CUT[0], predicted=_CUT[1], parameters={"beta": 0.5}, score=6 / 7, note="1.5 * 2/3 / (0.5 + 2/3)."
        ),
        Golden(truth=(0, 0), predicted=(1, 1), score=1.0),
        Golden(truth=(0, 0), predicted=(0, 1), score=0.0),
    ),
    trial=_TRIAL,
    any_names=True,
    aliases={"v_measure_score": {}},
)
def v_measure(
    truth: Array,
    predicted: Array,
    *,
    beta: Annotated[float, Option("How much completeness weighs against homogeneity.", above=0, high=1000)] = 1.0,
) -> float:
    """The weighted harmonic mean of how far clusters hold one class only and classes one cluster only."""
    of_truth, of_predicted, shared = _Counts.of(truth, predicted).entropies()
    homogeneous = shared / of_truth if of_truth else 1.0
    complete = shared / of_predicted if of_predicted else 1.0
    if not homogeneous + complete:
        return 0.0
    return (1 + beta) * homogeneous * complete / (beta * homogeneous + complete)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=_KINDS,
    source="Share of rows whose cluster stands for their class, for the best way to give each class a cluster of its "
    f"own (Yang et al. 2010; an assignment problem). {_NAMES}",
    degenerate="One cluster for all rows scores the share of the largest class. Clusters beyond the number of classes "
    "stand for none, so that a cluster for each row scores classes / rows. A truth of more than "
    f"{MAX_CLASSES:,} classes is a fault of the task, as the assignment would take too long.",
    golden=(
        Golden(truth=_CUT[0], predicted=_CUT[1], score=0.75),
        Golden(truth=(0, 0, 1, 1), predicted=(1, 1, 0, 0), score=1.0),
        Golden(
            kind="text",
            truth=("a", "a", "a", "b", "b"),
            predicted=("x", "x", "y", "x", "x"),
            score=3 / 5,
            note="a is y and b is x; a as x would have 2 of 5.",
        ),
        Golden(truth=(0, 0, 1, 2), predicted=(5, 5, 5, 5), score=0.5),
        Golden(truth=(0, 0, 0, 1), predicted=(0, 1, 2, 3), score=0.5, note="Each row alone."),
    ),
    trial=Trial(
        kind="integer",
        truth=_TRIAL.truth,
        perfect=_TRIAL.perfect,
        noisy=_TRIAL.noisy,
        constant=_TRIAL.constant,
        chance=1 / 3,
    ),
    any_names=True,
    aliases={"cluster_accuracy": {}},
)
def clustering_accuracy(truth: Array, predicted: Array) -> float:
    """The share of right rows, with each class given the cluster that suits best."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    counts = _Counts.of(truth, predicted)
    rows, columns, sizes = counts.of_class, counts.of_cluster, counts.pairs
    number = len(counts.classes)
    if number > MAX_CLASSES:
        raise PackError(
            f"Clustering accuracy matches at most {MAX_CLASSES:,} classes with clusters; the answers hold {number:,}. "
            "Choose adjusted_rand or nmi."
        )
    # Sparse, since classes times clusters may be far more than rows. Each class also has a cluster without rows to
    # itself, so that all can be matched; a cost of 0 would be no edge.
    own = np.arange(number)
    dearest = int(sizes.max()) + 1
    costs = np.concatenate((dearest - sizes, np.full(number, dearest)))
    # The oldest scipy that we take only matches over positions of 32 bits.
    places = np.stack((np.append(rows, own), np.append(columns, len(counts.clusters) + own))).astype(np.int32)
    graph = coo_array((costs.astype(float), tuple(places)), shape=(number, len(counts.clusters) + number)).tocsr()
    matched, chosen = min_weight_full_bipartite_matching(graph)
    return (number * dearest - math.fsum(graph[matched, chosen])) / len(truth)
