"""From a pack to its grader and its leaderboard."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from openmle_env.task_registry.folder import METRIC_SCRIPT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.graders.grader import Grader
    from openmle_env.graders.medals import Leaderboard
    from openmle_env.graders.scored import Scorer
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.pack import Submission


def make_grader(
    pack: Pack,
    submission: Submission,
    answers: Path,
    sandbox: Callable[[], Sandbox],
    *,
    higher_is_better: bool | None = None,
    looks_log: Path | None = None,
    details: Callable[[str], None] | None = None,
) -> Grader:
    """A grader for a pack.

    Args:
        pack: The pack, which says metric, scored rows, split and leaderboard.
        submission: Columns of a submission.
        answers: File with the hidden answers.
        sandbox: Gives the sandbox in which a pack's own metric runs; not called for a metric of ours.
        higher_is_better: Direction of a pack's own metric; if None, its code is asked, and nothing has a place on the
            leaderboard.
        looks_log: File that gets one line for each look at the answers.
        details: Told why the answers cannot be used, and what the pack's own metric said where it failed. That may
            quote the answers: give `private_log`, or what shows it to the pack's author only.

    Raises:
        PackError: The metric is not defined for the targets, or the leaderboard cannot be used.
        SandboxUnavailableError: The pack's own metric needs a sandbox and there is none.
    """
    from openmle_env.graders.grader import Grader  # with all its metrics
    from openmle_env.graders.pack_metric import PackMetric

    config = pack.config
    metric: Scorer | None = config.metric.ours()
    if metric is None:
        metric = PackMetric(
            pack.members[METRIC_SCRIPT],
            sandbox(),
            limits=config.metric.limits(),
            requirements=pack.requirements,
            higher_is_better=higher_is_better,
            details=details,
        )
    else:
        higher_is_better = metric.higher_is_better
    return Grader(
        schema=submission.as_schema(),
        metric=metric,
        answers=answers,
        salt=config.split.salt,
        validation_fraction=config.split.validation_fraction,
        split="none" if config.split.method == "none" else "hash",
        split_column=config.split.column,
        scored_rows=config.metric.rows,
        leaderboard=None if higher_is_better is None else leaderboard(pack, higher_is_better),
        task=pack.slug,
        looks_log=looks_log,
        details=details,
    )


def leaderboard(pack: Pack, higher_is_better: bool) -> Leaderboard | None:
    """The leaderboard of a pack, or None where it has none.

    Raises:
        PackError: Its file cannot be used.
    """
    board = pack.config.leaderboard
    if board is None:
        return None
    return _read_board(pack.members[board.file], pack.hash, higher_is_better, board.column, board.cap)


@lru_cache(maxsize=8)  # environments of one task share its board
def _read_board(
    path: Path, pack_hash: str, higher_is_better: bool, column: str | None, cap: float | None
) -> Leaderboard:
    from openmle_env.graders.leaderboard_file import read_leaderboard  # numpy

    del pack_hash  # tells apart what stood in the file at different times
    return read_leaderboard(path, higher_is_better, column=column, cap=cap)


def private_log(answers: Path) -> Path:
    """Where a prepared task's faults are told in full: beside the folder of its answers, which holds nothing else."""
    return answers.parent.with_name(f"{answers.parent.name}.log")
