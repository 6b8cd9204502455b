"""The fields of a report, and all that MLE-bench's own functions said of the same boards."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from openmle_env.errors import OpenMLEError, UsageError
from openmle_env.graders.leaderboard_file import read_leaderboard
from openmle_env.graders.medals import Leaderboard
from openmle_env.graders.mlebench_report import MedalReport, report, totals, totals_by_task

PEER = json.loads((Path(__file__).parent / "peer_cases/mlebench_ranks.json").read_text())
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"

NOT_A_SCORE = {"p034"}
"""NaN gets a report there, as a valid submission without a medal; here it is refused, since it is no score."""
UNSORTED = {"p040": (0.2, 0.2, 0.3, 0.5)}
"""Thresholds are taken there from the rows as they come (bronze 0.9, the worse by far); here from the sorted scores."""
MISSING_COUNTS = {"p048"}
"""A task without a report is refused there, unless padding is asked for; here it counts as a failure."""


def board_of(case: dict[str, Any]) -> Leaderboard:
    given = case["input"]
    if "ladder" in given:
        n, first, step = given["ladder"]
        scores = [round(first + i * step, 6) for i in range(n)]
    else:
        scores = given["board"]
    return Leaderboard(scores, higher_is_better=given["higher_is_better"])


def grade(case: dict[str, Any], folder: Path, score: Any) -> MedalReport:
    if case["input"].get("file") == "lfs":
        (folder / "board.csv").write_bytes(POINTER)
        return report(read_leaderboard(folder / "board.csv", higher_is_better=True), score)
    return report(board_of(case), score)


@pytest.mark.parametrize("name", sorted(PEER["rank"]))
def test_ranks_agree_with_mlebench_where_it_is_right(name: str, tmp_path: Path) -> None:
    case = PEER["rank"][name]
    score, expected = case["input"]["score"], case["expected"]
    if "raises" in expected or name in NOT_A_SCORE:  # an error of any kind there is one of ours here
        with pytest.raises(OpenMLEError):
            grade(case, tmp_path, math.nan if score == "nan" else score)
        return
    got = grade(case, tmp_path, score)
    assert got.any_medal == (expected["medal"] is not None)
    medals = {"gold": got.gold_medal, "silver": got.silver_medal, "bronze": got.bronze_medal}
    assert [medal for medal, won in medals.items() if won] == ([expected["medal"]] if expected["medal"] else [])
    assert got.above_median == expected["above_median"]
    assert got.is_lower_better is not case["input"]["higher_is_better"]
    thresholds = [got.gold_threshold, got.silver_threshold, got.bronze_threshold, got.median_threshold]
    assert thresholds == pytest.approx(UNSORTED.get(name, expected["thresholds"]), rel=1e-9)
    if name in UNSORTED:
        assert tuple(expected["thresholds"]) != UNSORTED[name]


def test_fields_of_a_submission_without_a_score() -> None:
    board = Leaderboard([1.0, 2.0, 3.0], higher_is_better=False)
    nothing = report(board, None, submission_exists=False)
    assert (nothing.score, nothing.any_medal, nothing.above_median) == (None, False, False)
    assert (nothing.submission_exists, nothing.valid_submission, nothing.is_lower_better) == (False, False, True)
    assert (nothing.gold_threshold, nothing.median_threshold) == (1.0, 2.0)
    with pytest.raises(UsageError, match="does not exist"):
        report(board, 1.0, submission_exists=False)


def report_of(medal: str | None, above_median: bool = True, exists: bool = True, valid: bool = True) -> MedalReport:
    return MedalReport(
        score=0.5 if valid else None,
        gold_threshold=0.9,
        silver_threshold=0.8,
        bronze_threshold=0.7,
        median_threshold=0.6,
        gold_medal=medal == "gold",
        silver_medal=medal == "silver",
        bronze_medal=medal == "bronze",
        any_medal=medal is not None,
        above_median=above_median,
        submission_exists=exists,
        valid_submission=valid,
        is_lower_better=False,
    )


def test_totals_agree_with_mlebench() -> None:
    case = PEER["aggregate"]["p044"]
    got = totals(report_of(*each[1:]) for each in case["input"]["reports"])
    assert case["expected"] == {
        "total_runs": got.runs,
        "total_runs_with_submissions": got.submissions,
        "total_valid_submissions": got.valid,
        "total_medals": got.medals,
        "total_gold_medals": got.gold,
        "total_silver_medals": got.silver,
        "total_bronze_medals": got.bronze,
        "total_above_median": got.above_median,
    }


@pytest.mark.parametrize("name", ["p048", "p049"])
def test_shares_are_of_the_planned_tasks(name: str) -> None:
    """Of the two, p049 has a report for each task, and p048 none for one. Means over several seeds are not here."""
    case = PEER["aggregate"][name]
    reports = {each[0]: report_of(*each[1:]) for each in case["input"]["reports"]}
    got = totals_by_task(reports, case["input"]["planned"])
    counts = {
        "submission_exists": got.submissions,
        "valid_submissions": got.valid,
        "above_median": got.above_median,
        "gold_medal": got.gold,
        "silver_medal": got.silver,
        "bronze_medal": got.bronze,
        "any_medal": got.medals,
    }
    shares = {f"{what}_percentage": 100 * got.share(count) for what, count in counts.items()}
    assert got.runs == 3
    if name in MISSING_COUNTS:
        assert case["expected"] == {"raises": True}
        assert shares["any_medal_percentage"] == shares["valid_submissions_percentage"] == pytest.approx(200 / 3)
    else:
        assert shares | {"total_competitions": 3.0} == pytest.approx(case["expected"])


def test_what_was_not_run_is_a_failure() -> None:
    three = [report_of("gold")] * 3
    assert totals(three, planned=100).share(3) == 0.03
    assert totals([*three, report_of("silver"), report_of("silver"), report_of("bronze")]).medals == 6
    assert totals([]).share(0) == 0.0
    with pytest.raises(UsageError, match="3 reports, and only 2 runs"):
        totals(three, planned=2)
    with pytest.raises(UsageError, match="not planned: 'C'"):
        totals_by_task({"C": three[0]}, ["A"])
