from __future__ import annotations

from itertools import permutations
from math import log2
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden
from openmle_env.graders.metrics.rank_counts import inversions
from openmle_env.graders.metrics.tokens import MAX_CHARACTERS, split_items, split_references

if TYPE_CHECKING:
    from collections.abc import Sequence


LISTS = ("map_at_k", "mrr", "ndcg_at_k", "recall_at_k", "precision_at_k", "hit_rate")
GROUPED = ("grouped_map", "grouped_ndcg", "grouped_mrr")


def scored(name: str, truth: list[str], predicted: list[str], **parameters: object) -> float:
    used, true, found = metrics.get(name).example(
        Golden(truth=truth, predicted=predicted, score=0, parameters=parameters)
    )
    assert not used.problems(found, true)
    return used(true, found)


def grouped(
    name: str, truth: Sequence[float], predicted: Sequence[float], query: list[str] | None = None, **parameters: object
) -> float:
    answers = {"query": query or ["q"] * len(truth)}
    example = Golden(
        truth=truth, predicted=predicted, score=0, parameters={"query": "query", **parameters}, answers=answers
    )
    used, true, found = metrics.get(name).example(example)
    return used(true, found)


def refused(name: str, cell: str, **given: object) -> str:
    used, true, found = metrics.get(name).example(Golden(truth=["a"], predicted=[cell], score=0, **given))  # type: ignore[arg-type]
    (problem,) = used.problems(found, true)
    return problem.message


items = st.lists(st.sampled_from("abcdef"), max_size=8)


@pytest.mark.parametrize("name", LISTS)
@given(rows=st.lists(st.tuples(items, items), min_size=1, max_size=5), k=st.integers(1, 8))
def test_a_list_never_leaves_the_range_and_the_true_one_is_best(
    name: str, rows: list[tuple[list[str], list[str]]], k: int
) -> None:
    truth = [" ".join(true) for true, _ in rows]
    score = scored(name, truth, [" ".join(found) for _, found in rows], k=k, empty="match")
    unique = [" ".join(dict.fromkeys(true)) for true, _ in rows]
    assert 0 <= score <= scored(name, truth, unique, k=k, empty="match")


@given(true=items.filter(bool), found=items, k=st.integers(1, 8))
def test_average_precision_by_the_definition(true: list[str], found: list[str], k: int) -> None:
    relevant = set(true)
    precisions = [
        len(relevant & set(found[:place])) / place
        for place in range(1, min(k, len(found)) + 1)
        if found[place - 1] in relevant - set(found[: place - 1])
    ]
    expected = sum(precisions) / min(len(relevant), k)
    assert scored("map_at_k", [" ".join(true)], [" ".join(found)], k=k) == pytest.approx(expected)


@pytest.mark.parametrize("name", LISTS)
def test_a_query_without_a_hit_counts(name: str) -> None:
    both = scored(name, ["a", "b"], ["a", "x"], k=1)
    assert both == pytest.approx(scored(name, ["a"], ["a"], k=1) / 2)


@pytest.mark.parametrize("name", LISTS)
def test_empty_true_lists(name: str) -> None:
    assert scored(name, ["", "a"], ["a", "a"], k=1) == 0.5
    assert scored(name, ["", ""], ["", "a"], empty="match") == 0.5
    for empty in ("zero", "skip"):
        with pytest.raises(PackError, match="true list is empty"):
            scored(name, [""], ["a"], empty=empty)


@pytest.mark.parametrize("name", LISTS)
def test_one_list_for_all_rows_gains_nothing_by_its_order(name: str) -> None:
    found = {round(scored(name, list("abcd"), [" ".join(order)] * 4, k=3), 12) for order in permutations("abcd")}
    assert len(found) == 1


def test_lists_may_be_separated_by_tabs() -> None:
    assert scored("map_at_k", ["New York\tRome"], ["Rome\tNew"], separator="\t") == 0.5


@pytest.mark.parametrize("name", LISTS)
def test_cells_that_are_too_long_are_refused(name: str) -> None:
    message = refused(name, "a " * MAX_CHARACTERS)
    assert "200,000 characters, of which at most 100,000 are read" in message
    assert len(message) < 500


@pytest.mark.parametrize("answers", ["a", "a:", "a:b", ":1", "a:-1", "a:nan", "a:inf", "a:1001"])
def test_graded_lists_need_gains(answers: str) -> None:
    with pytest.raises(PackError, match="without a gain"):
        scored("ndcg_at_k", [answers], ["a"], graded=True)


def test_an_item_may_hold_a_colon() -> None:
    assert scored("ndcg_at_k", ["x:1:3 y:1"], ["x:1 y"], graded=True) == 1


@pytest.mark.parametrize("gain", [5e-324, 1e-17])
def test_the_least_gains_are_gains(gain: float) -> None:
    assert scored("ndcg_at_k", [f"a:{gain}"], ["a"], graded=True, gain="exponential") == 1
    assert grouped("grouped_ndcg", [gain, 0], [1, 0], gain="exponential") == 1


def one_order(name: str, gains: list[float], k: int) -> float:
    """The value of a list of gains in one order, by the definition."""
    places = [place for place, gain in enumerate(gains, start=1) if gain and place <= k]
    if name == "grouped_mrr":
        return 1 / places[0] if places else 0.0
    if name == "grouped_map":
        total = sum(gain > 0 for gain in gains)
        return sum(hits / place for hits, place in enumerate(places, start=1)) / min(total, k)
    best = sorted(gains, reverse=True)
    ideal, found = (sum(gain / log2(p + 1) for p, gain in enumerate(of[:k], start=1)) for of in (best, gains))
    return found / ideal


rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=6)


@pytest.mark.parametrize("name", GROUPED)
@given(rows=rows.filter(lambda rows: any(gain for gain, _ in rows)), k=st.integers(1, 7))
def test_ties_score_the_mean_over_all_their_orders(name: str, rows: list[tuple[int, int]], k: int) -> None:
    values = []
    for order in permutations(range(len(rows))):
        by_score = sorted(order, key=lambda row: -rows[row][1])  # stable: ties keep the order of the permutation
        values.append(one_order(name, [rows[row][0] for row in by_score], k))
    expected = sum(values) / len(values)
    found = grouped(name, [gain for gain, _ in rows], [score for _, score in rows], k=k)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", GROUPED)
def test_many_ties_and_many_queries_are_the_mean_of_single_queries(name: str) -> None:
    rng = np.random.default_rng(3)
    query = [f"q{number}" for number in rng.integers(0, 9, 300)]
    truth, predicted = (rng.random(300) < 0.2).astype(int).tolist(), rng.integers(0, 4, 300).tolist()
    singles = []
    for one in sorted(set(query)):
        rows = [row for row in range(300) if query[row] == one]
        gains = [truth[row] for row in rows]
        singles.append(grouped(name, gains, [predicted[row] for row in rows]) if any(gains) else 0.0)
    assert grouped(name, truth, predicted, query) == pytest.approx(sum(singles) / len(singles), rel=1e-12)


def test_the_expected_place_of_the_first_of_many() -> None:
    # 10 relevant of 1,000 tied: the chance that the first is at place j or later is a falling product.
    size, relevant, still, expected = 1_000, 10, 1.0, 0.0
    for place in range(1, size - relevant + 2):
        chance = relevant / (size - place + 1)
        expected += still * chance / place
        still *= 1 - chance
    found = grouped("grouped_mrr", [1] * relevant + [0] * (size - relevant), [0.5] * size)
    assert found == pytest.approx(expected, rel=1e-11)


def test_grouped_ndcg_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(0)
    for k in (2, 5, 8):
        gains, scores = rng.integers(0, 4, (20, 8)), rng.integers(0, 3, (20, 8))
        query = [f"q{row}" for row in range(20) for _ in range(8)]
        expected = ndcg_score(gains, scores, k=k)  # averages over ties; a query without gains scores 0
        found = grouped("grouped_ndcg", gains.ravel().tolist(), scores.ravel().tolist(), query, k=k)
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", GROUPED)
def test_no_relevant_candidate_is_a_fault_of_the_task(name: str) -> None:
    with pytest.raises(PackError, match="No query has a relevant"):
        grouped(name, [0, 0], [0.1, 0.2])
    assert grouped(name, [0, 1], [0.1, 0.2], ["q", "r"]) == 0.5
    assert grouped(name, [0, 1], [0.1, 0.2], ["q", "r"], empty="skip") == 1


@pytest.mark.parametrize("name", GROUPED)
def test_the_query_is_needed(name: str) -> None:
    with pytest.raises(PackError, match="needs the parameter query"):
        metrics.get(name).example(Golden(truth=[0, 1], predicted=[0.1, 0.2], score=0))


@pytest.mark.parametrize("gain", [-1.0, 1001.0])
def test_gains_of_candidates_are_bounded(gain: float) -> None:
    with pytest.raises(PackError, match="outside of 0 to 1000"):
        grouped("grouped_ndcg", [gain, 1.0], [0.1, 0.2])


@given(st.permutations(range(9)))
def test_inversions_by_the_definition(order: list[int]) -> None:
    expected = sum(order[i] > order[j] for i in range(9) for j in range(i + 1, 9))
    assert inversions(np.array(order)) == expected


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 9, 1_000])
def test_inversions_of_a_reversed_order(size: int) -> None:
    assert inversions(np.arange(size)[::-1].copy()) == size * (size - 1) // 2


def test_the_mean_over_all_orders_is_chance() -> None:
    orders = [" ".join(order) for order in permutations("abcd")]
    assert scored("order_kendall_tau", ["a b c d"] * len(orders), orders) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("predicted", ["a b", "a b c d", "a b x", "a a b", ""])
def test_what_is_no_order_of_the_items_is_the_worst_order(predicted: str) -> None:
    assert scored("order_kendall_tau", ["a b c", "x y"], [predicted, "x y"]) == 1 - 4 * 3 / 8


@pytest.mark.parametrize(
    ("predicted", "why"),
    [
        ("a b", "1 items are missing and 0 unknown"),
        ("a b x", "1 items are missing and 1 unknown"),
        ("a b b", "an item is listed twice"),
    ],
)
def test_what_is_no_order_of_shown_items_is_refused(predicted: str, why: str) -> None:
    example = Golden(
        truth=["a b c"], predicted=[predicted], score=0, parameters={"items": "shown"}, answers={"shown": ["c b a"]}
    )
    used, true, found = metrics.get("order_kendall_tau").example(example)
    (problem,) = used.problems(found, true)
    assert f"id '0': {why}" in problem.message


def test_shown_items_that_are_not_those_of_the_true_order_are_a_fault_of_the_task() -> None:
    example = Golden(
        truth=["a b c"], predicted=["a b d"], score=0, parameters={"items": "shown"}, answers={"shown": ["d b a"]}
    )
    used, true, found = metrics.get("order_kendall_tau").example(example)
    assert not used.problems(found, true)
    with pytest.raises(PackError, match="does not consist of the items that are shown"):
        used(true, found)


def test_orders_that_the_answers_cannot_be() -> None:
    with pytest.raises(PackError, match="lists an item twice"):
        scored("order_kendall_tau", ["a a"], ["a a"])
    with pytest.raises(PackError, match="No row has two items"):
        scored("order_kendall_tau", ["a", ""], ["a", ""])


def test_items_and_references() -> None:
    assert split_items("a\tb\u00a0c\n") == ["a", "b", "c"]
    assert split_items(", a ,,b", ",") == ["a", "b"]
    assert split_references("a b", "") == ["a b"]
    assert split_references("a ||| ", "|||") == ["a"]
    assert split_references("", "|||") == [""]
