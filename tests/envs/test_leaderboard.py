"""Environments of a task with a leaderboard: rewards made of a place, and the place of the final score."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import gymnasium
import pytest

from openmle_env.envs.recording import EpisodeRecorder
from openmle_env.envs.rewards import OF_A_BOARD, step_reward
from openmle_env.envs.task_env import FINISH, TaskEnv
from openmle_env.errors import PackError, UsageError
from openmle_env.graders.medals import Leaderboard
from openmle_env.types import Place
from tests.envs.tiny import Box, make_pack, program

if TYPE_CHECKING:
    from pathlib import Path

# Ten teams: gold for the best, silver to the second, bronze to the fourth.
SCORES = (0.95, 0.92, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)


@pytest.fixture
def ranked(tmp_path: Path) -> Path:
    root = make_pack(tmp_path / "ranked")
    with (root / "pack.yaml").open("a") as file:
        file.write("leaderboard: {file: leaderboard.csv}\n")
    (root / "leaderboard.csv").write_text("team,score\n" + "".join(f"t{s},{s}\n" for s in SCORES))
    return root


def play(env: TaskEnv, *actions: str) -> list[tuple[float, dict[str, Any]]]:
    env.reset()
    steps = [env.step(action) for action in actions]
    env.close()
    return [(float(reward), info) for _, reward, _, _, info in steps]


def test_rewards_of_a_place(ranked: Path) -> None:
    rights = (1.0, 0.9, 0.5, 0.1)
    programs = [program(right) for right in rights]
    for kind, expected in (
        ("medal", lambda score: float(score >= 0.8)),
        ("rank", lambda score: sum(one < score for one in SCORES) / len(SCORES)),
    ):
        steps = play(TaskEnv(ranked, sandbox=Box(), reward=kind), *programs)  # type: ignore[arg-type]  # a literal
        scores = [info["validation_score"] for _, info in steps]
        assert [reward for reward, _ in steps] == [expected(score) for score in scores]
        assert len({reward for reward, _ in steps}) > 1


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("normalized", "A score of 0 is worth reward 0, one of 1 reward 1;"),
        ("improvement", "A score of 0 is worth 0 and one of 1 is worth 1; the reward of a program is by how much"),
        ("score", "The reward of a program is its validation score; without a score it is 0."),
        ("medal", "1 where its validation score would win a medal"),
        ("rank", "the share of the teams on the competition's leaderboard that its validation score beats"),
    ],
)
def test_an_agent_is_told_the_reward_that_it_gets(ranked: Path, kind: Any, told: str) -> None:
    env = TaskEnv(ranked, sandbox=Box(), reward=kind)
    text = env.reset()[0]["task"]
    env.close()
    assert told in text
    assert ("worth reward" in text) is (kind == "normalized")
    assert not [score for score in SCORES if str(score) in text]


def test_a_perfect_loss_is_worth_nothing_and_not_less_than_nothing() -> None:
    given = {"previous_best": None, "bounds": (4.0, 0.0), "higher_is_better": False}
    assert str(step_reward("score", score=0.0, **given)) == "0.0"  # type: ignore[arg-type]  # a dict
    assert step_reward("score", score=2.5, **given) == -2.5  # type: ignore[arg-type]  # a dict


@pytest.mark.parametrize("kind", OF_A_BOARD)
def test_a_program_without_a_score_gets_nothing(ranked: Path, kind: Any) -> None:
    assert [reward for reward, _ in play(TaskEnv(ranked, sandbox=Box(), reward=kind), "timeout", "csv\nid,z\n")] == [
        0,
        0,
    ]


def test_the_place_is_told_with_the_test_score_and_not_before(ranked: Path, tmp_path: Path) -> None:
    env = EpisodeRecorder(TaskEnv(ranked, sandbox=Box(), render_mode="ansi"), runs=tmp_path / "runs")
    env.reset()
    observation, _, _, _, info = env.step(program(1.0))
    assert info["outcome"].grade.place is None
    assert not {"human_rank", "any_medal", "final"} & info.keys()
    assert "leaderboard" not in observation["feedback"]
    assert "place" not in (env.folder / "steps.jsonl").read_text()
    observation, _, _, _, info = env.step(FINISH)
    best = Place(rank=1, teams=10, human_rank=1.0, medal="gold", above_median=True)
    assert info["final"].place == info["final"].grade.place == best
    assert (info["human_rank"], info["any_medal"]) == (1.0, 1.0)
    assert "gold" not in observation["feedback"]
    final = json.loads((env.folder / "final.json").read_text())
    assert final["place"] == {"rank": 1, "teams": 10, "human_rank": 1.0, "medal": "gold", "above_median": True}
    assert "rank 1 of 10, better than 100.0% of the teams, gold medal" in str(env.render())
    env.close()


def test_a_task_without_a_leaderboard_tells_no_place(pack: Path) -> None:
    *_, (_, info) = play(TaskEnv(pack, sandbox=Box()), program(1.0), FINISH)
    assert info["final"].place is None
    assert not {"human_rank", "any_medal"} & info.keys()


@pytest.mark.parametrize("kind", OF_A_BOARD)
def test_a_reward_of_a_place_comes_with_the_place_of_the_validation_score(ranked: Path, kind: Any) -> None:
    right, wrong, (_, last) = play(TaskEnv(ranked, sandbox=Box(), reward=kind), program(1.0), "timeout", FINISH)
    told = {"validation_human_rank": 1.0, "validation_any_medal": 1.0}
    assert {name: right[1][name] for name in told} == told
    assert not {"human_rank", "any_medal", "test_score"} & right[1].keys()
    assert not told.keys() & wrong[1].keys()
    assert {"human_rank", "any_medal"} <= last.keys()
    (_, info), *_ = play(TaskEnv(ranked, sandbox=Box()), program(1.0))
    assert not told.keys() & info.keys()


@pytest.mark.parametrize("kind", OF_A_BOARD)
def test_making_it_without_a_leaderboard_is_refused(pack: Path, kind: Any) -> None:
    with pytest.raises(
        UsageError, match=f"reward='{kind}' is made of a place on a leaderboard, and task 'tiny' has none"
    ):
        TaskEnv(pack, reward=kind)
    with pytest.raises(UsageError, match="titanic"):
        gymnasium.make("openmle_env:OpenMLE/titanic-v0", reward=kind)
    with pytest.raises(UsageError, match="needs a task with a leaderboard"):
        step_reward(kind, score=1.0, previous_best=None, bounds=(0.0, 1.0), higher_is_better=True)


def test_a_board_that_cannot_be_used_is_an_error_of_reset(ranked: Path) -> None:
    (ranked / "leaderboard.csv").write_text("team,score\na,lots\n")
    env = TaskEnv(ranked, sandbox=Box(), reward="rank")
    with pytest.raises(PackError, match="leaderboard"):
        env.reset()
    env.close()


def test_lower_scores_are_better_where_the_task_says_so() -> None:
    board = Leaderboard([1.0, 2.0, 3.0, 4.0], higher_is_better=False)
    given = {"previous_best": None, "bounds": (4.0, 0.0), "higher_is_better": False, "leaderboard": board}
    assert [step_reward("rank", score=score, **given) for score in (0.5, 2.5, 9.0)] == [1.0, 0.5, 0.0]  # type: ignore[arg-type]  # a dict
    assert [step_reward("medal", score=score, **given) for score in (0.5, 2.5, 9.0)] == [1.0, 0.0, 0.0]  # type: ignore[arg-type]  # a dict


def test_every_look_of_an_environment_is_written_to_the_log(ranked: Path, home: Path) -> None:
    env = TaskEnv(ranked, sandbox=Box())
    env.reset()
    env.step(program(0.5))
    env.step(env.cheat().replace("\n", "\n#"))
    env.step(FINISH)
    env.close()
    looks = [json.loads(line) for line in (home / "looks.jsonl").read_text().splitlines()]
    assert [look["part"] for look in looks] == ["validation", "all", "test"]
    assert {look["task"] for look in looks} == {"tiny"}
    assert looks[0]["program_sha256"] == looks[2]["program_sha256"] != ""
    assert not any("score" in look for look in looks)
