"""Numbers of a peer, OpenRSI: where we agree, and where it is wrong and what we give instead."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from openmle_env.errors import OpenMLEError
from openmle_env.graders.medals import Leaderboard, medal_positions
from openmle_env.graders.rewards import (
    Bounds,
    Parent,
    StaticBounds,
    adaptive_bounds,
    adaptive_reward,
    anchored_bounds,
    cap_span,
    leaderboard_rank,
    map_score,
    operator_reward,
    penalize_gap,
    static_bounds,
    validation_gap,
)
from openmle_env.graders.rewards.validation_gap import STEEP

PEER = json.loads((Path(__file__).parent / "peer_cases/openrsi_rewards.json").read_text())
del PEER["about"]

# Defects there, with our value and why. One case with the verdict "match" is among them: we have no such number.
OURS: dict[str, tuple[Any, str]] = {
    "medal_and_grade-12": (
        {"medal": "gold", "grade": 1.0},
        "0.4 beats the only team, 0.5, of a loss; a board of one row cannot show its direction, so it is given here.",
    ),
    "medal_and_grade-14": ({"raises": True}, "An empty board is refused by name; there it is an IndexError."),
    "medal_and_grade-15": ({"raises": True}, "A program without a score has no place; there it gets the last one."),
    "score2reward_rl-15": (
        1 / (1 + math.exp(-1.8)),
        "0.9 of an accuracy between 0 and 1; there the missing direction is taken for a loss. Here it must be stated.",
    ),
    "score2reward_rl-19": (0.0, "A perfect loss of 0 has the signed score 0, the best there is, and not -100."),
    "score2reward_rl-20": (
        (1 / (1 + math.exp(-0.5))) ** 2,
        "sigmoid((0.75 - 0.5) / 0.5) squared; one of the two copies there does not implement it.",
    ),
}


def ranges(case: dict[str, Any]) -> dict[str, Any]:
    names = ("higher_is_better", "theoretical", "leaderboard")
    return {"higher_is_better": True} | {name: case[name] for name in names if name in case}


def board(case: dict[str, Any]) -> Leaderboard:
    scores = case.get("board")
    if scores is None:
        n, first, step = case.get("ladder", (5, 1.0, -0.1))
        scores = [round(first + i * step, 4) for i in range(n)]
    return Leaderboard(scores, higher_is_better=case.get("higher_is_better", True))


def medal_and_grade(case: dict[str, Any]) -> dict[str, Any]:
    place = board(case).place(case["score"])
    return {"medal": place.medal or "N/A", "grade": min(place.rank, place.teams) / place.teams}


def mapped(case: dict[str, Any]) -> float:
    """The setting that the peer reads from its environment is stated: its power_clip has an exponent of 2."""
    spec = ranges(case)
    find = anchored_bounds if case["mode"] == "logistic" else lambda **given: static_bounds(**given).bounds()
    return map_score(
        case["score"],
        mode=case["mode"],
        higher_is_better=spec["higher_is_better"],
        bounds=Bounds(*case["bounds"]) if "bounds" in case else find(**spec),
        alpha=case.get("alpha", 2.0),
        without_bounds="sigmoid",
    )


def static(case: dict[str, Any]) -> float:
    limits = static_bounds(**ranges(case), prefer=case.get("priority", "hull"))
    return map_score(
        case["score"], mode=case["mode"], higher_is_better=True, bounds=limits.bounds(), alpha=case["alpha"]
    )


def bounds(case: dict[str, Any]) -> tuple[float, float] | tuple[None, None]:
    found = adaptive_bounds(
        case["history"],
        case["group"],
        higher_is_better=case["higher_is_better"],
        static=static_bounds(**ranges(case)),
        mode=case["mode"],
        shift=case["shift"],
    )
    return (None, None) if found is None else (found.worst, found.best)


def adaptive(case: dict[str, Any]) -> float:
    return adaptive_reward(
        case["score"],
        higher_is_better=case["higher_is_better"],
        history=case["history"],
        group=case["group"],
        static=static_bounds(**ranges(case)),
        bound_mode=case["mode"],
        mapping=case["mapping"],
        alpha=case["alpha"],
        shift=case["shift"],
        single=1.0 if case["single"] else None,
    ).reward


def gap(case: dict[str, Any]) -> tuple[float | None, ...]:
    found = validation_gap(case["validation"], case["test"], static=static_bounds(**ranges(case)))
    return found.absolute, found.relative, found.denominator


def penalty(case: dict[str, Any]) -> tuple[float, ...]:
    return penalize_gap(case["reward"], case["relative_gap"], steep=STEEP if case.get("piecewise_enabled") else None)


def operator(case: dict[str, Any]) -> dict[str, float]:
    parents = [] if case["operator"] == "draft" else [Parent(case["parent_code"], case["parent_reward"])]
    got = operator_reward(case["reward"], operator=case["operator"], code=case["code"], parents=parents)
    return {"shaped_base": got.shaped, "final": got.final, "delta": got.gain, "bonus": got.bonus}


OUR_FUNCTIONS: dict[str, Any] = {
    "medal_positions": lambda case: medal_positions(case["teams"]),
    "medal_and_grade": medal_and_grade,
    "leaderboard_rank_reward": lambda case: leaderboard_rank(case["score"], board(case)),
    "adaptive_bounds": bounds,
    "adaptive_reward": adaptive,
    "score2reward_rl": mapped,
    "score2reward_evo": mapped,
    "static_reward": static,
    "max_range": lambda case: cap_span(Bounds(*case["bounds"])),
    "valid_test_gap": gap,
    "gap_penalty": penalty,
    "operator_reward": operator,
}

CASES = [(f"{area}-{number}", area, case) for area, cases in PEER.items() for number, case in cases.items()]


def agree(got: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return set(got) == set(expected) and all(agree(got[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(map(agree, got, expected))
    if isinstance(expected, float) and isinstance(got, (int, float)):
        return math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(got == expected)


def our_value(area: str, case: dict[str, Any]) -> Any:
    try:
        return OUR_FUNCTIONS[area](case)
    except OpenMLEError:  # any other exception would be a defect of ours
        return {"raises": True}


@pytest.mark.parametrize(("name", "area", "case"), CASES, ids=[name for name, _, _ in CASES])
def test_we_agree_or_say_why_not(name: str, area: str, case: dict[str, Any]) -> None:
    expected = OURS[name][0] if name in OURS else case["expected"]
    assert agree(our_value(area, case["input"]), expected), (our_value(area, case["input"]), expected)


def test_every_defect_is_listed_and_nothing_that_matches() -> None:
    quirks = {name for name, _, case in CASES if case["verdict"] == "quirk"}
    assert quirks <= set(OURS) <= {name for name, _, _ in CASES}
    assert set(OURS) - quirks == {"medal_and_grade-15"}
    assert set(OUR_FUNCTIONS) == set(PEER)


def test_limits_without_a_known_range_leave_the_gap_to_the_scores() -> None:
    assert validation_gap(0.5, 0.4, static=StaticBounds()).denominator == 0.5
