from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import pytest

from openmle_env.envs import recording, runner
from openmle_env.envs.recording import EpisodeRecorder
from openmle_env.envs.task_env import FINISH, TaskEnv
from openmle_env.errors import DiskFullError, InfrastructureError, UsageError
from openmle_env.types import Grade, Part, ResultStatus, program_sha256
from tests.envs.tiny import program

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., TaskEnv]


@pytest.fixture
def recorder(make_env: Make, tmp_path: Path) -> EpisodeRecorder:
    return EpisodeRecorder(make_env(), tmp_path / "runs")


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_an_episode_is_recorded_as_it_goes(recorder: EpisodeRecorder) -> None:
    recorder.reset(seed=7)
    folder = recorder.folder
    assert names(folder) == {"run.json"}
    run = json.loads((folder / "run.json").read_text())
    assert (run["task"], run["pack_version"], run["seed"], run["sandbox"]) == ("tiny", "1.2", 7, "box")
    assert len(run["pack_hash"]) == 64
    assert run["settings"]["programs"] == 4

    programs = [program(0.9), "code_execution_error\nBecause é", "sys = '\ud800'"]
    for count, text in enumerate(programs, 1):
        recorder.step(text)
        assert len(lines(folder)) == count
    assert "final.json" not in names(folder)
    recorder.step(FINISH)

    assert names(folder) == {"run.json", "steps.jsonl", "final.json", *(f"programs/000{n}.py" for n in (1, 2, 3))}
    for record, text in zip(lines(folder), programs, strict=True):
        saved = (folder / f"programs/{record['index']:04}.py").read_bytes().decode("utf-8", "surrogatepass")
        assert saved == text
        assert record["program_sha256"] == program_sha256(text)
    first, second, third = lines(folder)
    assert first["status"] == "success"
    assert first["validation"]["score"] == first["reward"]
    assert (second["status"], second["validation"], second["reason"]) == ("code_execution_error", None, "Because é")
    assert third["reason"]
    final = json.loads((folder / "final.json").read_text())
    assert (final["selected"], final["validation_score"]) == (1, first["reward"])
    assert final["test_score"] == final["test"]["score"]
    assert final["looks"] == {"validation": 1, "test": 1, "all": 0}


def test_no_test_score_is_on_disk_before_the_end(recorder: EpisodeRecorder) -> None:
    recorder.reset()
    recorder.step(program(0.9))
    text = "".join((recorder.folder / name).read_text() for name in names(recorder.folder))
    assert '"test' not in text


def test_each_episode_has_its_own_folder(recorder: EpisodeRecorder) -> None:
    folders = set()
    for _ in range(3):
        recorder.reset()
        recorder.step(program())
        folders.add(recorder.folder)
    assert len(folders) == 3
    assert all(len(lines(folder)) == 1 for folder in folders)


def test_the_program_is_on_disk_before_it_runs(make_env: Make, tmp_path: Path, box: Any) -> None:
    recorder = EpisodeRecorder(make_env(), tmp_path)
    seen: list[set[str]] = []
    box.meet = lambda: seen.append(names(recorder.folder))
    recorder.reset()
    recorder.step(program())
    assert seen == [{"run.json", "programs/0001.py"}]


def test_infrastructure_faults_are_marked(recorder: EpisodeRecorder) -> None:
    recorder.reset()
    recorder.step("raise")
    assert lines(recorder.folder)[0]["fault"] == "infrastructure"
    assert json.loads((recorder.folder / "final.json").read_text())["truncated"] is True


def test_a_refused_action_leaves_the_records_as_they_are(recorder: EpisodeRecorder) -> None:
    recorder.reset()
    with pytest.raises(UsageError):
        recorder.step(3)  # type: ignore[arg-type]  # that is the test
    recorder.step(FINISH)
    before = names(recorder.folder)
    with pytest.raises(UsageError, match="over"):
        recorder.step(program())
    assert names(recorder.folder) == before


@pytest.mark.parametrize("moment", ["program", "line"])
def test_a_full_disk_leaves_earlier_records_whole(
    recorder: EpisodeRecorder, box: Any, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    recorder.reset()
    recorder.step(program(0.9))
    before = {name: (recorder.folder / name).read_bytes() for name in names(recorder.folder)}

    def fail(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill() -> None:
        monkeypatch.setattr(os, "fsync", fail)

    if moment == "program":
        fill()
    else:
        box.meet = fill
    with pytest.raises(DiskFullError, match="OPENMLE_RUNS"):
        recorder.step(program(0.5))
    after = {name: (recorder.folder / name).read_bytes() for name in names(recorder.folder)}
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == (set() if moment == "program" else {"programs/0002.py"})


def test_a_folder_that_cannot_be_made_is_a_clear_error(make_env: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    recorder = EpisodeRecorder(make_env(), tmp_path / "file" / "runs")
    with pytest.raises(InfrastructureError, match=r"cannot be recorded.*OPENMLE_RUNS or --runs"):
        recorder.reset()


def test_only_task_environments_are_recorded() -> None:
    with pytest.raises(UsageError, match="CartPole"):
        EpisodeRecorder(gymnasium.make("CartPole-v1"))


def test_the_runs_folder_comes_from_the_settings(
    make_env: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENMLE_RUNS", str(tmp_path / "elsewhere"))
    recorder = EpisodeRecorder(make_env())
    with pytest.raises(UsageError, match="reset"):
        _ = recorder.folder
    recorder.reset()
    assert recorder.folder.parent == tmp_path / "elsewhere"
    assert stat.S_ISDIR((recorder.folder / "programs").stat().st_mode)
    assert json.loads((recorder.folder / "run.json").read_text())["format"] == recording.FORMAT


def test_a_kill_in_mid_run_leaves_whole_files(pack: Path, tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from openmle_env.envs.recording import EpisodeRecorder
from openmle_env.envs.task_env import TaskEnv
from tests.envs.tiny import Box, program

box = Box()
env = EpisodeRecorder(TaskEnv(Path({str(pack)!r}), sandbox=box), {str(tmp_path / "runs")!r})
env.reset(seed=1)
env.step(program(0.9))
box.meet = lambda: print("running", flush=True)
env.step("hang")
"""
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.kill()
    (folder,) = (tmp_path / "runs").iterdir()
    assert names(folder) == {"run.json", "steps.jsonl", "programs/0001.py", "programs/0002.py"}
    assert json.loads((folder / "run.json").read_text())["seed"] == 1
    assert [record["status"] for record in lines(folder)] == ["success"]
    assert (folder / "programs/0002.py").read_text() == "hang"


def test_a_fault_of_the_final_grade_is_recorded_there_and_not_with_the_program(
    recorder: EpisodeRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade = runner.grade

    def broken_test_part(grader: Any, submission: Any, part: Part, **arguments: Any) -> Grade:
        if part is Part.TEST:
            return Grade(status=ResultStatus.SCORING_FAILED, part=part, message="The task's metric failed.")
        return grade(grader, submission, part, **arguments)

    monkeypatch.setattr(runner, "grade", broken_test_part)
    recorder.reset()
    for text in (program(0.9), "timeout", "timeout"):
        recorder.step(text)
    info = recorder.step(program(0.5))[4]
    assert info["fault"] == "task"
    assert [line["fault"] for line in lines(recorder.folder)] == [None] * 4
    assert json.loads((recorder.folder / "final.json").read_text())["fault"] == "task"


def test_the_number_of_an_interrupted_program_goes_to_the_next_one(recorder: EpisodeRecorder, box: Any) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    recorder.reset()
    recorder.step(program(0.9))
    box.meet = interrupt
    with pytest.raises(KeyboardInterrupt):
        recorder.step(program(0.5))
    box.meet = lambda: None
    recorder.step(program(0.7))
    assert [line["index"] for line in lines(recorder.folder)] == [1, 2]
    for line in lines(recorder.folder):
        saved = (recorder.folder / f"programs/{line['index']:04}.py").read_text()
        assert program_sha256(saved) == line["program_sha256"]
    assert len(list((recorder.folder / "programs").iterdir())) == 2
