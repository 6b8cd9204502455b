from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden
from openmle_env.graders.metrics.tokens import MAX_CHARACTERS

NAMES = ("levenshtein", "normalised_levenshtein", "wer", "cer")


def scored(name: str, truth: list[str], predicted: list[str], **parameters: object) -> float:
    used, true, found = metrics.get(name).example(
        Golden(truth=truth, predicted=predicted, score=0, parameters=parameters)
    )
    assert not used.problems(found, true)
    return used(true, found)


def slow_distance(first: str | list[str], second: str | list[str]) -> int:
    """The distance by the textbook's table (Wagner and Fischer, 1974)."""
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, start=1):
        last, row[0] = row[0], i
        for j, right in enumerate(second, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (left != right))
    return row[-1]


texts = st.text(alphabet="ab \u00e9\U0001f600", max_size=12)


@given(first=texts, second=texts)
def test_distances_by_the_definition(first: str, second: str) -> None:
    assert scored("levenshtein", [first], [second]) == slow_distance(first, second)
    words = slow_distance(first.split(), second.split())
    assert scored("levenshtein", [first], [second], unit="words") == words
    longer = max(len(first), len(second))
    if longer:
        found = scored("normalised_levenshtein", [first], [second], by="longer")
        assert found == slow_distance(first, second) / longer


@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_rates_are_those_of_the_whole_corpus(rows: list[tuple[str, str]]) -> None:
    truth, predicted = [true for true, _ in rows], [found for _, found in rows]
    characters, words = sum(map(len, truth)), sum(len(true.split()) for true in truth)
    if characters:
        edits = sum(slow_distance(true, found) for true, found in rows)
        assert scored("cer", truth, predicted) == pytest.approx(edits / characters)
    if words:
        edits = sum(slow_distance(true.split(), found.split()) for true, found in rows)
        assert scored("wer", truth, predicted) == pytest.approx(edits / words)


def test_texts_longer_than_a_machine_word_by_the_definition() -> None:
    rng = np.random.default_rng(0)
    first, second = ("".join(rng.choice(list("abcdef"), size)) for size in (150, 400))
    assert scored("levenshtein", [first], [second]) == slow_distance(first, second)
    found = scored("levenshtein", [" ".join(first)], [" ".join(second)], unit="words")
    assert found == slow_distance(first, second)


def test_whole_numbers_are_compared_as_numbers_and_must_be_numbers() -> None:
    assert scored("normalised_levenshtein", ["20 1"], ["020 +1"], unit="integers") == 0
    assert scored("normalised_levenshtein", ["20 1"], ["020 +1"], unit="words") == 1
    used, true, found = metrics.get("normalised_levenshtein", {"unit": "integers"}).example(
        Golden(truth=["2 5 9", "1"], predicted=["2 x", "1"], score=0)
    )
    (problem,) = used.problems(found, true)
    assert problem.count == 1
    assert "id '0': 'x' is no whole number" in problem.message
    with pytest.raises(PackError, match="no whole number"):
        scored("levenshtein", ["2 five"], ["2 5"], unit="integers")


def test_a_long_odd_item_is_not_repeated_in_full() -> None:
    used, true, found = metrics.get("levenshtein", {"unit": "integers"}).example(
        Golden(truth=["1"], predicted=["\x1b" * 1_000], score=0)
    )
    (problem,) = used.problems(found, true)
    assert "\x1b" not in problem.message
    assert len(problem.message) < 400


@pytest.mark.parametrize("name", NAMES)
def test_cells_that_are_too_long_are_refused(name: str) -> None:
    used, true, found = metrics.get(name).example(
        Golden(truth=["a", "a"], predicted=["a" * MAX_CHARACTERS, "a" * (MAX_CHARACTERS + 1)], score=0)
    )
    (problem,) = used.problems(found, true)
    assert problem.count == 1
    assert "id '1': 100,001 characters" in problem.message


@pytest.mark.parametrize("name", ["normalised_levenshtein", "wer", "cer"])
def test_no_true_text_is_a_fault_of_the_task(name: str) -> None:
    with pytest.raises(PackError, match="hold no"):
        scored(name, ["", ""], ["a", ""])


@given(first=texts, second=texts)
def test_the_same_text_is_best_and_nothing_exceeds_one_by_the_longer_text(first: str, second: str) -> None:
    assert scored("levenshtein", [first], [first]) == 0
    assert 0 <= scored("normalised_levenshtein", [first], [second], by="longer") <= 1


def test_per_is_the_rate_of_tokens() -> None:
    assert metrics.get("per").name == "wer"
    assert scored("per", ["HH AH L OW", "B AY"], ["HH EH L OW", "AY"]) == pytest.approx(2 / 6)
