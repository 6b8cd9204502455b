"""What a program gets on top of its score, or loses: its parent's reward, its own validation, a published result."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import UsageError
from openmle_env.graders.rewards import (
    OPERATOR_POLICIES,
    OperatorReward,
    Parent,
    PenalizedReward,
    StaticBounds,
    ValidationGap,
    compare_published,
    finite,
    operator_reward,
    penalize_gap,
    validation_gap,
)

anything = st.one_of(st.none(), st.floats(), st.just(10**400))


def made(reward: float | None, *parents: Parent, operator: str = "improve", **settings: Any) -> OperatorReward:
    return operator_reward(reward, operator=operator, code="fit(x)\n", parents=parents, **settings)


def test_a_draft_keeps_its_reward() -> None:
    for policy in OPERATOR_POLICIES:
        assert made(0.5, operator="draft", policy=policy) == (0.5, 0.0, 0.0, 0.5)
    assert made(0.0, operator="draft").final == 0.0
    assert made(None, operator="draft").final == 0.0


def test_a_gain_over_the_parent_is_rewarded_by_half() -> None:
    # By hand: gain 0.25, bonus 0.125.
    better, worse = Parent("old", 0.5), Parent("old", 1.0)
    assert made(0.75, better) == (0.75, 0.25, 0.125, 0.875)
    assert made(0.75, better, policy="gate_parent") == (0.75, 0.25, 0.125, 0.875)
    assert made(0.75, better, policy="diff_parent") == (0.25, 0.25, 0.125, 0.375)
    assert made(0.75, worse) == (0.75, 0.0, 0.0, 0.75)
    assert made(0.75, worse, policy="gate_parent").final == 0.0
    assert made(0.75, worse, policy="diff_parent").final == 0.0
    assert made(0.75, better, bonus=0.0).final == 0.75


def test_no_better_than_the_parent_passes_no_gate() -> None:
    assert made(0.5, Parent("old", 0.5), policy="gate_parent").final == 0.0


def test_a_crossover_has_to_beat_the_better_parent() -> None:
    parents = Parent("a", 0.25), Parent("b", 0.5)
    assert made(0.75, *parents, operator="crossover").gain == 0.25
    assert made(0.75, Parent("a", 0.25), Parent("b"), operator="crossover").gain == 0.5  # the other is not known


@pytest.mark.parametrize("copy", ["fit(x)\n", "fit(x)", "\nfit(x)   \r\n\n"])
def test_a_copy_of_a_parent_is_worth_nothing(copy: str) -> None:
    for policy in OPERATOR_POLICIES:
        assert made(0.9, Parent("other", 0.1), Parent(copy, 0.4), policy=policy) == (0.0, 0.0, 0.0, 0.0)


def test_a_change_of_indentation_or_case_is_no_copy() -> None:
    assert made(0.5, Parent(" fit(x)", 0.5)).final == 0.5
    assert made(0.5, Parent("Fit(x)", 0.5)).final == 0.5


def test_a_failure_gets_no_bonus_for_a_parent_that_did_worse() -> None:
    for failure in (0.0, None, math.nan):
        assert made(failure, Parent("old", -0.5)) == (0.0, 0.0, 0.0, 0.0)


def test_no_policy_lifts_a_penalty() -> None:
    for policy in OPERATOR_POLICIES:
        assert made(-0.5, Parent("old", 0.5), policy=policy).final == -0.5
        assert made(-0.5, Parent("fit(x)", 0.5), policy=policy).final == -0.5


def test_without_a_parents_reward_there_is_nothing_to_compare_with() -> None:
    for policy in OPERATOR_POLICIES:
        assert made(0.5, Parent("old"), policy=policy) == (0.5, 0.0, 0.0, 0.5)
        assert made(0.5, policy=policy).final == 0.5


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"operator": "imprve"}, "Did you mean 'improve'"),
        ({"policy": "gate"}, "Did you mean 'gate_parent'|Known"),
        ({"bonus": -1.0}, "bonus"),
        ({"bonus": math.nan}, "bonus"),
    ],
)
def test_wrong_settings_of_operators(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        made(0.5, **settings)


def test_a_gap_is_measured_by_a_narrow_range() -> None:
    assert validation_gap(0.9, 0.75, static=StaticBounds(0.0, 1.0)) == pytest.approx((0.15, 0.15, 1.0, "range"))
    assert validation_gap(10.0, 15.0, static=StaticBounds(-50.0, 50.0)) == (5.0, 0.05, 100.0, "range")


def test_a_gap_is_measured_by_the_scores_otherwise() -> None:
    for limits in (StaticBounds(0.0, 100.5), StaticBounds(), StaticBounds(0.0, None), StaticBounds(1.0, 1.0)):
        assert validation_gap(-2.0, 1.0, static=limits) == (3.0, 1.5, 2.0, "scores")
    assert validation_gap(0.0, 0.0) == (0.0, 0.0, 0.0, "scores")


@given(anything, anything, st.sampled_from([StaticBounds(), StaticBounds(0.0, 1.0), StaticBounds(-1.7e308, 1.7e308)]))
def test_gaps_are_finite_or_unknown(validation: Any, test: Any, limits: StaticBounds) -> None:
    gap = validation_gap(validation, test, static=limits)
    if gap == ValidationGap():
        assert any(finite(score) is None for score in (validation, test))
        return
    assert all(math.isfinite(value) for value in gap[:3] if value is not None)
    assert (gap.absolute == 0) == (validation == test)
    assert 0.0 <= penalize_gap(0.5, gap.relative).reward <= 0.5


# By hand, with 5% at a gap of 12%: half the gap costs half of it; beyond it the piecewise penalty adds 25% each time.
@pytest.mark.parametrize(
    ("gap", "steep", "penalty"),
    [
        (0.0, None, 0.0),
        (0.06, None, 0.025),
        (0.12, None, 0.05),
        (0.24, None, 0.1),
        (0.06, 0.25, 0.025),
        (0.12, 0.25, 0.05),
        (0.18, 0.25, 0.175),
        (0.24, 0.25, 0.3),
        (100.0, 0.25, 1.0),
        (1e308, None, 1.0),
    ],
)
def test_a_gap_costs_a_share_of_the_reward(gap: float, steep: float | None, penalty: float) -> None:
    assert penalize_gap(0.8, gap, steep=steep) == pytest.approx((0.8 * (1 - penalty), penalty, 1 - penalty))


def test_what_is_not_penalized() -> None:
    assert penalize_gap(0.8, 0.5, coefficient=0.0) == PenalizedReward(0.8, 0.0, 1.0)
    assert penalize_gap(0.8, 0.12, steep=0.0).penalty == penalize_gap(0.8, 9.0, steep=0.0).penalty == 0.05
    assert penalize_gap(-1.0, 0.5) == PenalizedReward(-1.0, 0.0, 1.0)
    assert penalize_gap(0.0, 0.5) == PenalizedReward(0.0, 0.0, 1.0)
    for unknown in (None, math.nan, math.inf):
        assert penalize_gap(0.8, unknown) == PenalizedReward(0.8, 0.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"reward": math.nan}, "reward"),
        ({"relative_gap": -0.1}, "at least 0"),
        ({"coefficient": -0.1}, "coefficient, a slope"),
        ({"steep": math.inf}, "steep, a slope"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_wrong_settings_of_the_penalty(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        penalize_gap(**({"reward": 0.5, "relative_gap": 0.1} | arguments))


@pytest.mark.parametrize(
    ("score", "published", "higher", "expected"),
    [  # by hand: dir * (m - m_published) / |m_published|
        (0.5, 0.5, True, (0.0, True, False)),
        (0.55, 0.5, True, (0.1, True, False)),  # a gap of exactly a tenth surpasses nothing
        (1.1, 1.0, True, (0.1, True, False)),  # in floats 1.1 - 1.0 is more than 0.1
        (0.56, 0.5, True, (0.12, True, True)),
        (0.45, 0.5, True, (-0.1, False, False)),
        (0.44, 0.5, False, (0.12, True, True)),
        (0.6, 0.5, False, (-0.2, False, False)),
        (-0.5, -1.0, True, (0.5, True, True)),
        (-1.5, -1.0, False, (0.5, True, True)),
        (0.0, 2.0, False, (1.0, True, True)),
        (None, 0.5, True, (None, False, False)),
        (math.nan, 0.5, False, (None, False, False)),
    ],
)
def test_beside_a_published_result(score: float | None, published: float, higher: bool, expected: Any) -> None:
    assert compare_published(score, published, higher_is_better=higher) == expected


def test_published_results_without_a_relative_gap() -> None:
    for published in (0.0, math.nan, math.inf):
        with pytest.raises(UsageError, match="other than 0"):
            compare_published(0.5, published, higher_is_better=True)
    assert math.isfinite(compare_published(1e308, 1e-300, higher_is_better=True).gap or math.nan)


def test_arguments_of_another_type_are_refused() -> None:
    pair: Any = ("old", 0.5)
    with pytest.raises(UsageError, match=r"Parent\(code, reward\)"):
        made(0.5, pair)
    text: Any = "0.5"
    for call in (
        lambda: made(text),
        lambda: made(0.5, Parent("old", text)),
        lambda: validation_gap(text, 0.5),
        lambda: penalize_gap(text, 0.1),
        lambda: penalize_gap(0.5, text),
        lambda: compare_published(text, 0.5, higher_is_better=True),
        lambda: compare_published(0.5, text, higher_is_better=True),
    ):
        with pytest.raises(UsageError, match="A score is a number"):
            call()
    static: Any = (0.0, 1.0)
    with pytest.raises(UsageError, match="StaticBounds"):
        validation_gap(0.5, 0.4, static=static)
    with pytest.raises(UsageError, match="tolerance is a finite number above 0"):
        penalize_gap(0.5, 0.1, tolerance=text)
