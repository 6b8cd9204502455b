"""Metrics of candidates that are ranked within their query by a predicted score, one candidate for each row.

Candidates of equal score have no order, so each value is the mean over all orders of the ties, in closed form (McSherry
and Najork, 2008, "Computing information retrieval performance measures efficiently in the presence of tied scores").
A constant prediction scores the mean over all orders of the candidates, whatever order the file has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import AnswerColumn, Option
from openmle_env.graders.metrics.ranking import MAX_GAIN, OptionalCut
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.rows import Array

Query: TypeAlias = Annotated[
    Array | None, AnswerColumn("The query to which each candidate belongs.", kind="text", needed=True)
]
EmptyQuery: TypeAlias = Annotated[
    Literal["zero", "skip"],
    Option("What a query without a relevant candidate scores: 0, or nothing (skip: it is left out of the mean)."),
]

_DEGENERATE = (
    "Equal scores: the mean over the orders of the tied candidates. A query without a relevant candidate: see the "
    "parameter empty; where no query has one the metric is undefined."
)
_QUERIES = {"query": ("q", "q", "q", "r", "r", "r")}
_TRUTH = (1, 0, 0, 0, 1, 0)
_PERFECT = (0.9, 0.1, 0.2, 0.3, 0.8, 0.1)
_NOISY = (0.9, 0.1, 0.2, 0.9, 0.8, 0.1)
_CONSTANT = (0.5,) * 6


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="binary",
    source="Mean over queries of AP@k, the candidates of a query in the order of falling scores: sum over the places "
    "p <= k that hold a relevant one of (relevant ones at places 1 to p) / p, divided by min(relevant ones, k). "
    "Ties as in McSherry and Najork (2008).",
    degenerate=_DEGENERATE,
    golden=(
        Golden(
            truth=(1, 0, 1, 1),
            predicted=(3.0, 2.0, 1.0, 7.0),
            score=(5 / 6 + 1) / 2,
            parameters={"query": "query"},
            answers={"query": ("q", "q", "q", "r")},
            note="1/2 * (1/1 + 2/3), and 1.",
        ),
        Golden(
            truth=(1, 0),
            predicted=(0.5, 0.5),
            score=0.75,
            parameters={"query": "query"},
            answers={"query": ("q", "q")},
            note="The mean of 1 and 1/2.",
        ),
        Golden(
            truth=(1, 1, 0),
            predicted=(0.0, 0.0, 0.0),
            score=(1 + 5 / 6 + 7 / 12) / 3,
            parameters={"query": "query"},
            answers={"query": ("q", "q", "q")},
            note="The relevant ones stand at places 1 and 2, 1 and 3, or 2 and 3.",
        ),
        Golden(
            truth=(1, 0),
            predicted=(0.5, 0.5),
            score=0.5,
            parameters={"query": "query", "k": 1},
            answers={"query": ("q", "q")},
        ),
        Golden(
            truth=(0, 1),
            predicted=(0.5, 0.5),
            score=1.0,
            parameters={"query": "query", "empty": "skip"},
            answers={"query": ("q", "r")},
        ),
    ),
    trial=Trial(
        truth=_TRUTH,
        perfect=_PERFECT,
        noisy=_NOISY,
        constant=_CONSTANT,
        chance=11 / 18,
        parameters={"query": "query"},
        answers=_QUERIES,
    ),
)
def grouped_map(
    truth: Array, predicted: Array, *, query: Query = None, k: OptionalCut = 0, empty: EmptyQuery = "zero"
) -> float:
    """The mean average precision over queries whose candidates are scored one for each row."""
    ranked = _rank(truth, predicted, _number(query))
    relevant, size = ranked.gain, ranked.size
    inside = ranked.place - ranked.start - 1
    # Given that a place of the group holds a relevant one, the others are spread evenly over the other places.
    hits = ranked.before + 1 + inside * (relevant - 1) / np.maximum(size - 1, 1)
    expected = np.where(_counts(ranked.place, k), relevant / size * hits / ranked.place, 0.0)
    total = ranked.by_query(relevant / size).round()
    return _mean(ranked.by_query(expected) / np.maximum(np.minimum(total, k or math.inf), 1), total > 0, empty)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="number",
    source="Mean over queries of DCG@k / IDCG@k, the candidates of a query in the order of falling scores: DCG@k is "
    "the sum over places p <= k of gain / log2(p + 1), IDCG that of the best order (Järvelin and Kekäläinen, 2002). "
    "Ties as in McSherry and Najork (2008).",
    degenerate=_DEGENERATE + " A gain is a number from 0 to 1000.",
    golden=(
        Golden(
            truth=(3, 1),
            predicted=(1.0, 2.0),
            score=(1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)),
            parameters={"query": "query"},
            answers={"query": ("q", "q")},
        ),
        Golden(
            truth=(3, 1),
            predicted=(1.0, 2.0),
            score=(1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)),
            parameters={"query": "query", "gain": "exponential"},
            answers={"query": ("q", "q")},
        ),
        Golden(
            truth=(1, 0),
            predicted=(0.5, 0.5),
            score=(1 + 1 / math.log2(3)) / 2,
            parameters={"query": "query"},
            answers={"query": ("q", "q")},
            note="The mean of first and second place.",
        ),
        Golden(
            truth=(0, 2),
            predicted=(0.9, 0.1),
            score=0.0,
            parameters={"query": "query", "k": 1},
            answers={"query": ("q", "q")},
        ),
    ),
    trial=Trial(
        truth=_TRUTH,
        perfect=_PERFECT,
        noisy=_NOISY,
        constant=_CONSTANT,
        chance=(1 + 1 / math.log2(3) + 1 / 2) / 3,
        parameters={"query": "query"},
        answers=_QUERIES,
    ),
    aliases={"ndcg_score": {}},
)
def grouped_ndcg(
    truth: Array,
    predicted: Array,
    *,
    query: Query = None,
    k: OptionalCut = 0,
    gain: Annotated[
        Literal["linear", "exponential"], Option("What a candidate of gain g adds: g, or 2^g - 1 (exponential).")
    ] = "linear",
    empty: EmptyQuery = "zero",
) -> float:
    """The normalised discounted cumulative gain over queries whose candidates are scored one for each row."""
    if truth.min() < 0 or truth.max() > MAX_GAIN:
        raise PackError(f"The gain of a candidate is outside of 0 to {MAX_GAIN:g}.")
    worth = truth if gain == "linear" else np.expm1(truth * math.log(2))
    code = _number(query)
    ranked, best = _rank(worth, predicted, code), _rank(worth, worth, code)

    def dcg(of: _Ranked) -> Array:
        return of.by_query(np.where(_counts(of.place, k), of.gain / of.size / np.log2(of.place + 1), 0.0))

    ideal = dcg(best)
    return _mean(dcg(ranked) / np.where(ideal > 0, ideal, 1.0), ideal > 0, empty)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("number", "probability"),
    truth="binary",
    source="Mean over queries of 1 / (place of the first relevant candidate), in the order of falling scores; 0 "
    "where it stands beyond place k. Ties as in McSherry and Najork (2008).",
    degenerate=_DEGENERATE,
    golden=(
        Golden(
            truth=(0, 1, 1, 0),
            predicted=(3.0, 2.0, 1.0, 5.0),
            score=0.25,
            parameters={"query": "query"},
            answers={"query": ("q", "q", "q", "r")},
            note="1/2, and 0 for the query without a relevant candidate.",
        ),
        Golden(
            truth=(1, 0, 0),
            predicted=(0.5, 0.5, 0.5),
            score=11 / 18,
            parameters={"query": "query"},
            answers={"query": ("q", "q", "q")},
            note="The mean of 1, 1/2 and 1/3.",
        ),
        Golden(
            truth=(1, 1, 0),
            predicted=(0.5, 0.5, 0.5),
            score=5 / 6,
            parameters={"query": "query"},
            answers={"query": ("q", "q", "q")},
            note="First in two of three orders, second in the third.",
        ),
        Golden(
            truth=(1, 0, 0),
            predicted=(0.5, 0.5, 0.5),
            score=1 / 2,
            parameters={"query": "query", "k": 2},
            answers={"query": ("q", "q", "q")},
        ),
    ),
    trial=Trial(
        truth=_TRUTH,
        perfect=_PERFECT,
        noisy=_NOISY,
        constant=_CONSTANT,
        chance=11 / 18,
        parameters={"query": "query"},
        answers=_QUERIES,
    ),
)
def grouped_mrr(
    truth: Array, predicted: Array, *, query: Query = None, k: OptionalCut = 0, empty: EmptyQuery = "zero"
) -> float:
    """The mean reciprocal rank of the first relevant candidate, over queries whose candidates are scored by row."""
    ranked = _rank(truth, predicted, _number(query))
    first = (ranked.before == 0) & (ranked.gain > 0)  # the rows of each query's first group with a relevant one
    chance = np.zeros(len(truth))
    chance[first] = _first_at(
        (ranked.place - ranked.start)[first], ranked.size[first], ranked.gain[first].astype(np.int64)
    )
    expected = np.where(_counts(ranked.place, k), chance / ranked.place, 0.0)
    return _mean(ranked.by_query(expected), ranked.by_query(first) > 0, empty)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """All candidates, sorted by query and falling score; candidates of equal score are a group. Arrays of (rows,)."""

    query: Array
    """Number of the query."""
    place: Array
    """Place in the query, from 1."""
    start: Array
    """How many candidates of the query stand before the group."""
    size: Array
    """Of the group."""
    gain: Array
    """Sum of the gains of the group."""
    before: Array
    """Sum of the gains of the query before the group."""

    def by_query(self, values: Array) -> Array:
        """The sum of the values of each query."""
        return np.bincount(self.query, weights=values)


def _number(query: Array | None) -> Array:
    """Each row's query as a number from 0, in the order in which queries first occur."""
    if query is None:
        raise PackError("The answers name no query column; set the parameter query.")
    numbers: dict[str, int] = {}
    return np.fromiter((numbers.setdefault(name, len(numbers)) for name in query), dtype=np.int64, count=len(query))


def _rank(gain: Array, scores: Array, code: Array) -> _Ranked:
    order = np.lexsort((-scores, code))
    code, scores, gain = code[order], scores[order], gain[order].astype(np.float64)
    row = np.arange(len(code))
    new_query = np.concatenate(([True], code[1:] != code[:-1]))
    new_group = new_query | np.concatenate(([True], scores[1:] != scores[:-1]))
    query_start, group_start = np.flatnonzero(new_query), np.flatnonzero(new_group)
    group = np.cumsum(new_group) - 1
    group_gain = np.add.reduceat(gain, group_start)
    before = np.cumsum(group_gain) - group_gain  # exact where gains are 0 and 1; only those use it
    query_of_group = code[group_start]
    first_group = group[query_start]
    return _Ranked(
        query=code,
        place=row - query_start[code] + 1,
        start=(group_start - query_start[query_of_group])[group],
        size=np.diff(group_start, append=len(code))[group],
        gain=group_gain[group],
        before=(before - before[first_group][query_of_group])[group],
    )


def _first_at(position: Array, size: Array, relevant: Array) -> Array:
    """The chance that, of ``size`` shuffled candidates, the first of the ``relevant`` ones is at ``position``, from 1.

    It is binomial(size - position, relevant - 1) / binomial(size, relevant).
    """
    from scipy.special import gammaln

    chance = 1.0 / size  # exact for one relevant candidate, however many are tied
    several = np.flatnonzero(relevant > 1)
    n, r, j = size[several], relevant[several], position[several]
    possible = n - j >= r - 1
    left = np.where(possible, n - j, r - 1)
    logarithm = gammaln(left + 1) - gammaln(r) - gammaln(left - r + 2)
    logarithm -= gammaln(n + 1) - gammaln(r + 1) - gammaln(n - r + 1)
    chance[several] = np.where(possible, np.exp(logarithm), 0.0)
    return chance


def _counts(place: Array, k: int) -> Array:
    return place <= (k or math.inf)


def _mean(values: Array, defined: Array, empty: str) -> float:
    """The mean over queries; ``defined`` says which of them have a relevant candidate."""
    if not defined.any():
        raise PackError("No query has a relevant candidate.")
    return float(values[defined].sum() / (defined.sum() if empty == "skip" else len(values)))
