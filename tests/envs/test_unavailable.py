"""A machine that cannot run a program never looks like the program's failure, through the whole environment."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.envs.task_env import TaskEnv
from openmle_env.errors import DiskFullError, SandboxUnavailableError
from openmle_env.sandbox import box as boxes
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.sandbox.docker import DockerSandbox
from openmle_env.types import Fault, ResultStatus
from tests.envs.tiny import Box, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openmle_env.sandbox.protocol import CancelToken, Sandbox
    from openmle_env.types import Execution, Job, Warm

    Make = Callable[..., TaskEnv]

WAYS: tuple[Warm, ...] = ("off", "single", "forked")
GOOD = "import shutil\nshutil.copyfile('/data/sample_submission.csv', '/output/submission.csv')\n"


def must_be_the_machines(env: TaskEnv, text: str = GOOD) -> str:
    """Play a program that must fail for the machine; returns why it did."""
    env.reset()
    observation, reward, terminated, truncated, info = env.step(text)
    outcome = info["outcome"]
    assert outcome.status is ResultStatus.SANDBOX_UNCONFIRMED
    assert outcome.status.fault is Fault.INFRASTRUCTURE
    assert (reward, terminated, truncated, info["fault"]) == (0.0, False, True, "infrastructure")
    assert info["final"].selected is None
    assert observation["has_score"] == 0
    return str(outcome.grade.message if outcome.grade else outcome.execution.reason)


@pytest.fixture(params=WAYS)
def warm(request: pytest.FixtureRequest) -> Warm:
    way: Warm = request.param
    return way


@pytest.fixture
def close() -> Any:
    """Register sandboxes that are closed at the end."""
    made: list[Sandbox] = []
    yield made.append
    for sandbox in made:
        sandbox.close()


# Before anything ran


@pytest.mark.parametrize("kind", [SandboxUnavailableError, DiskFullError])
def test_a_sandbox_that_says_so(make_env: Make, kind: type[Exception]) -> None:
    class Gone(Box):
        def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
            self.jobs.append(job)
            raise kind("The engine is gone.")

    box = Gone()
    assert must_be_the_machines(make_env(sandbox=box)) == "The engine is gone."
    assert len(box.jobs) == 2  # tried again once


def test_no_engine(pack: Path, tmp_path: Path, warm: Warm, monkeypatch: pytest.MonkeyPatch, close: Any) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    sandbox = DockerSandbox("openmle-env-sandbox:none", warm=warm)
    close(sandbox)
    assert "No Docker engine answers" in must_be_the_machines(TaskEnv(pack, sandbox=sandbox))


@pytest.mark.docker
def test_an_image_that_is_gone(pack: Path, warm: Warm, docker_engine: None, close: Any) -> None:
    sandbox = DockerSandbox("openmle-env-sandbox:never-built", warm=warm)
    close(sandbox)
    assert "never-built" in must_be_the_machines(TaskEnv(pack, sandbox=sandbox))


@pytest.mark.docker
def test_an_image_that_is_none_of_ours(pack: Path, warm: Warm, docker_engine: None, close: Any) -> None:
    import docker

    client = docker.from_env()
    try:
        client.api.import_image_from_data(b"", repository="openmle-env-test-empty", tag="latest")
        sandbox = DockerSandbox("openmle-env-test-empty:latest", warm=warm)
        close(sandbox)
        assert "openmle-env-test-empty" in must_be_the_machines(TaskEnv(pack, sandbox=sandbox))
    finally:
        client.images.remove("openmle-env-test-empty:latest", force=True)
        client.close()


BROKEN = {
    "ends at once": "exit 1",
    "says why": "echo 'no namespaces for you' >&2; exit 1",
    "says what no supervisor says": "printf 'hello, world, this is no frame'; sleep 600",
    "says nothing": "exec sleep 600",
}


@pytest.fixture(params=[(way, kind) for way in WAYS for kind in BROKEN if way == "off" or kind.startswith("ends")])
def broken(
    request: pytest.FixtureRequest, tmp_path: Path, usable: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[BubblewrapSandbox]:
    """A sandbox whose bubblewrap is a script that makes no box."""
    usable("bubblewrap")
    way, kind = request.param
    binary = tmp_path / "bwrap"
    binary.write_text(f"#!/bin/sh\n{BROKEN[kind]}\n")
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("openmle_env.sandbox.bubblewrap.find_binary", lambda: str(binary))
    monkeypatch.setattr(boxes, "READY_SECONDS", 0.5)
    sandbox = BubblewrapSandbox(warm=way)
    yield sandbox
    sandbox.close()


@pytest.mark.bubblewrap
def test_a_bubblewrap_that_makes_no_box(pack: Path, broken: BubblewrapSandbox) -> None:
    why = must_be_the_machines(TaskEnv(pack, sandbox=broken))
    assert "could not be started" in why
    assert "openmle doctor" in why


@pytest.mark.bubblewrap
def test_a_bubblewrap_that_is_gone(
    pack: Path, usable: Callable[[str], None], warm: Warm, monkeypatch: pytest.MonkeyPatch, close: Any
) -> None:
    usable("bubblewrap")
    sandbox = BubblewrapSandbox(warm=warm)
    close(sandbox)
    monkeypatch.setattr("openmle_env.sandbox.bubblewrap.find_binary", lambda: "/no/bwrap")
    must_be_the_machines(TaskEnv(pack, sandbox=sandbox))


# While it is graded

METRIC = """\
class TinyMetrics:
    higher_is_better = True
    def validate_submission(self, submission, ground_truth):
        pass
    def evaluate(self, y_true, y_pred):
        return float((y_true["y"] == y_pred["y"]).mean())
"""


class NoMetrics(Box):
    """As `Box`, where a program runs; a pack's metric, which is another job, finds no box."""

    broken = False

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        if not (job.inputs["/data"] / "metric.py").exists():
            return super().run(job, cancel=cancel)
        self.jobs.append(job)
        raise SandboxUnavailableError("The engine is gone.")


def test_a_metric_that_finds_no_box(make_env: Make, pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = make_env(sandbox=NoMetrics())
    env.reset()  # prepared with a metric of ours
    assert env._task is not None
    metric = pack / "metric.py"
    metric.write_text(METRIC)
    from openmle_env.graders.grader import Grader
    from openmle_env.graders.pack_metric import PackMetric

    box = NoMetrics()
    grader = Grader(
        schema=env.task_spec.submission,
        metric=PackMetric(metric, box, higher_is_better=True),
        answers=env._task.answers,
    )
    monkeypatch.setattr(type(env._task), "grader", lambda self, sandbox: grader)
    why = must_be_the_machines(make_env(sandbox=box), program(1.0))
    assert why == "The task's metric could not be run: The engine is gone."
    assert len(box.jobs) == 3  # the program, and its metric twice


# GPUs


@pytest.fixture
def gpu_pack(pack: Path) -> Path:
    with (pack / "pack.yaml").open("a") as file:
        file.write("hardware: {gpus: 1}\n")
    return pack


def test_a_task_with_gpus_is_refused_at_reset_where_there_are_none(
    gpu_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    env = TaskEnv(gpu_pack, sandbox=DockerSandbox("none"))
    with pytest.raises(SandboxUnavailableError, match=r"nvidia-smi.*limits=\{'gpus': 0\}"):
        env.reset()
    monkeypatch.setenv("OPENMLE_GPUS", "none")
    with pytest.raises(SandboxUnavailableError, match=r"OPENMLE_GPUS allows 0.*limits=\{'gpus': 0\}"):
        env.reset()
    with pytest.raises(SandboxUnavailableError, match="bubblewrap has none to give"):
        TaskEnv(gpu_pack, sandbox=BubblewrapSandbox()).reset()
    TaskEnv(gpu_pack, sandbox=DockerSandbox("none", warm="off"), limits={"gpus": 0}).reset()


def test_a_task_with_gpus_is_played_where_there_are_enough(gpu_pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openmle_env.sandbox.gpus.devices.chosen", lambda: ("GPU-1",))
    TaskEnv(gpu_pack, sandbox=DockerSandbox("none", warm="off")).reset()
    with pytest.raises(SandboxUnavailableError, match="gets 2 GPUs, and OPENMLE_GPUS allows 1"):
        TaskEnv(gpu_pack, sandbox=DockerSandbox("none", warm="off"), limits={"gpus": 2}).reset()
