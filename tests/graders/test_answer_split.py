from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders.split import by_hash, by_words, position


def test_golden_positions() -> None:
    """These fix the split of every task for ever: never change them."""
    assert position("titanic", "1") == 0.1645142427441918
    assert position("openmle", "892") == 0.33347158387806386
    assert position("", "\u00e9 \U0001f600") == 0.8797902537966145


def test_golden_parts() -> None:
    parts = by_hash([str(i) for i in range(1000)], "openmle", 0.5)
    assert "".join("v" if validation else "t" for validation in parts[:16]) == "vvvttvvtvvvttvvt"
    assert parts.sum() == 500


@given(st.permutations([str(i) for i in range(40)]), st.floats(0.01, 0.99))
def test_the_order_of_rows_never_matters(ids: list[str], fraction: float) -> None:
    ordered = sorted(ids)
    assert dict(zip(ids, by_hash(ids, "s", fraction), strict=True)) == dict(
        zip(ordered, by_hash(ordered, "s", fraction), strict=True)
    )


@given(st.sets(st.text(max_size=5), min_size=2, max_size=5), st.text(max_size=3), st.floats(1e-9, 1 - 1e-9))
def test_no_part_is_empty(ids: set[str], salt: str, fraction: float) -> None:
    assert set(by_hash(sorted(ids), salt, fraction).tolist()) == {True, False}


@pytest.mark.parametrize("ids", [[], ["1"]])
def test_too_few_answers_to_split(ids: list[str]) -> None:
    with pytest.raises(PackError, match="at least two"):
        by_hash(ids, "s", 0.5)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, float("nan")])
def test_impossible_fractions(fraction: float) -> None:
    with pytest.raises(PackError, match="fraction"):
        by_hash(["1", "2"], "s", fraction)


def test_a_split_that_the_pack_states() -> None:
    assert by_words(["d", "c", "b", "a"], ["private", " Public", "Test", "validation"]).tolist() == [
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["test", ""], "nothing for id 'b'"),
        (["Ignored", "test"], "another word for id 'a'"),
        (["test", "test"], "validation part empty"),
    ],
)
def test_a_stated_split_that_does_not_fit(words: list[str], message: str) -> None:
    with pytest.raises(PackError, match=message):
        by_words(["a", "b"], words)
