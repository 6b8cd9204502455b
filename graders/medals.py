"""Where a score would stand on a competition's leaderboard: rank, share beaten, medal.

The positions of the medals are Kaggle's rules of progression, as MLE-bench uses them. The direction of a board is data
of its task and never guessed from its rows; rows of entrants that cannot win (hosts, benchmarks) are left out by
whoever builds the board, so that they take no place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.echo import show
from openmle_env.types import Medal, Place

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW_TEAMS = 10
"""Boards with fewer teams have a single gold place, and gold and silver end at the same score."""


class MedalPositions(NamedTuple):
    """The last places, counted from 1, that still get each medal."""

    gold: int
    silver: int
    bronze: int


def medal_positions(n_teams: int) -> MedalPositions:
    """The medal places of a board of ``n_teams``.

    Computed in whole numbers, so that no product such as 0.002 n is rounded to the wrong side.

    Raises:
        UsageError: There is no team.

    >>> medal_positions(50), medal_positions(1000)
    (MedalPositions(gold=5, silver=10, bronze=20), MedalPositions(gold=12, silver=50, bronze=100))
    """
    number = finite_number(n_teams)
    if number is None or number < 1 or number != int(number):
        raise UsageError(f"A board has a whole number of teams, at least 1, not {n_teams!r}.")
    n = int(n_teams)
    if n < 100:
        return MedalPositions(max(1, n // 10), max(1, n // 5), max(1, n * 2 // 5))
    if n < 250:
        return MedalPositions(10, n // 5, n * 2 // 5)
    gold = 10 + n // 500
    return MedalPositions(gold, 50, 100) if n < 1000 else MedalPositions(gold, n // 20, n // 10)


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard:
    """The final scores of a competition's teams.

    Args:
        scores: One finite number for each team that can win, in any order; shape (teams,).
        higher_is_better: Direction of the metric, from the task.
        cap: Entries strictly better than this are dropped (a perfect score that was a leak, for example), and the
            places are counted among the teams that remain. ``notes`` says how many went. Scores that are placed later
            are not held to it.
        notes: Sentences of whoever builds the board, kept before its own.

    Raises:
        PackError: The board has no teams, none are left below the cap, or an entry is not a finite number.
        UsageError: The direction is not a bool (NumPy's will do), or the cap is not a finite number.

    >>> board = Leaderboard([0.9, 0.8, 0.8, 0.7, 0.1], higher_is_better=True)
    >>> board.place(0.8)
    Place(rank=2, teams=5, human_rank=0.4, medal='bronze', above_median=False)
    >>> board
    Leaderboard(5 teams, higher is better; gold 0.9, silver 0.9, bronze 0.8, median 0.8)
    """

    scores: InitVar[Iterable[float] | NDArray[np.generic]]
    higher_is_better: bool
    cap: float | None = None
    notes: tuple[str, ...] = ()
    """Sentences about what a reader should know before trusting this board's medals; the board adds its own."""
    positions: MedalPositions = field(init=False)
    _costs: NDArray[np.float64] = field(init=False, repr=False)
    """The scores with the sign that makes less better, ascending, so that one search serves both directions."""

    def __post_init__(self, scores: Iterable[float] | NDArray[np.generic]) -> None:
        object.__setattr__(self, "higher_is_better", stated_direction(self.higher_is_better))
        numbers = _numbers(scores)
        costs = np.sort(-numbers if self.higher_is_better else numbers)
        if not costs.size:
            raise PackError("The leaderboard is empty: it has no team with a score, so nothing can be placed on it.")
        kept = costs
        if self.cap is not None:
            kept = costs[np.searchsorted(costs, self._cost(self.cap, "cap"), side="left") :]
            if not kept.size:
                raise PackError(
                    f"All {costs.size:,} scores of the leaderboard are better than the cap {self.cap!r}. "
                    "Check the cap and the metric's direction."
                )
        kept.flags.writeable = False
        object.__setattr__(self, "_costs", kept)
        object.__setattr__(self, "positions", medal_positions(kept.size))
        object.__setattr__(self, "notes", (*self.notes, *self._own_notes(costs.size - kept.size)))

    def __repr__(self) -> str:
        """Short: how many teams, and the scores that medals need."""
        teams = f"{self.teams:,} {'team' if self.teams == 1 else 'teams'}"
        direction = "higher" if self.higher_is_better else "lower"
        scores = ", ".join(f"{name} {getattr(self, name):.6g}" for name in ("gold", "silver", "bronze", "median"))
        return f"Leaderboard({teams}, {direction} is better; {scores})"

    @property
    def teams(self) -> int:
        """How many teams the places are counted among."""
        return int(self._costs.size)

    @property
    def best_first(self) -> NDArray[np.float64]:
        """The scores, sorted; shape (teams,), a copy."""
        return 0.0 - self._costs if self.higher_is_better else self._costs.copy()

    @property
    def gold(self) -> float:
        """The worst score that gets a gold medal."""
        return self._at(self.positions.gold)

    @property
    def silver(self) -> float:
        """The worst score that gets at least a silver medal."""
        return self._at(self.positions.silver)

    @property
    def bronze(self) -> float:
        """The worst score that gets a medal."""
        return self._at(self.positions.bronze)

    @property
    def median(self) -> float:
        """The middle score, or the mean of the two in the middle."""
        low, high = self._at((self.teams + 1) // 2), self._at(self.teams // 2 + 1)
        middle = (low + high) / 2
        return middle if math.isfinite(middle) else low / 2 + high / 2

    def place(self, score: float) -> Place:
        """Where ``score`` would stand, in O(log teams).

        A score that equals a threshold gets the medal, and so do all that tie with it.

        Raises:
            UsageError: ``score`` is None, NaN, infinite or no number: a program without a score has no place.
        """
        cost = self._cost(score, "score")
        better = int(np.searchsorted(self._costs, cost, side="left"))
        beaten = self.teams - int(np.searchsorted(self._costs, cost, side="right"))
        return Place(
            rank=1 + better,
            teams=self.teams,
            human_rank=beaten / self.teams,
            medal=self._medal(1 + better),
            above_median=cost < (-self.median if self.higher_is_better else self.median),
        )

    def _medal(self, rank: int) -> Medal | None:
        # The same as comparing with the thresholds: a score is at least as good as the p-th iff fewer than p beat it.
        if rank <= self.positions.gold:
            return "gold"
        if rank <= self.positions.silver:
            return "silver"
        return "bronze" if rank <= self.positions.bronze else None

    def _cost(self, score: float, what: str) -> float:
        number = finite_number(score)
        if number is None:
            raise UsageError(f"A {what} is a finite number, not {_show(score)}.")
        return -number if self.higher_is_better else number

    def _at(self, position: int) -> float:
        cost = float(self._costs[position - 1])
        return 0.0 - cost if self.higher_is_better else cost  # never -0.0 for a score of zero

    def _own_notes(self, dropped: int) -> Iterable[str]:
        if dropped:
            yield f"{dropped:,} of {dropped + self.teams:,} entries are better than the cap {self.cap!r} and left out."
        if self.teams < FEW_TEAMS:
            yield (
                f"The board has only {self.teams} {'team' if self.teams == 1 else 'teams'}: gold and silver go to the "
                "first place alone, and a medal says little."
            )
        if self._costs[0] == self._costs[-1]:
            yield "All scores are equal: any score that ties with them gets gold, and none of them is above the median."


def _numbers(scores: Iterable[float] | NDArray[np.generic]) -> NDArray[np.float64]:
    if isinstance(scores, np.ndarray) and scores.ndim == 1 and scores.dtype.kind in "fiu":
        numbers = scores.astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if wrong.size:
            raise _bad_entry(int(wrong[0]), scores[wrong[0]].item(), int(wrong.size))
        return numbers
    if isinstance(scores, (str, bytes)) or not isinstance(scores, Iterable):
        raise PackError(f"A leaderboard is a sequence of numbers, not {_show(scores)}.")
    entries = list(scores)
    found = [finite_number(entry) for entry in entries]
    wrong_at = [i for i, number in enumerate(found) if number is None]
    if wrong_at:
        raise _bad_entry(wrong_at[0], entries[wrong_at[0]], len(wrong_at))
    return np.array(found, dtype=np.float64)


def _bad_entry(position: int, entry: object, count: int) -> PackError:
    more = f" ({count:,} such entries)" if count > 1 else ""
    return PackError(
        f"Entry {position + 1:,} of the leaderboard is {_show(entry)}, not a finite number{more}. "
        "Leave teams without a score out."
    )


def stated_direction(value: object) -> bool:
    """A direction as a plain bool; one of NumPy's is taken, too. It is data of the task and never guessed.

    Raises:
        UsageError: It is neither.
    """
    if not isinstance(value, bool | np.bool_):
        raise UsageError(f"higher_is_better is True or False, not {_show(value)}: state the metric's.")
    return bool(value)


def finite_number(value: object) -> float | None:
    """``value`` as a float, or None if it is no number (a bool is none), too large for a float, or not finite."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _show(value: object) -> str:
    return show(value) if isinstance(value, str) else show(repr(value))[1:-1]
