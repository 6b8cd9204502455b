"""The fields that MLE-bench reports of a graded submission, and their totals over a set of competitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError
from openmle_env.graders.echo import show_some

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from openmle_env.graders.medals import Leaderboard


@dataclass(frozen=True, slots=True, kw_only=True)
class MedalReport:
    """What a submission got, with the scores that would have been needed."""

    score: float | None
    gold_threshold: float
    silver_threshold: float
    bronze_threshold: float
    median_threshold: float
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    any_medal: bool
    above_median: bool
    submission_exists: bool
    valid_submission: bool
    is_lower_better: bool


def report(board: Leaderboard, score: float | None, *, submission_exists: bool = True) -> MedalReport:
    """The fields for a ``score``, or for a submission without one (None), which is invalid and gets nothing.

    At most one of the three medals is true.

    Raises:
        UsageError: The score is no finite number, or there is one although there is no submission.

    >>> from openmle_env.graders.medals import Leaderboard
    >>> report(Leaderboard([3.0, 1.0, 2.0], higher_is_better=False), 1.0).gold_medal
    True
    """
    if score is not None and not submission_exists:
        raise UsageError(f"There is a score, {score!r}, of a submission that does not exist.")
    place = None if score is None else board.place(score)
    medal = place.medal if place else None
    return MedalReport(
        score=score,
        gold_threshold=board.gold,
        silver_threshold=board.silver,
        bronze_threshold=board.bronze,
        median_threshold=board.median,
        gold_medal=medal == "gold",
        silver_medal=medal == "silver",
        bronze_medal=medal == "bronze",
        any_medal=medal is not None,
        above_median=place is not None and place.above_median,
        submission_exists=submission_exists,
        valid_submission=place is not None,
        is_lower_better=not board.higher_is_better,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MedalTotals:
    """How many of the runs that were planned got what."""

    runs: int
    submissions: int
    valid: int
    gold: int
    silver: int
    bronze: int
    above_median: int

    @property
    def medals(self) -> int:
        """Medals of any kind."""
        return self.gold + self.silver + self.bronze

    def share(self, count: int) -> float:
        """``count`` as a share of the planned runs, in [0, 1]; 0 where none were planned."""
        return count / self.runs if self.runs else 0.0


def totals(reports: Iterable[MedalReport], *, planned: int | None = None) -> MedalTotals:
    """Count what the reports say.

    Args:
        reports: One for each run that left one.
        planned: How many runs there should have been. One without a report counts as a failure, since shares over the
            runs that finished look better the more of them crash. By default, as many as there are reports.

    Raises:
        UsageError: There are more reports than planned runs.
    """
    given = list(reports)
    runs = len(given) if planned is None else planned
    if runs < len(given):
        raise UsageError(f"There are {len(given)} reports, and only {runs} runs were planned.")
    return MedalTotals(
        runs=runs,
        submissions=sum(each.submission_exists for each in given),
        valid=sum(each.valid_submission for each in given),
        gold=sum(each.gold_medal for each in given),
        silver=sum(each.silver_medal for each in given),
        bronze=sum(each.bronze_medal for each in given),
        above_median=sum(each.above_median for each in given),
    )


def totals_by_task(reports: Mapping[str, MedalReport], planned: Collection[str]) -> MedalTotals:
    """`totals` of one run over the ``planned`` tasks; those without a report count as failures.

    Raises:
        UsageError: A report is of a task that was not planned.
    """
    unplanned = sorted(set(reports) - set(planned))
    if unplanned:
        raise UsageError(f"Reports of tasks that were not planned: {show_some(unplanned, len(unplanned))}.")
    return totals(reports.values(), planned=len(set(planned)))
