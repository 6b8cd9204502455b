"""Run a program and grade what it wrote, once more where the machine failed and not the program."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from openmle_env.envs.deadline import CANCEL_SECONDS
from openmle_env.errors import OpenMLEError
from openmle_env.types import Execution, Fault, Grade, Part, ResultStatus

if TYPE_CHECKING:
    from openmle_env.envs.deadline import Deadline
    from openmle_env.graders.grader import Grader
    from openmle_env.sandbox.protocol import CancelToken, Sandbox
    from openmle_env.types import Artifact, Job

RETRY_PAUSES = (0.5,)
"""Seconds to wait before each further attempt."""

_Result = TypeVar("_Result", Execution, Grade)
_Failed = Callable[[str, ResultStatus], _Result]
"""Makes the result of what came to no end of its own, from the reason and the status."""


def execute(sandbox: Sandbox, job: Job, *, deadline: Deadline, seconds: float) -> Execution:
    """Run ``job``, again where the sandbox failed; a failure that stays has status ``sandbox_unconfirmed``.

    Args:
        sandbox: Where to run it.
        job: The program with its inputs and limits.
        deadline: Ends the run and the waiting; what was not over then has status ``sandbox_unconfirmed``, too.
        seconds: After so many, nothing is tried again.

    Raises:
        UsageError: The job itself is impossible.
    """

    def failed(reason: str, status: ResultStatus) -> Execution:
        return Execution(status=status, reason=reason, backend=sandbox.name)

    def run() -> Execution:
        return sandbox.run(job, cancel=deadline.cancel)

    return _within(
        deadline, lambda: _settle(run, failed, cancel=deadline.cancel, seconds=seconds), failed, "Running the program"
    )


def grade(grader: Grader, submission: Artifact, part: Part, *, program_sha256: str, deadline: Deadline) -> Grade:
    """Grade ``submission`` on ``part``, again where the machine failed; raises for neither the pack nor the machine.

    ``deadline`` ends a metric that runs, and the waiting. What was not over then has status ``sandbox_unconfirmed``.
    """

    def failed(reason: str, status: ResultStatus) -> Grade:
        return Grade(status=status, part=part, message=reason)

    def score() -> Grade:
        return grader.grade(submission, part, program_sha256=program_sha256, cancel=deadline.cancel)

    return _within(deadline, lambda: _settle(score, failed, cancel=deadline.cancel), failed, "Grading the submission")


def _within(deadline: Deadline, call: Callable[[], _Result], failed: _Failed[_Result], what: str) -> _Result:
    """The result of ``call``, or that there is none by the deadline: the fault of the machine, never of the program."""
    result = deadline.call(call)
    if deadline.passed and (result is None or result.status is ResultStatus.CANCELLED):
        reason = f"{what} did not come to its end within {deadline.seconds:g} s."
        return failed(reason, ResultStatus.SANDBOX_UNCONFIRMED)
    if result is None:
        return failed(f"It was cancelled, and did not end within {CANCEL_SECONDS:g} s.", ResultStatus.CANCELLED)
    return result


def _settle(
    call: Callable[[], _Result],
    failed: _Failed[_Result],
    *,
    cancel: CancelToken,
    seconds: float = math.inf,
) -> _Result:
    deadline = time.monotonic() + seconds
    for pause in RETRY_PAUSES:
        result = _attempt(call, failed)
        if result.status is not ResultStatus.SANDBOX_UNCONFIRMED:
            return result
        if time.monotonic() + pause >= deadline or _cancelled_within(cancel, pause):
            return result
    return _attempt(call, failed)


def _attempt(call: Callable[[], _Result], failed: _Failed[_Result]) -> _Result:
    try:
        return call()
    except OpenMLEError as error:
        if error.fault is not Fault.INFRASTRUCTURE:
            raise
        return failed(str(error), ResultStatus.SANDBOX_UNCONFIRMED)


def _cancelled_within(cancel: CancelToken, seconds: float) -> bool:
    cancelled = threading.Event()
    unregister = cancel.on_cancel(cancelled.set)
    try:
        return cancelled.wait(seconds)
    finally:
        unregister()
