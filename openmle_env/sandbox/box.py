"""One run in one box, and what all backends that make boxes share: running, cancelling, closing.

A backend makes the box (`BoxSandbox.open_box`); inside runs `openmle_env/sandbox/inside/supervisor.py` as PID 1 with a
configuration in the environment variable ``OPENMLE_BOX`` (`configuration`), and the bytes travel over a `Transport`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol, Self

from openmle_env import settings
from openmle_env.errors import SandboxUnavailableError, UsageError
from openmle_env.sandbox.channel import (
    MAX_NAME,
    Channel,
    ChannelClosed,
    ProtocolError,
    Transport,
    most_files,
    read_report,
)
from openmle_env.sandbox.checks import check_job
from openmle_env.sandbox.forks import abandon_in_forks
from openmle_env.sandbox.layout import INSIDE, PYTHON
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.sandbox.verdict import Aftermath, cancelled, judge, refuse
from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openmle_env.sandbox.protocol import Confinement
    from openmle_env.types import Execution, Job, Warm

SUPERVISOR = (PYTHON, "-I", "-S", f"{INSIDE}/supervisor.py")
"""The command of a box."""

READY_SECONDS = 60.0
"""How long a box may take until it is ready."""
CLOSE_SECONDS = 5.0
"""How long closing a sandbox may take."""
GRACE_SECONDS = 10.0
"""How long after a program's deadline its box may still report, by the host's clock."""


def configuration(
    job: Job,
    *,
    modules: Sequence[str] = (),
    user: int | None = None,
    seccomp: str | None = None,
    child: str = f"{INSIDE}/child.py",
    nice: int = 19,
) -> dict[str, str]:
    """The environment of a box's supervisor.

    Args:
        job: Its CPUs become the number of threads that numeric libraries are told.
        modules: What is imported before the box is ready.
        user: The user that the supervisor has to become, where the backend starts it as root.
        seccomp: Path inside the box of a filter program that the supervisor has to load.
        child: Path inside the box of the child's code.
        nice: Priority of the program below its supervisor. In a cgroup of its own the lowest costs it nothing.
    """
    config = {
        "python": PYTHON,
        "child": child,
        "nice": nice,
        "threads": max(1, int(job.limits.cpus)),
        "modules": list(modules),
        "user": user,
        "seccomp": seccomp,
    }
    return {"OPENMLE_BOX": json.dumps(config)}


class Box(Protocol):
    """One started box. Used for one job, then closed."""

    @property
    def transport(self) -> Transport:
        """The bytes to and from its supervisor."""
        ...

    @property
    def watch_memory(self) -> bool:
        """Whether its supervisor has to bound memory, for want of a cgroup."""
        ...

    @property
    def processes(self) -> int | None:
        """A limit on processes that the program sets on itself (RLIMIT_NPROC), for want of a cgroup."""
        ...

    def kill(self) -> None:
        """Cut the box off, so that it ends by itself; idempotent, from any thread, without waiting. See `close`."""
        ...

    def close(self) -> Aftermath:
        """Kill, wait until nothing is left, give everything back; idempotent."""
        ...

    def diagnosis(self) -> str:
        """After `close`: what the backend said about a box that did not become ready."""
        ...


class BoxSandbox(ABC):
    """A sandbox backend that makes one box for each job. Safe to call from several threads at once."""

    name: str

    def __init__(self, warm: Warm | None = None) -> None:
        self.warm = warm or settings.load().warm
        self._lock = threading.Condition()
        self._boxes: set[Box] = set()
        self._closed = False
        abandon_in_forks(self)

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: boxes have one owner. Gymnasium copies what an environment was made with into its spec."""
        return self

    def abandon(self) -> None:
        """In a forked child: the boxes are the parent's, and so may be whoever held the lock."""
        self._lock = threading.Condition()
        self._boxes = set()

    @abstractmethod
    def open_box(self, job: Job) -> Box:
        """Start a box for this job; on failure leave nothing behind.

        Raises:
            SandboxUnavailableError: It cannot be started.
        """

    @abstractmethod
    def confinement(self) -> Confinement:
        """What this backend enforces on this machine."""

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        """Run one program in a new box; see `Sandbox.run`."""
        began = time.monotonic()
        check_job(job)
        refused = refuse(job, backend=self.name)
        if refused is not None:
            return refused
        cancel = cancel or CancelToken()
        if cancel.cancelled:
            return cancelled("The run was cancelled before it started.", backend=self.name)
        if self._is_closed():
            return cancelled("The sandbox was closed before the run.", backend=self.name)
        box = self._open(job)
        try:
            unregister = cancel.on_cancel(box.kill)
            try:
                return self._run_in(box, job, cancel, began)
            finally:
                unregister()
        finally:
            box.close()
            with self._lock:
                self._boxes.discard(box)
                self._lock.notify_all()

    def _open(self, job: Job) -> Box:
        box = self.open_box(job)
        with self._lock:
            self._boxes.add(box)
        if self._is_closed():  # meanwhile, by another thread
            box.kill()
        return box

    def _is_closed(self) -> bool:
        return self._closed

    def _run_in(self, box: Box, job: Job, cancel: CancelToken, began: float) -> Execution:
        channel = Channel(box.transport, max_bytes=_most_bytes(job))
        try:
            channel.wait_ready(time.monotonic() + READY_SECONDS)
            deadline = time.monotonic() + job.limits.wall_seconds + GRACE_SECONDS
            channel.send_job(job, deadline, watch_memory=box.watch_memory, processes=box.processes)
        except (TimeoutError, ChannelClosed, ProtocolError) as error:
            after = box.close()
            if cancel.cancelled or self._closed:
                return self._cancelled(cancel, began, after)
            if after.oom_kills:
                raise UsageError(
                    f"A memory limit of {job.limits.memory_mb:g} MiB is too small to start Python."
                ) from error
            said = str(error) or box.diagnosis() or f"it was not ready within {READY_SECONDS:g} s"
            notes = f" ({'; '.join(after.notes)})" if after.notes else ""
            raise SandboxUnavailableError(
                f"A {self.name} box could not be started: {said.strip()}{notes} `openmle doctor` says what is missing."
            ) from error
        report = read_report(channel, job, deadline)
        after = box.close()
        if report.final is None and (cancel.cancelled or self._closed):
            return self._cancelled(cancel, began, after)
        return judge(job, report, after, backend=self.name, total_seconds=time.monotonic() - began)

    def _cancelled(self, cancel: CancelToken, began: float, after: Aftermath) -> Execution:
        reason = "The run was cancelled." if cancel.cancelled else "The sandbox was closed during the run."
        seconds = time.monotonic() - began
        return cancelled(reason, backend=self.name, total_seconds=seconds, notes=after.notes)

    async def arun(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        """`run` in a thread of its own; cancelling the task kills the box and waits until it is gone."""
        return await run_in_thread(self, job, cancel)

    def warm_up(self, job: Job) -> None:
        """See `Sandbox.warm_up`."""

    def end_session(self, session: str) -> None:
        """See `Sandbox.end_session`."""

    def close(self) -> None:
        """Kill every running box and wait until it is gone; idempotent. These runs and later ones are ``cancelled``."""
        with self._lock:
            self._closed = True
            boxes = list(self._boxes)
        for box in boxes:
            box.kill()
        with self._lock:
            self._lock.wait_for(lambda: not self._boxes, timeout=CLOSE_SECONDS)


class _Runs(Protocol):
    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution: ...


async def run_in_thread(sandbox: _Runs, job: Job, cancel: CancelToken | None) -> Execution:
    """Run a job in a new thread (not of a pool, whose size would bound how many boxes run at once)."""
    token = CancelToken()
    unlink = cancel.on_cancel(token.cancel) if cancel else lambda: None
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Execution] = loop.create_future()

    def settle(result: Execution | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        elif result is not None:
            done.set_result(result)

    def work() -> None:
        result, failure = None, None
        try:
            result = sandbox.run(job, cancel=token)
        except BaseException as error:  # noqa: BLE001  handed to the task that awaits it, whatever it is
            failure = error
        # A loop that was closed meanwhile has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=work, name="openmle-sandbox-run", daemon=True).start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        token.cancel()
        await asyncio.wait([done])
        done.exception()  # looked at, so that asyncio does not report it as lost
        raise
    finally:
        unlink()


def _most_bytes(job: Job) -> int:
    """A bound on all that a box may send: artifacts, logs, and a description for each file."""
    logs, artifacts = 4 * job.limits.log_kb * 1024, job.limits.artifact_mb * MIB
    descriptions = most_files(job) * (6 * MAX_NAME + 1024)  # six characters of JSON for one of a name at most
    return int(logs + artifacts) + descriptions + 16 * MIB
