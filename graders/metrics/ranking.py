"""Metrics of ranked lists: each cell holds a list of items, the best guess first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from openmle_env.errors import PackError
from openmle_env.graders.metrics.examples import Golden, Trial
from openmle_env.graders.metrics.parameters import Option
from openmle_env.graders.metrics.registry import metric
from openmle_env.graders.metrics.tokens import split_items, too_long
from openmle_env.graders.rows import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MAX_GAIN = 1_000.0
"""The greatest gain of an item, so that 2^gain is a number."""

Cut: TypeAlias = Annotated[int, Option("How many places of a list count; later ones are ignored.", low=1)]
OptionalCut: TypeAlias = Annotated[int, Option("How many places of a list count; all of them, if 0.", low=0)]
Separator: TypeAlias = Annotated[str, Option("What stands between the items of a list; blanks, if empty.")]
Empty: TypeAlias = Annotated[
    Literal["zero", "match", "skip"],
    Option(
        "What a row whose true list is empty scores: 0; or 1 where the predicted list is empty too and else 0 "
        "(match); or nothing, so that it is left out of the mean (skip)."
    ),
]

_DEGENERATE = (
    "An item counts at its first place; its repetitions take places but score nothing. An empty predicted list scores "
    "0. An empty true list: see the parameter empty; where all are empty the metric is undefined, unless empty=match. "
    "One list for all rows scores the same in any order of its items if each row has one true item, and each item is "
    "true equally often."
)
_TRUTH = ("a", "b", "c")
_TRIAL = Trial(
    truth=_TRUTH,
    perfect=_TRUTH,
    noisy=("a", "b", "a b c"),
    constant=("a b c",) * 3,
    chance=11 / 18,  # (1 + 1/2 + 1/3) / 3
)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean over rows of AP@k = sum over the places p <= k that hold a true item of (true items at places 1 to p) "
    "/ p, divided by min(number of true items, k). Kaggle's MAP@5, MAP@12 and so on.",
    degenerate=_DEGENERATE,
    golden=(
        Golden(
            truth=("w_a", "new_whale", "w_b"),
            predicted=("w_a w_b new_whale w_c w_d", "w_a new_whale", "w_x w_y w_z w_q w_r w_b"),
            score=0.5,
            note="1, 1/2 and 0: a sixth guess is ignored.",
        ),
        Golden(truth=("a",), predicted=("a a a a a",), score=1.0, note="An item counts once."),
        Golden(truth=("c",), predicted=("a a c",), score=1 / 3, note="A repetition takes a place."),
        Golden(truth=("a b c", "d"), predicted=("a x", "y"), score=1 / 6, note="1/3 and 0: no hit is no skip."),
        Golden(truth=("a b",), predicted=("a c b",), score=5 / 6, parameters={"k": 3}),
        Golden(truth=("a b c",), predicted=("a b x",), score=1.0, parameters={"k": 2}, note="Divided by k."),
        Golden(truth=("", "a"), predicted=("a", "a"), score=0.5),
        Golden(truth=("", "", "a"), predicted=("a", "", "a"), score=2 / 3, parameters={"empty": "match"}),
        Golden(truth=("", "a"), predicted=("a", "a"), score=1.0, parameters={"empty": "skip"}),
        Golden(truth=("New York,Rome",), predicted=("Rome, New York",), score=1.0, parameters={"separator": ","}),
    ),
    trial=_TRIAL,
    aliases={
        "map5": {"k": 5},
        "map_at_3": {"k": 3},
        "map_at_5": {"k": 5},
        "map_at_10": {"k": 10},
        "map_at_12": {"k": 12},
        "map_at_100": {"k": 100},
    },
    check=too_long,
)
def map_at_k(truth: Array, predicted: Array, *, k: Cut = 5, separator: Separator = "", empty: Empty = "zero") -> float:
    """The mean average precision of ranked lists, of which the first k items count."""

    def value(gains: Mapping[str, float], ranked: Sequence[str]) -> float:
        places = [place for place, _ in _hits(gains, ranked[:k])]
        return math.fsum(hits / place for hits, place in enumerate(places, start=1)) / min(len(gains), k)

    return _mean(truth, predicted, separator, empty, value)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean over rows of 1 / (place of the first true item), and 0 where there is none: the mean reciprocal rank "
    "of TREC's question answering (Voorhees, 1999).",
    degenerate=_DEGENERATE,
    golden=(
        Golden(truth=("a", "b", "c"), predicted=("a", "x b", "x y"), score=0.5, note="1, 1/2 and 0."),
        Golden(truth=("a b",), predicted=("x b a",), score=0.5, note="The first true item counts."),
        Golden(truth=("a",), predicted=("x y a",), score=0.0, parameters={"k": 2}),
        Golden(truth=("", "a"), predicted=("x", "a"), score=0.5),
    ),
    trial=_TRIAL,
    aliases={"mean_reciprocal_rank": {}, "mrr_at_10": {"k": 10}},
    check=too_long,
)
def mrr(
    truth: Array, predicted: Array, *, k: OptionalCut = 0, separator: Separator = "", empty: Empty = "zero"
) -> float:
    """The mean reciprocal rank of the first true item of a ranked list."""

    def value(gains: Mapping[str, float], ranked: Sequence[str]) -> float:
        return next((1 / place for place, _ in _hits(gains, ranked[: k or None])), 0.0)

    return _mean(truth, predicted, separator, empty, value)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean over rows of DCG@k / IDCG@k, where DCG@k is the sum over places p <= k of gain / log2(p + 1) and IDCG "
    "is that of the best order (Järvelin and Kekäläinen, 2002). The gain of a true item is 1, or the one that the "
    "answers state, or 2^gain - 1 (Burges et al., 2005).",
    degenerate=_DEGENERATE + " A list whose gains are all 0 is an empty one; a gain is a number from 0 to 1000.",
    golden=(
        Golden(truth=("a",), predicted=("x a",), score=1 / math.log2(3)),
        Golden(
            truth=("a b",),
            predicted=("a x b",),
            score=(1 + 1 / 2) / (1 + 1 / math.log2(3)),
            note="Places 1 and 3, where the best order has 1 and 2.",
        ),
        Golden(
            truth=("a:3 b:1",),
            predicted=("b a",),
            score=(1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)),
            parameters={"graded": True},
        ),
        Golden(
            truth=("a:3 b:1",),
            predicted=("b a",),
            score=(1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)),
            parameters={"graded": True, "gain": "exponential"},
        ),
        Golden(truth=("a b",), predicted=("x a",), score=0.0, parameters={"k": 1}),
        Golden(truth=("a:0", "a:1"), predicted=("a", "a"), score=0.5, parameters={"graded": True}),
    ),
    trial=Trial(
        truth=_TRUTH,
        perfect=_TRUTH,
        noisy=("a", "b", "a b c"),
        constant=("a b c",) * 3,
        chance=(1 + 1 / math.log2(3) + 1 / 2) / 3,
    ),
    aliases={"ndcg_at_5": {"k": 5}, "ndcg_at_10": {"k": 10}, "ndcg_at_100": {"k": 100}},
    check=too_long,
)
def ndcg_at_k(
    truth: Array,
    predicted: Array,
    *,
    k: Cut = 10,
    graded: Annotated[bool, Option("Whether each true item is written with its gain, as item:gain.")] = False,
    gain: Annotated[
        Literal["linear", "exponential"], Option("What an item of gain g adds: g, or 2^g - 1 (exponential).")
    ] = "linear",
    separator: Separator = "",
    empty: Empty = "zero",
) -> float:
    """The normalised discounted cumulative gain of ranked lists, of which the first k items count."""

    def value(gains: Mapping[str, float], ranked: Sequence[str]) -> float:
        worth = gains if gain == "linear" else {item: math.expm1(own * math.log(2)) for item, own in gains.items()}
        best = sorted(worth.values(), reverse=True)[:k]
        ideal = math.fsum(own / math.log2(place + 1) for place, own in enumerate(best, start=1))
        found = math.fsum(worth[item] / math.log2(place + 1) for place, item in _hits(gains, ranked[:k]))
        return found / ideal

    return _mean(truth, predicted, separator, empty, value, graded=graded)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean over rows of (true items among the first k) / (true items).",
    degenerate=_DEGENERATE,
    golden=(
        Golden(truth=("a b c",), predicted=("a x c b",), score=2 / 3, parameters={"k": 3}),
        Golden(truth=("a", "b"), predicted=("a a", "x"), score=0.5),
        Golden(truth=("a b c d",), predicted=("a b",), score=0.5, parameters={"k": 2}, note="k caps it."),
        Golden(truth=("", "a"), predicted=("a", "a"), score=0.5),
    ),
    trial=Trial(
        truth=_TRUTH,
        perfect=_TRUTH,
        noisy=("a", "b", "a"),
        constant=("a",) * 3,
        chance=1 / 3,
    ),
    aliases={"recall_at_10": {"k": 10}, "recall_at_20": {"k": 20}, "recall_at_100": {"k": 100}},
    check=too_long,
)
def recall_at_k(
    truth: Array, predicted: Array, *, k: Cut = 10, separator: Separator = "", empty: Empty = "zero"
) -> float:
    """The share of the true items that are among the first k of the ranked list."""

    def value(gains: Mapping[str, float], ranked: Sequence[str]) -> float:
        return sum(1 for _ in _hits(gains, ranked[:k])) / len(gains)

    return _mean(truth, predicted, separator, empty, value)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Mean over rows of (true items among the first k) / k, whatever the length of the predicted list.",
    degenerate=_DEGENERATE,
    golden=(
        Golden(truth=("a b c",), predicted=("a x b",), score=2 / 3, parameters={"k": 3}),
        Golden(truth=("a b",), predicted=("a b",), score=0.4, note="A list that is short of 5 is not spared."),
        Golden(truth=("a",), predicted=("a a",), score=0.5, parameters={"k": 2}),
        Golden(truth=("", "a"), predicted=("", "a"), score=1.0, parameters={"k": 1, "empty": "match"}),
    ),
    trial=Trial(
        truth=_TRUTH,
        perfect=_TRUTH,
        noisy=("a", "b", "a"),
        constant=("a",) * 3,
        chance=1 / 3,
        parameters={"k": 1},
    ),
    aliases={"precision_at_1": {"k": 1}, "precision_at_10": {"k": 10}},
    check=too_long,
)
def precision_at_k(
    truth: Array, predicted: Array, *, k: Cut = 5, separator: Separator = "", empty: Empty = "zero"
) -> float:
    """The share of the first k places of the ranked list that hold a true item."""

    def value(gains: Mapping[str, float], ranked: Sequence[str]) -> float:
        return sum(1 for _ in _hits(gains, ranked[:k])) / k

    return _mean(truth, predicted, separator, empty, value)


@metric(
    higher_is_better=True,
    range=(0.0, 1.0),
    kinds=("text",),
    truth="text",
    source="Share of rows that have at least one true item among the first k.",
    degenerate=_DEGENERATE,
    golden=(
        Golden(truth=("a b", "c"), predicted=("x b", "x"), score=0.5),
        Golden(truth=("a",), predicted=("x a",), score=0.0, parameters={"k": 1}),
        Golden(truth=("", "a"), predicted=("a", "a"), score=1.0, parameters={"empty": "skip"}),
    ),
    trial=Trial(
        truth=_TRUTH,
        perfect=_TRUTH,
        noisy=("a", "b", "a"),
        constant=("a",) * 3,
        chance=1 / 3,
    ),
    aliases={"hits_at_1": {"k": 1}, "hits_at_10": {"k": 10}},
    check=too_long,
)
def hit_rate(truth: Array, predicted: Array, *, k: Cut = 10, separator: Separator = "", empty: Empty = "zero") -> float:
    """The share of ranked lists with a true item among their first k."""

    def value(gains: Mapping[str, float], ranked: Sequence[str]) -> float:
        return float(any(True for _ in _hits(gains, ranked[:k])))

    return _mean(truth, predicted, separator, empty, value)


def _hits(gains: Mapping[str, float], ranked: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The first place of each true item in the list, counted from 1."""
    left = set(gains)
    for place, item in enumerate(ranked, start=1):
        if item in left:
            left.remove(item)
            yield place, item


def _mean(
    truth: Array,
    predicted: Array,
    separator: str,
    empty: str,
    value: Callable[[Mapping[str, float], Sequence[str]], float],
    *,
    graded: bool = False,
) -> float:
    """The mean over rows of ``value(gain of each true item, predicted list)``."""
    scores, undefined = [], empty != "match"
    for true, found in zip(truth, predicted, strict=True):
        items, ranked = split_items(true, separator), split_items(found, separator)
        gains = _gains(items) if graded else dict.fromkeys(items, 1.0)
        if gains:
            undefined = False
            scores.append(value(gains, ranked))
        elif empty != "skip":
            scores.append(float(empty == "match" and not ranked))
    if undefined:
        raise PackError("Every true list is empty, so that every submission would score the same. Correct the answers.")
    return math.fsum(scores) / len(scores)


def _gains(items: Sequence[str]) -> dict[str, float]:
    """The gain of each item that has one; the greatest, where an item is listed more than once."""
    gains: dict[str, float] = {}
    for text in items:
        item, _, own = text.rpartition(":")
        try:
            number = float(own)
        except ValueError:
            number = math.nan
        if not item or not 0 <= number <= MAX_GAIN:
            raise PackError(
                f"A true list holds an item without a gain from 0 to {MAX_GAIN:g}; write item:gain, or set "
                "graded=false."
            )
        if number:
            gains[item] = max(number, gains.get(item, 0.0))
    return gains
