"""Run a program and grade what it wrote, with bounded retries where the machine failed and not the program."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from openmle_env.errors import InfrastructureError
from openmle_env.types import Execution, Grade, Part, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.graders.grader import Grader
    from openmle_env.sandbox.protocol import CancelToken, Sandbox
    from openmle_env.types import Artifact, Job

RETRY_PAUSES = (0.5, 2.0)
"""Seconds to wait before the second and the third attempt."""

_Result = TypeVar("_Result", Execution, Grade)


def execute(sandbox: Sandbox, job: Job, *, cancel: CancelToken, seconds: float) -> Execution:
    """Run ``job``, again where the sandbox failed; a failure that stays has status ``sandbox_unconfirmed``.

    Args:
        sandbox: Where to run it.
        job: The program with its inputs and limits.
        cancel: Ends the run and the waiting.
        seconds: After so many, nothing is tried again.

    Raises:
        UsageError: The job itself is impossible.
    """
    return _settle(
        lambda: sandbox.run(job, cancel=cancel),
        lambda reason: Execution(status=ResultStatus.SANDBOX_UNCONFIRMED, reason=reason, backend=sandbox.name),
        cancel=cancel,
        seconds=seconds,
    )


def grade(grader: Grader, submission: Artifact, part: Part, *, program_sha256: str, cancel: CancelToken) -> Grade:
    """Grade ``submission`` on ``part``, again where the machine failed; raises for neither the pack nor the machine.

    ``cancel`` ends a metric that runs, and the waiting.
    """
    return _settle(
        lambda: grader.grade(submission, part, program_sha256=program_sha256, cancel=cancel),
        lambda reason: Grade(status=ResultStatus.SANDBOX_UNCONFIRMED, part=part, message=reason),
        cancel=cancel,
    )


def _settle(
    call: Callable[[], _Result],
    failed: Callable[[str], _Result],
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


def _attempt(call: Callable[[], _Result], failed: Callable[[str], _Result]) -> _Result:
    try:
        return call()
    except InfrastructureError as error:
        return failed(str(error))


def _cancelled_within(cancel: CancelToken, seconds: float) -> bool:
    cancelled = threading.Event()
    unregister = cancel.on_cancel(cancelled.set)
    try:
        return cancelled.wait(seconds)
    finally:
        unregister()
