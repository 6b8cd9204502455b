from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import UnknownNameError, UsageError
from openmle_env.graders.rewards import (
    BOUND_MODES,
    Bounds,
    StaticBounds,
    adaptive_bounds,
    adaptive_reward,
    anchored_bounds,
    cap_span,
    finite,
    normalized,
    signed,
    static_bounds,
)

numbers = st.floats(allow_nan=False, allow_infinity=False)
anything = st.one_of(st.none(), st.floats(), st.integers(-3, 3).map(float), st.sampled_from([10**400, 0.1, 0.1 + 1e-9]))
UNIT = StaticBounds(0.0, 1.0)


@pytest.mark.parametrize("score", [None, math.nan, math.inf, -math.inf, 10**400])
def test_what_is_no_score_has_no_sign(score: float | None) -> None:
    assert finite(score) is None
    assert signed(score, higher_is_better=True) is None
    assert signed(score, higher_is_better=False) is None


def test_a_perfect_loss_is_zero_and_beats_every_other() -> None:
    perfect = signed(0.0, higher_is_better=False)
    assert perfect == 0.0
    assert math.copysign(1.0, perfect or 0.0) == 1.0
    assert signed(1e-9, higher_is_better=False) == -1e-9


@pytest.mark.parametrize("direction", [None, 1, "max"])
def test_the_direction_is_stated(direction: Any) -> None:
    with pytest.raises(UsageError, match="higher_is_better"):
        signed(0.5, higher_is_better=direction)


@given(numbers, numbers, numbers, st.booleans())
def test_raw_and_signed_bounds_give_one_share(score: float, worst: float, best: float, higher: bool) -> None:
    if worst == best:
        return
    sign = [signed(number, higher_is_better=higher) for number in (score, worst, best)]
    assert normalized(score, (worst, best)) == normalized(sign[0] or 0.0, (sign[1] or 0.0, sign[2] or 0.0))


# By hand: accuracy known to lie in [0, 1], of a board from 0.4 to 0.95; a loss of at least 0, of a board from 0.1 to 5.
@pytest.mark.parametrize(
    ("higher", "theoretical", "leaderboard", "prefer", "limits"),
    [
        (True, (0.0, 1.0), (0.4, 0.95), "hull", (0.0, 1.0)),
        (True, (0.0, 1.0), (0.4, 0.95), "theoretical", (0.0, 1.0)),
        (True, (0.0, 1.0), (0.4, 0.95), "leaderboard", (0.4, 0.95)),
        (True, (0.0, 1.0), (-0.5, 0.9), "hull", (-0.5, 1.0)),
        (True, (0.0, 1.0), (None, None), "leaderboard", (0.0, 1.0)),
        (False, (0.0, None), (0.1, 5.0), "hull", (-5.0, 0.0)),
        (False, (0.0, math.inf), (0.1, 5.0), "theoretical", (-5.0, 0.0)),
        (False, (0.0, None), (0.1, 5.0), "leaderboard", (-5.0, -0.1)),
        (False, (0.0, None), (math.nan, None), "hull", (None, 0.0)),
        (True, (None, None), (None, None), "hull", (None, None)),
    ],
)
def test_static_bounds(
    higher: bool, theoretical: Any, leaderboard: Any, prefer: Any, limits: tuple[float | None, float | None]
) -> None:
    got = static_bounds(higher_is_better=higher, theoretical=theoretical, leaderboard=leaderboard, prefer=prefer)
    assert got == StaticBounds(*limits)


def test_static_bounds_refuse_what_contradicts_itself() -> None:
    ends: Any
    for ends in (None, (0.0,), 1.0):
        with pytest.raises(UsageError, match="theoretical range is a pair"):
            static_bounds(higher_is_better=True, theoretical=ends)
    with pytest.raises(UsageError, match="leaderboard range is upside down"):
        static_bounds(higher_is_better=False, leaderboard=(5.0, 0.1))
    with pytest.raises(UnknownNameError, match="Did you mean 'theoretical'"):
        static_bounds(higher_is_better=True, prefer="teoretical")  # type: ignore[arg-type]


def test_limits_are_bounds_where_both_ends_are_known() -> None:
    assert UNIT.bounds() == Bounds(0.0, 1.0)
    assert StaticBounds(-5e6, 0.0).bounds() == Bounds(-1e6, 0.0)
    assert StaticBounds(None, 1.0).bounds() is None
    assert StaticBounds(0.0, None).bounds() is None
    assert StaticBounds(0.5, 0.5).bounds() is None


def test_anchors_of_the_logistic_curve() -> None:
    assert anchored_bounds(higher_is_better=False, theoretical=(0.0, None), leaderboard=(0.1, 5e9)) == (-100.0, 0.0)
    assert anchored_bounds(higher_is_better=True, leaderboard=(None, 2.0)) == (-100.0, 2.0)
    assert anchored_bounds(higher_is_better=True, theoretical=(0.0, None)) is None
    assert anchored_bounds(higher_is_better=True, leaderboard=(0.5, 0.5)) is None


def test_a_cap_counts_from_the_best() -> None:
    assert cap_span(Bounds(0.0, 1.0)) == Bounds(0.0, 1.0)
    assert cap_span(Bounds(-3.0, 5.0), max_span=2.0) == Bounds(3.0, 5.0)
    with pytest.raises(UsageError, match="max_span"):
        cap_span(Bounds(0.0, 1.0), max_span=0.0)
    with pytest.raises(UsageError, match="the worst below the best"):
        cap_span(Bounds(4.0, 0.0))  # of a loss, and not signed


def adapt(scores: list[float], limits: StaticBounds = UNIT, **settings: Any) -> Bounds | None:
    settings = {"higher_is_better": True, "static": limits} | settings
    return adaptive_bounds(scores[:2], scores[2:], **settings)


# By hand: 20 scores 1, 2, ..., 20, so that the 16th best is 5, the 8th 13, mean and median 10.5.
@pytest.mark.parametrize(
    ("mode", "worst"),
    [
        ("top1_top16", 5.0),
        ("top1_top8", 13.0),
        ("top1_all_mean", 10.5),
        ("top1_all_median", 10.5),
        ("theoretical", 0.0),
    ],
)
def test_the_modes(mode: str, worst: float) -> None:
    scores = [float(i) for i in range(1, 21)]
    assert adapt(scores, StaticBounds(0.0, 20.0), mode=mode, shift=0.0) == pytest.approx(Bounds(worst, 20.0))
    lowered = worst if mode == "theoretical" else worst - 0.25 * (20.0 - worst)
    assert adapt(scores, StaticBounds(0.0, 20.0), mode=mode) == pytest.approx(Bounds(lowered, 20.0))
    last_of_two = adapt([20.0, 1.0], StaticBounds(0.0, 20.0), mode="top1_top8", shift=0.0)
    assert last_of_two == Bounds(1.0, 20.0)


def test_losses_and_scores_that_are_none() -> None:
    # Signed -0.5, -1.5, so the worst is -1.5 - 0.25 * 1.
    assert adapt([0.5, math.nan, 1.5], StaticBounds(None, 0.0), higher_is_better=False) == Bounds(-1.75, -0.5)


def test_static_limits_cut_and_stand_in() -> None:
    assert adapt([0.05, 0.9]) == Bounds(0.0, 0.9)
    assert adapt([], UNIT) == Bounds(0.0, 1.0)
    assert adapt([], StaticBounds(0.0, None)) is None
    assert adapt([-3.0, -2.0], UNIT) == Bounds(0.0, 1.0)  # all below the static worst
    assert adapt([2.0, 3.0], UNIT) == Bounds(0.0, 1.0)  # all above the static best


def test_ties_get_the_least_span() -> None:
    assert adapt([0.6, 0.6, 0.6]) == pytest.approx(Bounds(0.6, 0.6 + 1e-6), rel=1e-12)
    assert adapt([1.0, 1.0, 1.0]) == Bounds(0.0, 1.0)  # at the best that is possible: 0 reward would be absurd
    perfect = adapt([0.0, 0.0], StaticBounds(None, 0.0), higher_is_better=False)
    assert perfect == Bounds(-1e-6, 0.0)
    hopeless = adapt([-1.0, -2.0], StaticBounds(0.0, None))
    assert hopeless == Bounds(0.0, 1e-6)


def test_enormous_spans_are_capped_from_the_best() -> None:
    assert adapt([0.0, -5e6], StaticBounds()) == Bounds(-1e6, 0.0)
    assert adapt([0.0, -5.0], StaticBounds(), min_span=1.0, max_span=1.0) == Bounds(-1.0, 0.0)
    assert adapt([0.0, -5e6], StaticBounds(-9e9, 0.0), mode="theoretical") == Bounds(-1e6, 0.0)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"mode": "top1_top61"}, "Did you mean 'top1_top16'"),
        ({"shift": -0.1}, "shift"),
        ({"shift": math.nan}, "shift"),
        ({"min_span": 0.0}, "min_span"),
        ({"max_span": math.inf}, "max_span"),
        ({"min_span": 2.0, "max_span": 1.0}, "greater than max_span"),
        ({"higher_is_better": None}, "higher_is_better"),
    ],
)
def test_a_wrong_configuration_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        adapt([0.1, 0.2], **settings)


@given(
    st.lists(anything, max_size=20),
    st.lists(anything, max_size=20),
    st.booleans(),
    st.sampled_from(BOUND_MODES),
    st.tuples(st.none() | numbers, st.none() | numbers),
)
def test_bounds_are_finite_and_in_order_whatever_the_scores(
    history: list[Any], group: list[Any], higher: bool, mode: str, ends: tuple[float | None, float | None]
) -> None:
    if None not in ends and ends[0] >= ends[1]:  # type: ignore[operator]
        return
    limits = StaticBounds(*ends)
    found = adaptive_bounds(history, group, higher_is_better=higher, static=limits, mode=mode)
    if found is not None:
        assert math.isfinite(found.worst)
        assert math.isfinite(found.best)
        assert found.worst < found.best
    reward = adaptive_reward(
        group[0] if group else None,
        higher_is_better=higher,
        history=history,
        group=group,
        static=limits,
        bound_mode=mode,
    ).reward
    assert 0.0 <= reward <= 1.0


def test_the_best_of_a_group_gets_most_and_what_is_below_gets_nothing() -> None:
    group = [0.2, 0.5, 0.8, None]
    rewards = [
        adaptive_reward(score, higher_is_better=True, history=[0.4], group=group, static=UNIT).reward for score in group
    ]
    # Bounds 0.8 and 0.2 - 0.25 * 0.6 = 0.05: shares 0.15 / 0.75, 0.45 / 0.75, 1.
    assert rewards == pytest.approx([0.2, 0.6, 1.0, 0.0])
    low = adaptive_reward(0.01, higher_is_better=True, history=group, group=[], static=UNIT)
    assert low.reward == 0.0


def test_the_first_program_that_works_gets_all() -> None:
    def first(**settings: Any) -> float:
        return adaptive_reward(
            0.7, higher_is_better=True, history=[None], group=[math.nan, 0.7], static=UNIT, **settings
        ).reward

    assert first() == 1.0
    assert first(single=0.5) == 0.5
    assert first(single=None) == 0.0
    assert first(bound_mode="theoretical") == pytest.approx(0.7)
    failed = adaptive_reward(None, higher_is_better=True, history=[], group=[None, 0.7], static=UNIT)
    assert failed.reward == 0.0
    with pytest.raises(UsageError, match="single"):
        first(single=math.nan)


def grouped(group: list[Any], history: list[Any] | None = None, **settings: Any) -> list[float]:
    settings = {"higher_is_better": True, "static": UNIT} | settings
    return [adaptive_reward(score, history=history or [], group=group, **settings).reward for score in group]


def test_scores_that_tie_beat_a_failure() -> None:
    assert grouped([None, 0.5, 0.5]) == [0.0, 1.0, 1.0]
    assert grouped([0.5, 0.5], [0.5, None, math.nan]) == [1.0, 1.0]
    assert grouped([None, 4.0, 4.0], higher_is_better=False, static=StaticBounds()) == [0.0, 1.0, 1.0]
    assert grouped([0.5, 0.5], single=0.25) == [0.25, 0.25]
    assert grouped([0.5, 0.5], bound_mode="theoretical") == [0.5, 0.5]
    # The rule is off: bounds 0.5 and 0.5 + 1e-6.
    assert grouped([None, 0.5, 0.5], single=None) == [0.0, 0.0, 0.0]


def test_scores_that_differ_are_no_tie() -> None:
    # Bounds 0.6 and 0.5 - 0.25 * 0.1.
    assert grouped([None, 0.5, 0.5], [0.6]) == pytest.approx([0.0, 0.2, 0.2])
    # A score that the caller left out of the group ties with nothing: above all known ones, below all.
    others = {"higher_is_better": True, "history": [0.5], "group": [0.5], "static": UNIT}
    assert adaptive_reward(0.9, **others).reward == 1.0  # type: ignore[arg-type]
    assert adaptive_reward(0.1, **others).reward == 0.0  # type: ignore[arg-type]


@given(st.lists(st.sampled_from([None, 0.25, 0.5]), min_size=1, max_size=6), st.booleans())
def test_in_a_group_no_failure_beats_a_score_and_order_is_kept(group: list[float | None], higher: bool) -> None:
    rewards = grouped(list(group), higher_is_better=higher, static=StaticBounds())
    for one, reward in zip(group, rewards, strict=True):
        assert reward == 0.0 if one is None else reward > 0.0
    by_score = {score: reward for score, reward in zip(group, rewards, strict=True) if score is not None}
    if len(by_score) == 2:
        assert (by_score[0.5] > by_score[0.25]) is higher


def test_only_mappings_that_use_bounds_use_adaptive_ones() -> None:
    for mapping in ("linear_sign", "online_percentile", "leaderboard_rank", "medal_binary"):
        with pytest.raises(UsageError, match=r"uses no bounds.*power_clip"):
            grouped([0.5], mapping=mapping)
    with pytest.raises(UnknownNameError, match="power_clip"):
        grouped([0.5], mapping="power_clp")


@pytest.mark.parametrize("static", [(0, 1), (0.0, 1.0), [0.0, 1.0], None, Bounds(0.0, 1.0), 1.0])
def test_static_bounds_of_another_type_are_refused(static: Any) -> None:
    for call in (lambda: grouped([0.5], static=static), lambda: adapt([0.5], static)):
        with pytest.raises(UsageError, match=r"StaticBounds\(worst, best\) of signed scores"):
            call()


@pytest.mark.parametrize("ends", [("0", 1.0), (math.nan, 1.0), (0.0, math.inf), (False, True), ((0.0, 1.0),)])
def test_ends_of_static_bounds_are_numbers(ends: Any) -> None:
    with pytest.raises(UsageError, match="static bound is a finite number, or None"):
        StaticBounds(*ends)


def test_static_bounds_of_numpys_numbers_are_plain_ones() -> None:
    assert repr(StaticBounds(np.float32(-0.5), np.int64(1))) == "StaticBounds(worst=-0.5, best=1.0)"  # type: ignore[arg-type]


@pytest.mark.parametrize("score", ["0.5", b"0.5", "", True, np.True_, [0.5], 0.5j])
def test_a_text_or_a_bool_is_no_score(score: Any) -> None:
    calls = (
        lambda: finite(score),
        lambda: signed(score, higher_is_better=True),
        lambda: normalized(score, (0.0, 1.0)),
        lambda: grouped([score]),
        lambda: grouped([0.5], [score]),
    )
    for call in calls:
        with pytest.raises(UsageError, match="A score is a number"):
            call()


@pytest.mark.parametrize("scores", [0.5, "0.5", None])
def test_a_group_is_a_list(scores: Any) -> None:
    with pytest.raises(UsageError, match="group is a list of scores"):
        adaptive_bounds([], scores, higher_is_better=True)
    with pytest.raises(UsageError, match="history is a list of scores"):
        adaptive_reward(0.5, history=scores, group=[0.5], higher_is_better=True)


def test_numpys_bools_and_numbers_are_taken() -> None:
    higher: Any = np.True_
    assert signed(np.float32(0.5), higher_is_better=higher) == 0.5  # type: ignore[arg-type]
    assert signed(0.5, higher_is_better=not higher) == -0.5
    assert grouped([0.2, 0.8], higher_is_better=np.False_, static=StaticBounds()) == pytest.approx([1.0, 0.2])
    assert adaptive_bounds(np.array([0.2, 0.8]), [], higher_is_better=True) == pytest.approx((0.05, 0.8))


@pytest.mark.parametrize("name", ["shift", "min_span", "max_span"])
def test_settings_that_are_texts_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        adapt([0.1, 0.2], **{name: "1"})
