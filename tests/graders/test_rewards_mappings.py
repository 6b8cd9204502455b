from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import UnknownNameError, UsageError
from openmle_env.graders.medals import Leaderboard
from openmle_env.graders.rewards import (
    MAPPING_MODES,
    Bounds,
    StaticBounds,
    finite,
    leaderboard_rank,
    linear_sign,
    logistic,
    map_score,
    margin_tanh,
    medal_binary,
    online_percentile,
    power_clip,
    power_sigmoid,
)

numbers = st.floats(allow_nan=False, allow_infinity=False)
scores = st.one_of(st.none(), st.floats(), st.just(10**400))
UNIT = Bounds(0.0, 1.0)
ACCURACY: dict[str, Any] = {"higher_is_better": True, "bounds": UNIT}
BOARD = Leaderboard([0.9, 0.8, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0], higher_is_better=True)
SIGMOID_1, SIGMOID_2 = 0.7310585786300049, 0.8807970779778823


@pytest.mark.parametrize(
    ("score", "alpha", "reward"),
    [(0.75, 1.0, 0.75), (0.75, 2.0, 0.5625), (0.25, 0.5, 0.5), (1.5, 1.0, 1.0), (-1.0, 3.0, 0.0), (0.0, 0.5, 0.0)],
)
def test_power_clip(score: float, alpha: float, reward: float) -> None:
    assert power_clip(score, UNIT, alpha=alpha) == pytest.approx(reward)
    assert alpha != 1.0 or power_clip(score, UNIT) == map_score(score, mode="power_clip", **ACCURACY) == reward


def test_curves_by_hand() -> None:
    # The worst bound: sigmoid(-1) squared; the best: sigmoid(1) squared; a temperature of 0.25 gives sigmoid(-2), (2).
    assert power_sigmoid(0.0, UNIT) == pytest.approx((1 - SIGMOID_1) ** 2)
    assert power_sigmoid(1.0, UNIT) == pytest.approx(SIGMOID_1**2)
    assert power_sigmoid(1.0, UNIT, temperature=0.25, alpha=1.0) == pytest.approx(SIGMOID_2)
    assert logistic(-3.0, Bounds(-3.0, 1.0)) == 0.5
    assert logistic(1.0, Bounds(-3.0, 1.0)) == pytest.approx(SIGMOID_2)
    # tanh(1) = 2 sigmoid(2) - 1.
    assert margin_tanh(0.75, UNIT) == pytest.approx(SIGMOID_2**2)
    assert margin_tanh(0.25, UNIT, alpha=1.0) == pytest.approx(1 - SIGMOID_2)
    assert margin_tanh(1.0, UNIT, width=0.5, alpha=1.0) == pytest.approx(SIGMOID_2)


@pytest.mark.parametrize("curve", [power_sigmoid, logistic, margin_tanh])
@pytest.mark.parametrize("start", [-700.0, -0.5, 0.5])
def test_not_even_the_last_digit_of_a_reward_falls_as_scores_rise(curve: Any, start: float) -> None:
    rewards = [curve(start + step * math.ulp(start), UNIT) for step in range(300)]
    assert rewards == sorted(rewards)


def test_curves_tell_scores_beyond_the_bounds_apart() -> None:
    for curve in (power_sigmoid, logistic, margin_tanh):
        assert curve(-0.5, UNIT) < curve(0.0, UNIT) < curve(1.0, UNIT) < curve(1.5, UNIT)


def test_percentile_counts_ties_half_and_no_missing_ones() -> None:
    assert online_percentile(0.5, [0.1, 0.2, 0.5, 0.9]) == 0.625
    assert online_percentile(0.5, [None, math.nan, 0.1]) == 1.0
    assert online_percentile(0.5, [math.inf]) == 0.5
    assert online_percentile(0.5, []) == 0.5
    # Losses: 0.2 beats 0.3 and 0.4, not 0.1.
    got = map_score(0.2, mode="online_percentile", higher_is_better=False, references=[0.1, 0.3, 0.4, None])
    assert got == pytest.approx(2 / 3)


def test_rewards_on_a_board() -> None:
    # Ten teams: gold 1, silver 2, bronze 4 places.
    assert [medal_binary(score, BOARD) for score in (0.95, 0.8, 0.6, 0.59)] == [1.0, 1.0, 1.0, 0.0]
    assert [leaderboard_rank(score, BOARD) for score in (0.95, 0.9, 0.8, 0.6, 0.0, -1.0)] == pytest.approx(
        [1.0, 1.0, 8 / 9, 6 / 9, 0.0, 0.0]
    )
    one = Leaderboard([0.5], higher_is_better=False)
    assert [leaderboard_rank(score, one) for score in (0.4, 0.5, 0.6)] == [1.0, 1.0, 0.0]


def test_each_mode_is_its_function_with_the_same_defaults() -> None:
    expected = {
        "power_clip": power_clip(0.6, UNIT),
        "power_sigmoid": power_sigmoid(0.6, UNIT),
        "logistic": logistic(0.6, UNIT),
        "margin_tanh": margin_tanh(0.6, UNIT),
        "online_percentile": online_percentile(0.6, [0.1, 0.7]),
        "linear_sign": linear_sign(0.6),
        "medal_binary": medal_binary(0.6, BOARD),
        "leaderboard_rank": leaderboard_rank(0.6, BOARD),
    }
    assert set(expected) == set(MAPPING_MODES)
    assert len(set(expected.values())) == len(expected) - 1  # power_clip with exponent 1 and linear_sign are both 0.6
    for mode, reward in expected.items():
        assert map_score(0.6, mode=mode, references=[0.1, 0.7], leaderboard=BOARD, **ACCURACY) == reward


def test_linear_sign_of_losses() -> None:
    assert linear_sign(-0.25) == -0.25
    losses = [map_score(loss, mode="linear_sign", higher_is_better=False, missing=-9.0) for loss in (0.0, 0.1, 7.0)]
    assert losses == [0.0, -0.1, -7.0]
    assert math.copysign(1.0, losses[0]) == 1.0


def test_a_missing_score_never_beats_a_poor_one() -> None:
    for mode in set(MAPPING_MODES) - {"linear_sign"}:
        assert map_score(None, mode=mode, higher_is_better=True, bounds=UNIT, leaderboard=BOARD) == 0.0
    losses = Bounds(-5.0, 0.0)
    assert map_score(math.nan, mode="linear_sign", higher_is_better=False, bounds=losses) == -5.0
    assert map_score(None, mode="linear_sign", higher_is_better=True, bounds=Bounds(0.5, 1.0)) == 0.0
    assert map_score(None, mode="power_clip", higher_is_better=True, bounds=UNIT, missing=-0.5) == -0.5
    with pytest.raises(UsageError, match="would beat every loss"):
        map_score(0.5, mode="linear_sign", higher_is_better=False)


def test_without_bounds() -> None:
    assert map_score(1.0, mode="power_clip", higher_is_better=True) == 0.0
    got = map_score(1.0, mode="power_clip", higher_is_better=False, without_bounds="sigmoid")
    assert got == pytest.approx(1 - SIGMOID_1)
    assert map_score(-1e308, mode="logistic", higher_is_better=True, without_bounds="sigmoid") < 1e-300


@given(
    st.sampled_from(MAPPING_MODES),
    st.booleans(),
    st.tuples(numbers, numbers).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: Bounds(*sorted(pair))),
    st.lists(numbers, min_size=1, max_size=8),
    st.tuples(scores, scores),
)
def test_rewards_are_finite_and_never_fall_as_scores_rise(
    mode: str, higher: bool, bounds: Bounds, others: list[float], two: tuple[Any, Any]
) -> None:
    board = Leaderboard(others, higher_is_better=higher)

    def reward(score: Any) -> float:
        return map_score(score, mode=mode, higher_is_better=higher, bounds=bounds, references=others, leaderboard=board)

    first, second = two
    pair = reward(first), reward(second)
    for value in pair:
        assert math.isfinite(value)
        assert mode == "linear_sign" or 0.0 <= value <= 1.0
    if finite(first) is not None and finite(second) is not None and first != second:
        worse, better = pair if (first < second) is higher else pair[::-1]
        assert worse <= better


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"mode": "power_clp"}, "Did you mean 'power_clip'"),
        ({"mode": "median"}, "no reward mapping 'median'"),
        ({"mode": "power_clip", "alpha": 0.0}, "alpha"),
        ({"mode": "power_sigmoid", "alpha": math.nan}, "alpha"),
        ({"mode": "power_sigmoid", "temperature": 0.0}, "temperature"),
        ({"mode": "margin_tanh", "width": -1.0}, "width"),
        ({"mode": "logistic", "bounds": Bounds(1.0, 0.0)}, "worst below the best"),
        ({"mode": "logistic", "bounds": Bounds(0.0, math.inf)}, "finite signed scores"),
        ({"mode": "logistic", "bounds": Bounds(-math.inf, 0.0)}, "finite signed scores"),
        ({"mode": "leaderboard_rank"}, "needs a leaderboard"),
        ({"mode": "medal_binary", "leaderboard": Leaderboard([0.1], higher_is_better=False)}, "higher_is_better=False"),
        ({"mode": "power_clip", "missing": math.nan}, "missing score"),
        ({"mode": "power_clip", "without_bounds": "sigmoit"}, "Did you mean 'sigmoid'"),
        ({"mode": "power_clip", "higher_is_better": None}, "higher_is_better"),
    ],
)
@pytest.mark.parametrize("score", [0.5, None])
def test_a_wrong_configuration_is_refused_whatever_the_score(
    settings: dict[str, Any], says: str, score: float | None
) -> None:
    with pytest.raises(UsageError, match=says):
        map_score(score, **(ACCURACY | settings))


def test_an_unknown_mode_names_the_known_ones() -> None:
    with pytest.raises(UnknownNameError) as caught:
        map_score(0.5, mode="zzz", higher_is_better=True)
    assert all(mode in str(caught.value) for mode in MAPPING_MODES)


def test_plain_functions_take_scores_only() -> None:
    for function in (power_clip, power_sigmoid, logistic, margin_tanh):
        with pytest.raises(UsageError, match="finite"):
            function(math.nan, UNIT)
        with pytest.raises(UsageError, match="worst below the best"):
            function(0.5, Bounds(0.5, 0.5))
    with pytest.raises(UsageError, match="finite"):
        linear_sign(math.inf)
    with pytest.raises(UsageError, match="finite"):
        online_percentile(math.nan, [0.5])


@pytest.mark.parametrize("bounds", [(0.0, 1.0), StaticBounds(0.0, 1.0), None, 1.0])
def test_curves_take_signed_bounds_and_say_so(bounds: Any) -> None:
    for function in (power_clip, power_sigmoid, logistic, margin_tanh):
        with pytest.raises(UsageError, match=r"Bounds\(worst, best\), of signed scores"):
            function(0.5, bounds)
    if bounds is not None:
        for mode in MAPPING_MODES:
            with pytest.raises(UsageError, match=r"Bounds\(worst, best\), of signed scores"):
                map_score(0.5, mode=mode, higher_is_better=True, bounds=bounds, leaderboard=BOARD)
    with pytest.raises(UsageError, match=r"4\.0, 0\.0.*negate both"):
        map_score(0.5, mode="power_clip", higher_is_better=False, bounds=Bounds(4.0, 0.0))


def test_boards_references_and_scores_of_another_type_are_refused() -> None:
    scores: Any = [0.9, 0.1]
    for function in (medal_binary, leaderboard_rank):
        with pytest.raises(UsageError, match="The leaderboard is a Leaderboard"):
            function(0.5, scores)
    with pytest.raises(UsageError, match="The leaderboard is a Leaderboard"):
        map_score(0.5, mode="leaderboard_rank", higher_is_better=True, leaderboard=scores)
    one: Any = 0.5
    with pytest.raises(UsageError, match="references is a list of scores"):
        online_percentile(0.5, one)
    text: Any = "0.5"
    for mode in MAPPING_MODES:
        with pytest.raises(UsageError, match="A score is a number"):
            map_score(text, mode=mode, leaderboard=BOARD, **ACCURACY)


def test_the_rank_of_a_board_is_not_the_share_that_is_beaten() -> None:
    # Ten teams, of which one is better than 0.8, two tie with it and seven are beaten.
    assert leaderboard_rank(0.8, BOARD) == pytest.approx(1 - 1 / 9)
    assert BOARD.place(0.8).human_rank == 0.7
    # The first place: nobody is better; it ties with itself.
    assert leaderboard_rank(0.9, BOARD) == 1.0
    assert BOARD.place(0.9).human_rank == 0.9
