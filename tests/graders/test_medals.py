from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.medals import Leaderboard, Place, medal_positions

finite = st.floats(allow_nan=False, allow_infinity=False)
few = st.integers(-3, 3).map(float)  # many ties
boards = st.lists(finite | few, min_size=1, max_size=130)


@pytest.mark.parametrize(
    ("teams", "positions"),
    [  # by hand, from the table of Kaggle's progression rules that MLE-bench uses
        (1, (1, 1, 1)),
        (2, (1, 1, 1)),
        (9, (1, 1, 3)),
        (10, (1, 2, 4)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (499, (10, 50, 100)),
        (500, (11, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (1499, (12, 74, 149)),
        (100_000, (210, 5_000, 10_000)),
    ],
)
def test_positions_at_every_edge(teams: int, positions: tuple[int, int, int]) -> None:
    assert medal_positions(teams) == positions
    assert medal_positions(teams)._asdict() == dict(zip(("gold", "silver", "bronze"), positions, strict=True))


@given(st.integers(1, 100_000))
def test_positions_are_the_floors_of_exact_shares(n: int) -> None:
    gold, silver, bronze = medal_positions(n)
    assert 1 <= gold <= silver <= bronze <= n
    if n < 250:
        assert silver == max(1, math.floor(Fraction(1, 5) * n))
        assert bronze == max(1, math.floor(Fraction(2, 5) * n))
    if n >= 100:
        assert gold == 10 + (math.floor(Fraction(2, 1000) * n) if n >= 250 else 0)
    if n >= 1000:
        assert (silver, bronze) == (math.floor(Fraction(1, 20) * n), math.floor(Fraction(1, 10) * n))


@pytest.mark.parametrize("teams", [0, -1, 2.5, True, math.nan, "10", None])
def test_there_are_no_positions_without_teams(teams: Any) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        medal_positions(teams)


def ladder(n: int, *, higher: bool) -> Leaderboard:
    """Scores 1..n; the best is n or 1."""
    return Leaderboard(np.arange(1, n + 1), higher_is_better=higher)


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("n", [1, 2, 9, 10, 99, 100, 249, 250, 999, 1000, 100_000])
def test_medals_end_exactly_at_their_positions(n: int, higher: bool) -> None:
    board, at = ladder(n, higher=higher), medal_positions(n)
    score = (lambda rank: n + 1 - rank) if higher else (lambda rank: rank)
    edges = {rank for position in at for rank in (position, position + 1) if rank <= n}
    for rank in edges | {1, n}:
        medal = next((name for name, position in at._asdict().items() if rank <= position), None)
        assert board.place(score(rank)) == Place(
            rank=rank, teams=n, human_rank=(n - rank) / n, medal=medal, above_median=2 * rank < n + 1
        )
    assert (board.gold, board.silver, board.bronze) == (score(at.gold), score(at.silver), score(at.bronze))
    assert board.median == (n + 1) / 2


def test_ties_share_the_better_rank_and_the_medal() -> None:
    # Ten teams: gold is place 1, silver up to 2, bronze up to 4; places 4 to 7 tie.
    board = Leaderboard([0.9, 0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3, 0.2, 0.1], higher_is_better=True)
    assert board.place(0.5) == Place(rank=4, teams=10, human_rank=0.3, medal="bronze", above_median=False)
    assert board.place(math.nextafter(0.5, 0.0)).medal is None
    assert board.place(0.95).rank == 1
    assert board.place(0.05) == Place(rank=11, teams=10, human_rank=0.0, medal=None, above_median=False)


def test_equal_scores_are_ranked_one_two_two_four() -> None:
    board = Leaderboard([0.9000004, 0.9, 0.9, 0.8], higher_is_better=True)
    assert [board.place(score).rank for score in board.best_first] == [1, 2, 2, 4]


def test_the_median_itself_is_not_above_it() -> None:
    assert not Leaderboard([1.0, 2.0, 3.0], higher_is_better=True).place(2.0).above_median
    assert not Leaderboard([1.0, 2.0, 3.0], higher_is_better=False).place(2.0).above_median
    even = Leaderboard([1.0, 2.0, 3.0, 4.0], higher_is_better=False)
    assert even.median == 2.5
    assert not even.place(2.5).above_median
    assert even.place(2.4).above_median


@given(boards, finite | few, st.booleans())
def test_a_place_agrees_with_counting_and_with_the_thresholds(scores: list[float], score: float, higher: bool) -> None:
    board = Leaderboard(scores, higher_is_better=higher)
    place = board.place(score)
    better = sum(each > score if higher else each < score for each in scores)
    beaten = sum(each < score if higher else each > score for each in scores)
    assert (place.rank, place.human_rank) == (1 + better, beaten / len(scores))
    reached = [
        name
        for name in ("gold", "silver", "bronze")
        if (score >= getattr(board, name) if higher else score <= getattr(board, name))
    ]
    assert place.medal == (reached[0] if reached else None)
    assert math.isfinite(board.median)
    assert place.above_median == (score > board.median if higher else score < board.median)
    assert sorted(scores, reverse=higher) == board.best_first.tolist()


@given(boards, finite | few)
def test_the_direction_is_only_a_sign(scores: list[float], score: float) -> None:
    up = Leaderboard(scores, higher_is_better=True)
    down = Leaderboard([-each for each in scores], higher_is_better=False)
    assert up.place(score) == down.place(-score)
    assert (up.gold, up.median) == (-down.gold, -down.median)


def test_order_of_rows_and_kind_of_sequence_mean_nothing() -> None:
    scores = [3, 1, 2, 2]
    expected = Leaderboard(scores, higher_is_better=False).place(2)
    arrays = np.array(scores), np.array(scores, dtype=np.float32), np.array([2, 2, 1, 3])
    for same in (tuple(scores), iter(scores), *arrays):
        assert Leaderboard(same, higher_is_better=False).place(2) == expected


def test_a_cap_drops_what_is_better_and_says_so() -> None:
    scores = [1.0, 1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]  # two leaks at the top
    board = Leaderboard(scores, higher_is_better=True, cap=0.95)
    assert board.teams == 10
    assert board.place(0.95) == Place(rank=1, teams=10, human_rank=0.9, medal="gold", above_median=True)
    assert board.notes == ("2 of 12 entries are better than the cap 0.95 and left out.",)
    losses = Leaderboard([0.0, 0.1, 0.2] * 5, higher_is_better=False, cap=0.1)
    assert (losses.teams, losses.gold) == (10, 0.1)
    assert Leaderboard(scores, higher_is_better=True, cap=1.0).notes == ()


def test_a_cap_below_every_score_leaves_no_board() -> None:
    with pytest.raises(PackError, match=r"All 2 scores .* better than the cap 0\.1"):
        Leaderboard([0.5, 0.6], higher_is_better=True, cap=0.1)


@pytest.mark.parametrize("cap", [math.nan, math.inf, "1", True])
def test_a_cap_is_a_number(cap: Any) -> None:
    with pytest.raises(UsageError, match="cap is a finite number"):
        Leaderboard([0.5], higher_is_better=True, cap=cap)


def test_small_and_equal_boards_carry_a_note() -> None:
    (note,) = Leaderboard([0.1 * i for i in range(9)], higher_is_better=True).notes
    assert "only 9 teams" in note
    assert Leaderboard([0.1 * i for i in range(10)], higher_is_better=True).notes == ()
    equal = Leaderboard([0.5] * 12, higher_is_better=False)
    assert any("equal" in note for note in equal.notes)
    assert equal.place(0.5) == Place(rank=1, teams=12, human_rank=0.0, medal="gold", above_median=False)
    assert equal.place(0.6) == Place(rank=13, teams=12, human_rank=0.0, medal=None, above_median=False)
    single = Leaderboard([0.5], higher_is_better=False, notes=("From an archive.",))
    assert single.notes[0] == "From an archive."
    assert "only 1 team:" in single.notes[1]


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([], "empty"),
        (np.array([]), "empty"),
        ([0.5, math.nan], "Entry 2 of the leaderboard is nan, not a finite number\\."),
        (np.array([0.5, 0.6, math.inf]), "Entry 3 of the leaderboard is inf"),
        ([math.nan, 0.5, -math.inf], r"Entry 1 .* \(2 such entries\)"),
        ([None, 0.5], "Entry 1 of the leaderboard is None"),
        ([0.5, "0.6"], "Entry 2 of the leaderboard is '0.6'"),
        ([True, 0.5], "Entry 1 of the leaderboard is True"),
        (np.array([True, False]), "Entry 1"),
        (np.array(["0.5"]), "Entry 1"),
        (np.array([[0.5], [0.6]]), "Entry 1"),
        ([10**400], "Entry 1"),
        ("0.5", "sequence of numbers"),
        (0.5, "sequence of numbers"),
        (None, "sequence of numbers"),
        (b"12", "sequence of numbers"),
    ],
)
def test_what_is_no_board_is_refused_with_the_reason(scores: Any, says: str) -> None:
    with pytest.raises(PackError, match=says):
        Leaderboard(scores, higher_is_better=True)


@pytest.mark.parametrize("direction", [None, "max", 1, np.float64(1.0)])
def test_the_direction_is_never_guessed(direction: Any) -> None:
    with pytest.raises(UsageError, match="higher_is_better"):
        Leaderboard([0.1, 0.9], higher_is_better=direction)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, None, "0.9", True, 10**400])
def test_what_is_no_score_has_no_place(score: Any) -> None:
    with pytest.raises(UsageError, match="score is a finite number"):
        ladder(5, higher=True).place(score)


def test_scores_of_zero_and_of_any_size() -> None:
    board = Leaderboard([-0.0, 0.0, 1e-320], higher_is_better=False)
    assert board.place(0).rank == board.place(-0.0).rank == 1
    assert math.copysign(1.0, Leaderboard([0.0], higher_is_better=True).gold) == 1.0
    assert Leaderboard([1.7e308, 1.6e308], higher_is_better=True).median == pytest.approx(1.65e308)
    assert board.place(np.float32(0.5)).rank == 4


def test_a_board_is_frozen_and_travels_between_processes() -> None:
    scores = np.array([0.1, 0.2, 0.3])
    board = Leaderboard(scores, higher_is_better=False)
    scores[:] = 9.0
    board.best_first[:] = 9.0
    assert board.best_first.tolist() == [0.1, 0.2, 0.3]
    with pytest.raises(FrozenInstanceError):
        board.cap = 0.1  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(board)).place(0.15) == board.place(0.15)  # noqa: S301  our own bytes


def test_a_direction_of_numpys_is_taken_as_a_plain_one() -> None:
    for direction, best in ((np.True_, 0.9), (np.False_, 0.1)):
        board = Leaderboard([0.1, 0.9], higher_is_better=direction)  # type: ignore[arg-type]
        assert type(board.higher_is_better) is bool
        assert board.gold == best


def test_a_board_shows_its_size_and_thresholds_not_its_scores() -> None:
    board = Leaderboard(np.arange(1.0, 1001.0) / 1000, higher_is_better=False)
    # By hand: 1,000 teams, gold to place 12, silver to 50, bronze to 100; the median of 0.5 and 0.501.
    assert repr(board) == (
        "Leaderboard(1,000 teams, lower is better; gold 0.012, silver 0.05, bronze 0.1, median 0.5005)"
    )
    assert repr(Leaderboard([2], higher_is_better=True)).startswith("Leaderboard(1 team, higher is better; gold 2,")
