from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders import metrics

Compute = Callable[..., float]

# Time, event, risk; few different values, so that ties of each kind are frequent.
ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 4)), min_size=2, max_size=25)


def by_pairs(rows: list[tuple[int, int, int]]) -> float | None:
    """Harrell's rules, pair by pair; None where no pair is comparable."""
    right, comparable = 0.0, 0
    for first, second in itertools.permutations(rows, 2):
        time, event, risk = first
        other_time, other_event, other_risk = second
        if event and (other_time > time or (other_time == time and not other_event)):
            comparable += 1
            right += 1.0 if risk > other_risk else 0.5 if risk == other_risk else 0.0
    return right / comparable if comparable else None


@given(ROWS)
def test_the_value_is_that_of_harrells_pairs(rows: list[tuple[int, int, int]]) -> None:
    time, event, risk = np.array(rows).T
    function = metrics.get("concordance_index").function
    expected = by_pairs(rows)
    if expected is None:
        with pytest.raises(PackError, match="No pair"):
            function(time, risk, event=event, prediction="risk")
        return
    assert function(time, risk, event=event, prediction="risk") == pytest.approx(expected)
    # The other direction is the complement, and the same numbers turned round are the same.
    assert function(time, risk, event=event, prediction="time") == pytest.approx(1 - expected)
    assert function(time, -risk, event=event, prediction="time") == pytest.approx(expected)
    assert function(time, np.zeros(len(rows)), event=event, prediction="risk") == 0.5


def test_event_and_censoring_at_one_time(compute: Compute) -> None:
    for risks, expected in (((1, 2), 0.0), ((2, 1), 1.0), ((1, 1), 0.5)):
        value = compute("concordance_index", (5, 5), risks, event="e", prediction="risk", answers={"e": (1, 0)})
        assert value == expected


def test_no_comparable_pair_is_a_fault_of_the_task(compute: Compute) -> None:
    for times, events in (((1, 2), (0, 0)), ((1, 2), (0, 1)), ((5, 5), (1, 1)), ((1,), (1,))):
        with pytest.raises(PackError, match="No pair"):
            compute("concordance_index", times, times, event="e", prediction="time", answers={"e": events})


def test_the_direction_has_to_be_said(compute: Compute) -> None:
    with pytest.raises(PackError, match="needs the parameter prediction"):
        compute("concordance_index", (1, 2), (1, 2), event="e", answers={"e": (1, 1)})
    for_risk = metrics.get("concordance_index_censored")
    assert for_risk.given == {"prediction": "risk"}


def test_times_are_numbers_where_risks_are_probabilities(compute: Compute) -> None:
    value = compute(
        "concordance_index",
        (120.5, 300, 80),
        (0.5, 0.1, 0.9),
        kind="probability",
        event="e",
        prediction="risk",
        answers={"e": ("true", "0", "1")},
    )
    assert value == 1.0


def test_many_rows_take_no_pairwise_memory() -> None:
    count = 200_000  # all pairs would be 20 billion
    time = np.arange(count, dtype=float)
    event = np.ones(count, dtype=int)
    assert metrics.get("concordance_index").function(time, -time, event=event, prediction="risk") == 1.0
