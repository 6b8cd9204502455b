from __future__ import annotations

import copy
import json
import math
import pickle
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from openmle_env.envs import runner
from openmle_env.envs.observation import STATUSES
from openmle_env.envs.task_env import FINISH, FinalResult, TaskEnv
from openmle_env.errors import PackError, SandboxUnavailableError, UnknownNameError, UsageError
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.types import Artifact, ArtifactState, Execution, Grade, Job, Limits, Outcome, Part, ResultStatus
from tests.envs.tiny import IDS, Box, make_pack, program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.graders.grader import Grader

    Make = Callable[..., TaskEnv]

PUBLIC = {"description.md", "sample_submission.csv", "test.csv", "train.csv"}


def play(env: TaskEnv, *programs: str) -> list[tuple[dict[str, Any], float, bool, bool, dict[str, Any]]]:
    env.reset(seed=1)
    return [env.step(text) for text in programs]


def status_of(observation: dict[str, Any]) -> ResultStatus | None:
    return STATUSES[int(observation["status"])]


# Gymnasium's own rules


def test_check_env_finds_nothing(make_env: Make) -> None:
    env = make_env(render_mode="ansi")
    env.spec = gymnasium.envs.registration.EnvSpec(
        "OpenMLE/tiny-v0",
        entry_point=lambda render_mode=None: make_env(render_mode=render_mode),
        nondeterministic=True,
    )
    check_env(env)
    env.close()


def test_every_observation_is_a_member_and_new(make_env: Make) -> None:
    env = make_env()
    first, info = env.reset(seed=3)
    assert info == {}
    assert first in env.observation_space
    assert "÷3" in first["task"]
    assert first["feedback"] == ""
    assert status_of(first) is None
    assert (first["has_score"], first["has_best_score"], first["programs_left"][0]) == (0, 0, 4)
    assert 0 < first["seconds_left"][0] <= 600
    for text in (program(0.9), "timeout", "code_execution_error\n\ud800"):
        observation = env.step(text)[0]
        assert observation in env.observation_space
        assert observation is not first


def test_spaces_are_equal_for_all_tasks(make_env: Make, box: Box, tmp_path: Path) -> None:
    one, other = make_env(), TaskEnv(make_pack(tmp_path, "other"), sandbox=box)
    assert one.observation_space == other.observation_space
    assert one.action_space == other.action_space


# What a step returns


def test_a_good_program_is_scored_on_the_validation_part(make_env: Make, box: Box) -> None:
    env = make_env()
    ((observation, reward, terminated, truncated, info),) = play(env, program(1.0))
    outcome = info["outcome"]
    assert isinstance(outcome, Outcome)
    assert (outcome.index, outcome.status, outcome.score, reward) == (1, ResultStatus.SUCCESS, 1.0, 1.0)
    assert outcome.grade is not None
    assert outcome.grade.part is Part.VALIDATION
    assert (terminated, truncated) == (False, False)
    assert (observation["score"][0], observation["has_score"], observation["best_score"][0]) == (1.0, 1, 1.0)
    assert status_of(observation) is ResultStatus.SUCCESS
    assert observation["programs_left"][0] == 3
    assert info == {"outcome": outcome, "best_score": 1.0, "validation_score": 1.0, "wall_seconds": 1.5}
    assert all(type(info[name]) is float for name in ("best_score", "validation_score", "wall_seconds"))
    assert list(box.jobs[0].inputs) == ["/data"]
    assert {path.name for path in box.jobs[0].inputs["/data"].iterdir()} == PUBLIC


@pytest.mark.parametrize(
    ("text", "status", "word"),
    [
        ("", ResultStatus.CODE_MISSING, "no code"),
        (" \n\t", ResultStatus.CODE_MISSING, "no code"),
        ("a = 1 # " + "x" * 200_000, ResultStatus.CODE_EXECUTION_ERROR, "200,008 characters"),
        ("print('\0')", ResultStatus.CODE_EXECUTION_ERROR, "NUL"),
        ("print('\ud800')", ResultStatus.CODE_EXECUTION_ERROR, "surrogate"),
    ],
)
def test_what_cannot_be_run_has_a_status_and_costs_a_program(
    make_env: Make, box: Box, text: str, status: ResultStatus, word: str
) -> None:
    ((observation, reward, terminated, _, info),) = play(make_env(), text)
    assert (info["outcome"].status, reward, terminated) == (status, 0.0, False)
    assert word in observation["feedback"]
    assert observation["programs_left"][0] == 3
    assert not box.jobs
    assert "fault" not in info


@pytest.mark.parametrize("status", ["code_execution_error", "timeout", "out_of_memory", "submission_missing"])
def test_a_failure_of_the_program_is_an_outcome(make_env: Make, status: str) -> None:
    ((observation, reward, terminated, truncated, info),) = play(make_env(), f"{status}\nBecause of this.")
    assert status_of(observation) == status
    assert (reward, terminated, truncated, info["outcome"].grade) == (0.0, False, False, None)
    assert "Because of this." in observation["feedback"]
    assert r"Traceback: \ud800" in observation["feedback"]
    assert "validation_score" not in info


def test_a_run_without_a_submission_is_not_a_success(make_env: Make) -> None:
    ((observation, _, _, _, info),) = play(make_env(), "none")
    assert info["outcome"].status is ResultStatus.SUBMISSION_MISSING
    assert info["outcome"].score is None
    assert "submission.csv" in observation["feedback"]


def test_an_invalid_submission_is_explained(make_env: Make) -> None:
    ((observation, reward, _, _, info),) = play(make_env(), "csv\nid,z\n1,0\n")
    assert (info["outcome"].status, reward) == (ResultStatus.SUBMISSION_INVALID, 0.0)
    assert "'y'" in observation["feedback"] or " y" in observation["feedback"]


@pytest.mark.parametrize("action", [None, 3, b"print()", ["print()"]])
def test_an_action_that_is_no_text_is_refused(make_env: Make, action: object) -> None:
    env = make_env()
    env.reset()
    with pytest.raises(UsageError, match="text of a program"):
        env.step(action)  # type: ignore[arg-type]  # that is the test


# Budgets and the end of an episode


def test_the_budget_of_programs_ends_the_episode_with_one_look_at_the_test_part(make_env: Make) -> None:
    *earlier, last = play(make_env(), program(0.5), program(0.9), "timeout", program(0.7))
    assert [step[2:4] for step in earlier] == [(False, False)] * 3
    assert not any("final" in step[4] for step in earlier)
    observation, _, terminated, truncated, info = last
    assert (terminated, truncated, observation["programs_left"][0]) == (True, False, 0)
    final = info["final"]
    assert isinstance(final, FinalResult)
    assert final.selected == 2
    assert final.validation_score == earlier[1][4]["validation_score"]
    assert final.grade is not None
    assert final.grade.part is Part.TEST
    assert final.test_score == info["test_score"]
    assert final.looks == {Part.VALIDATION: 3, Part.TEST: 1, Part.ALL: 0}
    assert "test" not in observation["feedback"]


def test_finish_selects_the_best_or_the_program_that_is_asked_for(make_env: Make) -> None:
    for action, selected in ((FINISH, 2), (f"{FINISH} 1\n", 1)):
        *_, (observation, reward, terminated, truncated, info) = play(make_env(), program(0.5), program(0.9), action)
        assert (reward, terminated, truncated) == (0.0, True, False)
        assert info["final"].selected == selected
        assert info["final"].note == ""
        assert "outcome" not in info
        assert observation["programs_left"][0] == 2


@pytest.mark.parametrize(("choice", "word"), [("2", "has no score"), ("9", "does not exist"), ("0", "does not exist")])
def test_a_choice_that_cannot_be_taken_falls_back_to_the_best(make_env: Make, choice: str, word: str) -> None:
    *_, (_, _, _, _, info) = play(make_env(), program(0.5), "timeout", f"{FINISH} {choice}")
    assert info["final"].selected == 1
    assert word in info["final"].note


@pytest.mark.parametrize("text", [f"{FINISH} now", f"{FINISH}\nprint()", f"x = 1\n{FINISH}", f"{FINISH} {'9' * 5000}"])
def test_a_program_that_mentions_finish_is_a_program(make_env: Make, text: str) -> None:
    ((_, _, terminated, _, info),) = play(make_env(), text)
    assert not terminated
    assert "outcome" in info


def test_an_episode_without_a_valid_program_has_no_test_score(make_env: Make) -> None:
    *_, (_, _, _, _, info) = play(make_env(), "timeout", FINISH)
    assert (info["final"].selected, info["final"].grade, info["final"].looks[Part.TEST]) == (None, None, 0)
    assert "test_score" not in info


def test_of_equal_scores_the_earliest_is_selected(make_env: Make) -> None:
    *_, (_, _, _, _, info) = play(make_env(), program(0.9), program(0.9), FINISH)
    assert info["final"].selected == 1


def test_stepping_outside_an_episode_is_refused(make_env: Make) -> None:
    env = make_env()
    with pytest.raises(UsageError, match="reset"):
        env.step("print()")
    env.reset()
    env.step(FINISH)
    with pytest.raises(UsageError, match="over"):
        env.step("print()")
    env.reset()
    env.close()
    with pytest.raises(UsageError, match="closed"):
        env.step("print()")
    with pytest.raises(UsageError, match="closed"):
        env.reset()


def test_a_second_episode_starts_afresh_and_counts_its_own_looks(make_env: Make) -> None:
    env = make_env()
    play(env, program(0.9), FINISH)
    (first, _, _, _, _), (_, _, _, _, info) = play(env, program(0.5), FINISH)
    assert first["programs_left"][0] == 3
    assert info["final"].selected == 1
    assert info["final"].looks == {Part.VALIDATION: 1, Part.TEST: 1, Part.ALL: 0}


def test_the_wall_limit_of_a_program_is_what_is_left_of_the_episode(make_env: Make, box: Box) -> None:
    env = make_env(seconds=5.0)
    play(env, program())
    assert 0 < box.jobs[0].limits.wall_seconds <= 5.0
    play(make_env(), program())
    assert box.jobs[1].limits.wall_seconds == 20


def test_a_spent_time_budget_truncates_without_a_run(make_env: Make, box: Box) -> None:
    env = make_env(seconds=300)
    env.reset()
    env.step(program(0.9))
    assert env._episode is not None
    env._episode.started -= 301
    observation, _, terminated, truncated, info = env.step(program(1.0))
    assert (terminated, truncated, observation["seconds_left"][0]) == (False, True, 0.0)
    assert info["outcome"].status is ResultStatus.TIMEOUT
    assert "300 seconds" in observation["feedback"]
    assert info["final"].selected == 1
    assert len(box.jobs) == 1
    assert "fault" not in info


# Faults that are not the agent's


@pytest.mark.parametrize("text", ["raise", "sandbox_unconfirmed\nlost the box"])
def test_a_fault_of_the_machine_is_retried_and_then_truncates(make_env: Make, box: Box, text: str) -> None:
    _, (observation, reward, terminated, truncated, info) = play(make_env(), program(0.9), text)
    assert len(box.jobs) == 1 + 2
    assert (reward, terminated, truncated, info["fault"]) == (0.0, False, True, "infrastructure")
    assert status_of(observation) is ResultStatus.SANDBOX_UNCONFIRMED
    assert info["final"].selected == 1


def test_a_fault_that_passes_is_not_noticed(make_env: Make, box: Box) -> None:
    box.failures = 1
    ((_, reward, _, truncated, info),) = play(make_env(), program())
    assert (reward, truncated, info["outcome"].status) == (1.0, False, ResultStatus.SUCCESS)


@pytest.mark.parametrize("last", [FINISH, program(0.5)])
def test_a_fault_in_the_final_grade_is_told(make_env: Make, monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    grade = runner.grade

    def broken_test_part(grader: Grader, submission: Artifact, part: Part, **arguments: Any) -> Grade:
        if part is Part.TEST:
            return Grade(status=ResultStatus.SANDBOX_UNCONFIRMED, part=part, message="The engine went away.")
        return grade(grader, submission, part, **arguments)

    monkeypatch.setattr(runner, "grade", broken_test_part)
    *_, (_, _, terminated, truncated, info) = play(make_env(programs=2), program(0.9), last)
    assert (terminated, truncated, info["fault"]) == (True, False, "infrastructure")
    assert info["final"].test_score is None


def test_a_fault_of_the_task_is_never_scored_as_the_agents(make_env: Make) -> None:
    env = make_env(reward="score")
    env.reset()
    assert env._task is not None
    env._task.answers.unlink()
    _, reward, terminated, truncated, info = env.step(program())
    assert (reward, terminated, truncated, info["fault"]) == (0.0, False, True, "task")
    assert info["outcome"].status is ResultStatus.METRIC_OR_ANSWER_MISSING
    assert info["final"].grade is None


def test_a_sandbox_that_cannot_start_is_an_error_of_reset(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def create(name: str, **_: Any) -> None:
        raise SandboxUnavailableError(f"No {name}: install bubblewrap.")

    monkeypatch.setattr("openmle_env.sandbox.select.create", create)
    env = TaskEnv(pack)
    with pytest.raises(SandboxUnavailableError, match="install"):
        env.reset()
    env.close()


METRIC = """
import time
from pathlib import Path

class SlowMetrics:
    higher_is_better = True
    def validate_submission(self, submission, ground_truth):
        pass
    def evaluate(self, y_true, y_pred):
        if (y_pred["y"] == 1).all():
            Path({started!r}).touch()
            time.sleep(600)
        return float((y_true["y"] == y_pred["y"]).mean())
"""


class Metrics(Box):
    """As `Box`, and runs a pack's metric in a process of its own, which cancelling ends."""

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        if "/data" not in job.inputs or not (job.inputs["/data"] / "metric.py").exists():
            return super().run(job, cancel=cancel)
        folder = job.inputs["/data"].parent / "output"
        folder.mkdir()
        environment = {"DATA_DIR": str(job.inputs["/data"]), "OUTPUT_DIR": str(folder)}
        with subprocess.Popen([sys.executable, "-B", "-c", job.program], env=environment, cwd=folder) as process:
            unregister = (cancel or CancelToken()).on_cancel(process.kill)
            process.wait()
            unregister()
        if process.returncode:
            return Execution(status=ResultStatus.CANCELLED, reason="The run was cancelled.", backend="box")
        content = (folder / "result.json").read_bytes()
        artifact = Artifact(name="result.json", state=ArtifactState.OK, content=content)
        return Execution(status=ResultStatus.SUCCESS, artifacts={"result.json": artifact}, backend="box")


def test_close_ends_grading_too(pack: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    (pack / "utils").mkdir()
    (pack / "utils/metric.py").write_text(METRIC.format(started=str(started)))
    text = (pack / "pack.yaml").read_text()
    (pack / "pack.yaml").write_text(text.replace("name: accuracy", "name: pack"))
    env = TaskEnv(pack, sandbox=Metrics())
    env.reset()
    results: list[Any] = []
    ones = "csv\nid,y\n" + "".join(f"{number},1\n" for number in IDS)
    thread = threading.Thread(target=lambda: results.append(env.step(ones)))
    thread.start()
    while not started.exists():
        thread.join(0.01)
        assert thread.is_alive()
    env.close()
    thread.join(60)
    assert results[0][4]["outcome"].status is ResultStatus.CANCELLED
    assert results[0][4]["fault"] == "infrastructure"


def test_the_scripted_sandbox_prepares_nothing_and_says_how_to(pack: Path) -> None:
    raw = pack / "raw"
    raw.mkdir()
    (raw / "numbers.csv").write_text("1\n")
    (pack / "description.md").write_text("Numbers.")
    (pack / "utils").mkdir()
    (pack / "utils/prepare.py").write_text("")
    shutil.rmtree(pack / "data")
    (pack / "pack.yaml").write_text((pack / "pack.yaml").read_text() + "description: description.md\n")
    env = TaskEnv(pack, sandbox="scripted")
    with pytest.raises(UsageError, match=f"openmle prepare {pack}$"):
        env.reset()
    env.close()


# What the agent is told


def test_feedback_validation_tells_the_score(make_env: Make) -> None:
    _, (observation, _, _, _, info) = play(make_env(), program(0.9), program(0.5))
    score, best = info["validation_score"], info["best_score"]
    assert f"Validation score: {score:.6g} (higher is better)" in observation["feedback"]
    assert f"Best so far: {best:.6g} (program 1)" in observation["feedback"]
    assert (observation["score"][0], observation["best_score"][0]) == (score, best)


@pytest.mark.parametrize("feedback", ["validity", "none"])
def test_other_feedback_hides_the_score_but_not_the_reward(make_env: Make, feedback: str) -> None:
    shown, hidden = (play(make_env(feedback=kind), program(0.9))[0] for kind in ("validation", feedback))
    for name in ("score", "has_score", "best_score", "has_best_score"):
        assert hidden[0][name] == 0
    assert hidden[1] == shown[1] > 0
    assert f"{shown[4]['validation_score']:.6g}" not in hidden[0]["feedback"]
    assert hidden[4]["outcome"].feedback == hidden[0]["feedback"]


def test_feedback_none_hides_validity(make_env: Make) -> None:
    invalid, valid = (play(make_env(feedback="none"), text)[0] for text in ("csv\nid,z\n1,0\n", program(0.9)))
    assert invalid[4]["outcome"].status is ResultStatus.SUBMISSION_INVALID
    assert status_of(invalid[0]) is status_of(valid[0]) is ResultStatus.SUCCESS
    assert invalid[0]["feedback"] == valid[0]["feedback"]
    ((told, _, _, _, _),) = play(make_env(feedback="validity"), "csv\nid,z\n1,0\n")
    assert status_of(told) is ResultStatus.SUBMISSION_INVALID


def test_long_output_is_bounded_in_the_middle(make_env: Make) -> None:
    ((observation, _, _, _, _),) = play(make_env(), "code_execution_error\n" + "é" * 150_000)
    assert observation in make_env().observation_space
    assert "characters left out" in observation["feedback"]


# Rewards


def test_improvements_add_up_to_the_best_normalized_reward(make_env: Make) -> None:
    programs = (program(0.5), program(0.9), "timeout", program(0.7))
    normalized = [step[1] for step in play(make_env(), *programs)]
    improvement = [step[1] for step in play(make_env(reward="improvement"), *programs)]
    assert improvement[2:] == [0.0, 0.0]
    assert math.isclose(sum(improvement), max(normalized))


def test_the_score_itself_as_reward(make_env: Make) -> None:
    (good, bad) = play(make_env(reward="score"), program(0.9), "timeout")
    assert good[1] == good[4]["validation_score"]
    assert bad[1] == 0.0


# Arguments


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"feedback": "validaton"}, "Did you mean 'validation'"),
        ({"feedback": None}, "feedback=None"),
        ({"reward": "Normalized"}, "'normalized'"),
        ({"render_mode": "human"}, "'ansi'"),
        ({"programs": 0}, "programs=0"),
        ({"programs": True}, "programs=True"),
        ({"programs": 2.0}, "whole number"),
        ({"seconds": 0}, "seconds=0"),
        ({"seconds": math.nan}, "seconds=nan"),
        ({"seconds": "60"}, "seconds='60'"),
        ({"limits": {"wall_second": 3}}, "Did you mean 'wall_seconds'"),
        ({"limits": {"zeal": 3}}, "no limit 'zeal'. Known: artifact_mb, [a-z_, ]*, work_mb.$"),
        ({"limits": {"wall_seconds": -1}}, "wall_seconds=-1"),
        ({"limits": 60}, "limits=60"),
        ({"sandbox": None}, "sandbox=None"),
        ({"sandbox": "dokcer"}, "docker"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_value(make_env: Make, arguments: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        make_env(**arguments)


def test_budgets_and_limits_can_be_changed(make_env: Make) -> None:
    env = make_env(programs=2, seconds=30, limits={"wall_seconds": 3, "memory_mb": 128})
    for _ in range(2):
        spec = env.task_spec
        assert (spec.programs, spec.seconds, spec.limits.wall_seconds, spec.limits.memory_mb) == (2, 30.0, 3, 128)
        env.reset()
    assert make_env(limits=Limits(wall_seconds=7)).task_spec.limits.wall_seconds == 7


def test_unknown_tasks_and_reset_options_are_refused(make_env: Make) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'titanic'"):
        TaskEnv("titanc")
    with pytest.raises(UsageError, match="reset option 'difficulty'"):
        make_env().reset(options={"difficulty": 3})


def test_another_version_or_hash_of_the_pack_is_refused(make_env: Make, pack: Path) -> None:
    env = make_env()
    described = env.describe()
    make_env(pack_version=described["pack_version"], pack_hash=described["pack_hash"]).reset()
    with pytest.raises(PackError, match=r"version '1\.1'.*'1\.2'"):
        make_env(pack_version="1.1")
    changed = make_env(pack_hash=described["pack_hash"])
    with (pack / "data/public/train.csv").open("a") as file:
        file.write("1003,0\n")
    with pytest.raises(PackError, match="hash"):
        make_env(pack_hash=described["pack_hash"])
    with pytest.raises(PackError, match="hash"):
        changed.reset()


# The rest


def test_making_an_environment_starts_nothing(make_env: Make, box: Box, home: Path) -> None:
    env = make_env()
    assert env.task_spec.slug == "tiny"
    assert env.task_spec.files == ()
    assert not home.exists()
    env.reset()
    assert {file.name for file in env.task_spec.files} == PUBLIC
    assert not box.jobs
    assert [file.name for file in make_env().task_spec.files] == [file.name for file in env.task_spec.files]


def test_close_ends_a_running_program_from_another_thread(make_env: Make, box: Box) -> None:
    env = make_env()
    env.reset()
    steps: list[Any] = []
    thread = threading.Thread(target=lambda: steps.append(env.step("hang")))
    thread.start()
    assert box.running.wait(60)
    env.close()
    thread.join(60)
    assert not thread.is_alive()
    _, reward, terminated, truncated, info = steps[0]
    assert (reward, terminated, truncated, info["fault"]) == (0.0, False, True, "infrastructure")
    assert info["outcome"].status is ResultStatus.CANCELLED
    assert "final" not in info


def test_close_can_be_repeated_and_leaves_a_shared_sandbox_open(make_env: Make, box: Box) -> None:
    env = make_env()
    env.close()
    env = make_env()
    env.reset()
    env.close()
    env.close()
    assert box.closed == 0


def test_close_closes_its_own_sandbox_once(pack: Path, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openmle_env.sandbox.select.create", lambda name, **_: box)
    env = TaskEnv(pack)
    env.reset()
    env.reset()
    env.close()
    env.close()
    assert box.closed == 1


def test_close_during_a_reset_leaves_no_sandbox(pack: Path, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    env = TaskEnv(pack)

    def create(name: str, **_: Any) -> Box:
        env.close()
        return box

    monkeypatch.setattr("openmle_env.sandbox.select.create", create)
    with pytest.raises(UsageError, match="closed"):
        env.reset()
    assert box.closed == 1


def test_auto_follows_the_setting(pack: Path, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("openmle_env.sandbox.select.create", lambda name, **_: asked.append(name) or box)
    monkeypatch.setenv("OPENMLE_SANDBOX", "bubblewrap")
    for name in ("auto", "docker"):
        TaskEnv(pack, sandbox=name).reset()
    assert asked == ["bubblewrap", "docker"]


def test_copies_start_afresh(pack: Path) -> None:
    env = TaskEnv(pack, sandbox="scripted", feedback="validity", programs=3, limits={"cpus": 2})
    for other in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):  # noqa: S301  ours
        assert other.options == env.options
        assert other.task_spec == env.task_spec


def test_what_a_step_returns_can_be_sent_to_another_process(make_env: Make) -> None:
    steps = play(make_env(), program(0.9), "timeout", FINISH)
    assert [step[1:] for step in pickle.loads(pickle.dumps(steps))] == [step[1:] for step in steps]  # noqa: S301  ours


def test_render_shows_the_episode(make_env: Make) -> None:
    env = make_env(render_mode="ansi")
    assert "no episode" in str(env.render())
    play(env, program(0.5), program(0.9), "timeout", FINISH)
    text = str(env.render())
    assert "tiny" in text
    assert "2*  success" in text
    assert "timeout" in text
    assert "Selected program 2" in text
    with pytest.warns(UserWarning, match="render_mode"):
        assert make_env().render() is None


def test_the_oracle_is_right_and_counted(make_env: Make) -> None:
    env = make_env()
    env.reset()
    assert "submission.csv" in env.cheat()
    info = env.step(FINISH)[4]
    assert info["final"].looks[Part.ALL] == 1


def test_describe_is_json(make_env: Make) -> None:
    env = make_env()
    env.reset()
    described = json.loads(json.dumps(env.describe(), allow_nan=False))
    assert described["task"] == "tiny"
    assert described["sandbox"] == "box"
    assert described["settings"]["feedback"] == "validation"


def test_lower_is_better_turns_everything_round(make_env: Make) -> None:
    env = make_env(reward="score")
    env.reset()
    episode = env._episode
    assert episode is not None
    episode.spec = replace(episode.spec, higher_is_better=False, reward_bounds=(1.0, 0.0))
    good, bad = env.step(program(0.1)), env.step(program(0.9))
    failed = env.step("timeout")
    assert good[1] == -good[4]["validation_score"] > bad[1]
    assert failed[1] == -1.0
    assert env.step(FINISH)[4]["final"].selected == 1
    assert "lower is better" in good[0]["feedback"]


def test_scores_outside_the_box_are_clipped(make_env: Make) -> None:
    from openmle_env.envs.observation import observation

    built = observation(task="", score=1e300, best_score=-1e300, programs_left=-1, seconds_left=1e12)
    assert built in make_env().observation_space
    assert np.isfinite(built["score"]).all()
