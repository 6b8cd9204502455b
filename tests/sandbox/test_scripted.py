"""The scripted backend does what it is told."""

from __future__ import annotations

import asyncio
import json
import threading
import warnings
from typing import Any

import gymnasium
import pytest

import openmle_env  # noqa: F401  registers the environments
from openmle_env.errors import UsageError
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.sandbox.protocol import CancelToken, Sandbox
from openmle_env.sandbox.scripted import ScriptedSandbox
from openmle_env.types import Execution, Job, ResultStatus


def scripted(**orders: Any) -> Job:
    return Job(program=f"# scripted: {json.dumps(orders)}\nprint('never run')\n")


def test_it_obeys() -> None:
    sandbox = ScriptedSandbox()
    assert isinstance(sandbox, Sandbox)
    run = sandbox.run(scripted(submission="id,target\n1,0\n", stdout="hello\n", wall_seconds=2))
    assert (run.status, run.exit_code, run.stdout, run.stdout_bytes) == (ResultStatus.SUCCESS, 0, "hello\n", 6)
    assert run.submission.content == b"id,target\n1,0\n"
    assert (run.wall_seconds, run.backend) == (2.0, "scripted")


@pytest.mark.parametrize("status", list(ResultStatus))
def test_every_status(status: ResultStatus) -> None:
    run = ScriptedSandbox().run(scripted(status=status, submission="x"))
    assert run.status is status


@pytest.mark.parametrize("kind", [ScriptedSandbox, BubblewrapSandbox])
def test_an_environment_with_a_sandbox_of_its_own_has_a_spec(kind: type[Any]) -> None:
    sandbox = kind()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("OpenMLE/titanic-v0", sandbox=sandbox)
        assert env.spec is not None
        assert env.spec.kwargs["sandbox"] is sandbox
    env.close()
    sandbox.close()


def test_a_closed_one_cancels() -> None:
    sandbox = ScriptedSandbox()
    sandbox.close()
    assert sandbox.run(scripted()).status is ResultStatus.CANCELLED


def test_success_needs_a_submission() -> None:
    assert ScriptedSandbox().run(scripted()).status is ResultStatus.SUBMISSION_MISSING


@pytest.mark.parametrize(
    "program",
    ["print(1)", "# scripted: {", "# scripted: []", '# scripted: {"stat": 1}', '# scripted: {"status": "great"}'],
)
def test_other_programs_are_errors_that_explain(program: str) -> None:
    run = ScriptedSandbox().run(Job(program=program + "\nx = 1\n"))
    assert run.status is ResultStatus.CODE_EXECUTION_ERROR
    assert run.reason


def test_a_function_answers() -> None:
    sandbox = ScriptedSandbox(lambda job: Execution(status=ResultStatus.TIMEOUT, reason=job.program))
    assert sandbox.run(Job(program="x = 1")).reason == "x = 1"
    assert sandbox.run(Job(program="")).status is ResultStatus.CODE_MISSING


def test_sleeping_runs_can_be_cancelled_and_closed() -> None:
    sandbox, cancel = ScriptedSandbox(), CancelToken()
    threading.Timer(0.05, cancel.cancel).start()
    assert sandbox.run(scripted(sleep=600), cancel=cancel).status is ResultStatus.CANCELLED
    threading.Timer(0.05, sandbox.close).start()
    assert sandbox.run(scripted(sleep=600)).status is ResultStatus.CANCELLED


def test_tasks_can_be_cancelled() -> None:
    async def main() -> None:
        task = asyncio.create_task(ScriptedSandbox().arun(scripted(sleep=600)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_errors_reach_the_task() -> None:
    job = Job(program="# scripted: {}\nx = 1", collect=("../secret",))
    with pytest.raises(UsageError, match="Cannot collect"):
        asyncio.run(ScriptedSandbox().arun(job))
