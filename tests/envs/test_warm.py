"""What an environment tells its sandbox of boxes that wait and of its episodes, and what it records of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium
import pytest

from openmle_env.envs.recording import EpisodeRecorder
from openmle_env.envs.task_env import FINISH, TaskEnv
from openmle_env.envs.vector import make_vector
from openmle_env.errors import InfrastructureError, UsageError
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.types import Execution, Job, ResultStatus
from tests.envs.tiny import Box, program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.sandbox.protocol import CancelToken
    from openmle_env.types import Warm

    Make = Callable[..., TaskEnv]


class WarmBox(Box):
    """As `Box`, with a way to run programs, and devices."""

    def __init__(self, warm: Warm = "single", gpus: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.warm, self.gpus = warm, gpus

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        return replace(super().run(job, cancel=cancel), box="warm", gpus=self.gpus, disk_mb=1.5, files=3)


# What is asked for


def test_an_episode_warms_up_what_its_programs_will_need(make_env: Make, box: Box) -> None:
    env = make_env(limits={"memory_mb": 300})
    env.reset()
    (warmed,) = box.warmed
    env.step(program())
    (job,) = box.jobs
    assert (warmed.inputs, warmed.limits, warmed.modules) == (job.inputs, job.limits, job.modules)
    assert job.modules == ("numpy", "pandas", "sklearn")
    assert warmed.session == job.session != ""


def test_a_pack_says_what_its_boxes_import(make_env: Make, box: Box, pack: Path) -> None:
    text = (pack / "pack.yaml").read_text()
    for stated, modules in (
        ("modules: [numpy]\n", ("numpy",)),
        ("warm: [torch.nn]\n", ("torch.nn",)),
        ("warm: []\n", ()),
    ):
        (pack / "pack.yaml").write_text(text + stated)
        env = make_env()
        env.reset()
        env.step(program())
        assert box.jobs[-1].modules == box.warmed[-1].modules == modules


def test_each_episode_is_a_session_and_ends_it(make_env: Make, box: Box) -> None:
    env = make_env(programs=2)
    for texts in ((program(), program()), (program(), FINISH), (program(),)):
        env.reset()
        for text in texts:
            env.step(text)
    env.close()
    sessions = [job.session for job in box.jobs]
    assert [sessions.count(session) for session in dict.fromkeys(sessions)] == [2, 1, 1]
    assert set(box.ended) == set(sessions)


def test_a_reset_in_mid_episode_ends_its_session(make_env: Make, box: Box) -> None:
    env = make_env()
    env.reset()
    env.reset()
    assert box.ended == [box.warmed[0].session]


def test_two_environments_never_have_one_session(make_env: Make, box: Box) -> None:
    for _ in range(2):
        env = make_env()
        env.reset()
        env.step(program())
    assert box.jobs[0].session != box.jobs[1].session


def test_an_engine_that_is_gone_at_the_end_of_a_session_costs_no_result(make_env: Make) -> None:
    class Gone(Box):
        def end_session(self, session: str) -> None:
            raise InfrastructureError("The engine is gone.")

    env = make_env(sandbox=Gone())
    env.reset()
    env.step(program())
    assert env.step(FINISH)[4]["final"].test_score == 1.0
    env.close()


# The argument


@pytest.mark.parametrize("made", [TaskEnv, make_vector])
def test_the_way_is_handed_to_the_sandbox(
    pack: Path, box: Box, monkeypatch: pytest.MonkeyPatch, made: Callable[..., Any]
) -> None:
    asked: list[object] = []

    def create(name: str, *, warm: Warm | None) -> Box:
        asked.append(warm)
        return box

    monkeypatch.setattr("openmle_env.sandbox.select.create", create)
    for way in (None, "forked", "off"):
        env = made(task=pack, warm=way)
        env.reset()
        env.close()
    assert asked == [None, "forked", "off"]


def test_gymnasium_passes_it_on() -> None:
    env = gymnasium.make("OpenMLE/titanic-v0", warm="forked", sandbox="scripted")
    assert isinstance(env.unwrapped, TaskEnv)
    assert env.unwrapped.options.warm == "forked"
    assert env.unwrapped.describe()["warm"] == "forked"


@pytest.mark.parametrize(("way", "word"), [("fork", "Did you mean 'forked'"), (True, "warm=True"), ("", "'single'")])
def test_another_way_is_refused(make_env: Make, way: object, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        make_env(warm=way)


def test_a_given_sandbox_has_its_own_way(make_env: Make, box: Box) -> None:
    make_env(sandbox=BubblewrapSandbox(warm="forked"), warm="forked")
    with pytest.raises(UsageError, match=r"has warm='single'\. Leave it out"):
        make_env(sandbox=BubblewrapSandbox(warm="single"), warm="forked")
    with pytest.raises(UsageError, match="has warm='off'"):
        make_env(sandbox=box, warm="single")


# What is told


def test_the_record_says_where_programs_ran_and_with_what(make_env: Make, tmp_path: Path) -> None:
    box = WarmBox("forked", gpus=("GPU-1", "GPU-2"))
    env = EpisodeRecorder(make_env(sandbox=box), tmp_path / "runs")
    env.reset()
    info = env.step(program())[4]
    assert info["gpus"] == ("GPU-1", "GPU-2")
    run = json.loads((env.folder / "run.json").read_text())
    assert run["warm"] == "forked"
    assert run["settings"]["limits"]["gpus"] == 0
    step = json.loads((env.folder / "steps.jsonl").read_text())
    assert (step["box"], step["gpus"], step["disk_mb"], step["files"]) == ("warm", ["GPU-1", "GPU-2"], 1.5, 3)


def test_a_program_without_gpus_has_none_in_its_info(make_env: Make) -> None:
    env = make_env(sandbox=WarmBox())
    env.reset()
    info = env.step(program())[4]
    assert info["outcome"].status is ResultStatus.SUCCESS
    assert "gpus" not in info


@pytest.mark.bubblewrap
@pytest.mark.parametrize("warm", ["off", "single", "forked"])
def test_a_real_episode_in_each_way(pack: Path, usable: Callable[[str], None], warm: Warm) -> None:
    usable("bubblewrap")
    with (pack / "pack.yaml").open("a") as file:
        file.write("warm: []\n")
    copy = "import shutil\nshutil.copyfile('/data/sample_submission.csv', '/output/submission.csv')\n"
    env = TaskEnv(pack, sandbox="bubblewrap", warm=warm, programs=2)
    env.reset()
    boxes = [env.step(copy)[4]["outcome"].execution.box for _ in range(2)]
    env.close()
    assert boxes == [{"off": "fresh", "single": "warm", "forked": "forked"}[warm]] * 2
