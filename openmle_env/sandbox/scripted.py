"""A backend for tests and dry runs: no program is run, a script says what came of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from openmle_env.sandbox.box import run_in_thread
from openmle_env.sandbox.checks import check_job
from openmle_env.sandbox.protocol import CancelToken, Confinement
from openmle_env.sandbox.verdict import cancelled, refuse
from openmle_env.types import SUBMISSION_NAME, Artifact, ArtifactState, Execution, Job, ResultStatus

MARK = "# scripted:"

Script = Callable[[Job], Execution]


class ScriptedSandbox:
    """Answers each job from a function, or by default from the job's own first line (see `obey`)."""

    name = "scripted"

    def __init__(self, script: Script | None = None) -> None:
        self._script = script or obey
        self._closed = threading.Event()

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: Gymnasium copies what an environment was made with into its spec."""
        return self

    def confinement(self) -> Confinement:
        """Nothing runs, so nothing is confined."""
        return Confinement(memory="none", cpu=False, inodes=False, network=True, details=("no program is run",))

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        """Answer the job; a script's ``sleep`` ends early when the run is cancelled or the sandbox closed."""
        check_job(job)
        refused = refuse(job, backend=self.name)
        if refused is not None:
            return refused
        stop = threading.Event()
        unregister = (cancel or CancelToken()).on_cancel(stop.set)
        try:
            until = time.monotonic() + _sleep_of(job)
            while not stop.is_set() and not self._closed.is_set() and time.monotonic() < until:
                stop.wait(min(0.02, max(0.0, until - time.monotonic())))
        finally:
            unregister()
        if stop.is_set() or self._closed.is_set():
            return cancelled("The run was cancelled.", backend=self.name)
        return self._script(job)

    async def arun(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        """`run` in a thread of its own."""
        return await run_in_thread(self, job, cancel)

    def warm_up(self, job: Job) -> None:
        """Nothing has to wait."""

    def end_session(self, session: str) -> None:
        """There are no boxes."""

    def close(self) -> None:
        """End the runs that sleep."""
        self._closed.set()


def obey(job: Job) -> Execution:
    """Do what the program's first line says: ``# scripted: {"status": "timeout", "stdout": "..."}``.

    Keys, all optional: ``status``, ``reason``, ``exit_code``, ``stdout``, ``stderr``, ``submission`` (text of
    submission.csv), ``wall_seconds``, ``sleep`` (seconds that pass before the answer). Anything else is an error of the
    program, as is a program without such a line.
    """
    try:
        orders = _orders(job)
    except ValueError as error:
        return Execution(status=ResultStatus.CODE_EXECUTION_ERROR, reason=str(error), exit_code=1, backend="scripted")
    status = ResultStatus(orders.get("status", ResultStatus.SUCCESS))
    artifacts = {}
    if "submission" in orders:
        content = str(orders["submission"]).encode()
        artifacts[SUBMISSION_NAME] = Artifact(name=SUBMISSION_NAME, state=ArtifactState.OK, content=content)
    elif status is ResultStatus.SUCCESS and SUBMISSION_NAME in job.collect:
        status = ResultStatus.SUBMISSION_MISSING
    stdout, stderr = str(orders.get("stdout", "")), str(orders.get("stderr", ""))
    good = status in (ResultStatus.SUCCESS, ResultStatus.SUBMISSION_MISSING, ResultStatus.SUBMISSION_INVALID)
    return Execution(
        status=status,
        reason=str(orders.get("reason", "" if status is ResultStatus.SUCCESS else f"Scripted: {status}.")),
        exit_code=orders.get("exit_code", 0 if good else 1),
        stdout=stdout,
        stderr=stderr,
        stdout_bytes=len(stdout.encode()),
        stderr_bytes=len(stderr.encode()),
        wall_seconds=float(orders.get("wall_seconds", 0.0)),
        artifacts=artifacts,
        backend="scripted",
    )


_KEYS = {"status", "reason", "exit_code", "stdout", "stderr", "submission", "wall_seconds", "sleep"}


def _orders(job: Job) -> dict[str, Any]:
    first = job.program.lstrip().partition("\n")[0]
    if not first.startswith(MARK):
        raise ValueError(f"The scripted sandbox runs nothing: begin the program with {MARK} and a JSON object.")
    try:
        orders = json.loads(first.removeprefix(MARK))
    except ValueError as error:
        raise ValueError(f"The line after {MARK} is not JSON: {error}") from error
    if not isinstance(orders, dict) or not orders.keys() <= _KEYS:
        raise ValueError(f"The line after {MARK} must be a JSON object with keys among {', '.join(sorted(_KEYS))}.")
    if orders.get("status", "success") not in set(ResultStatus):
        raise ValueError(f"There is no status {orders['status']!r}.")
    return orders


def _sleep_of(job: Job) -> float:
    try:
        return float(_orders(job).get("sleep", 0.0))
    except (ValueError, TypeError):
        return 0.0
