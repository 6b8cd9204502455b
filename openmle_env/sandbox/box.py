"""One run in one box, and what all backends that make boxes share: running, waiting boxes, cancelling, closing.

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
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Self

from openmle_env import settings
from openmle_env.errors import SandboxUnavailableError, UsageError
from openmle_env.sandbox import pool as pools
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
from openmle_env.sandbox.plan import Plan
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.sandbox.users import EACH
from openmle_env.sandbox.verdict import Aftermath, cancelled, judge, refuse
from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.sandbox.protocol import Confinement
    from openmle_env.types import Execution, Job, Warm

_START = f"import sys; sys.path.insert(0, '{INSIDE}'); from inside.%s import main; main()"
SUPERVISOR = (PYTHON, "-I", "-S", "-c", _START % "supervisor")
"""The command of a box."""
CHILD = _START % "child"
"""What the process that becomes a program, or is forked into one, runs first."""

READY_SECONDS = 60.0
"""How long a box may take until it is ready."""
CLOSE_SECONDS = 5.0
"""How long closing a sandbox may take."""
GRACE_SECONDS = 10.0
"""How long after a program's deadline its box may still report, by the host's clock."""


def configuration(
    job: Job,
    plan: Plan,
    *,
    user: int | None = None,
    seccomp: str | None = None,
    nice: int = 19,
) -> dict[str, str]:
    """The environment of a box's supervisor.

    Args:
        job: Its CPUs become the number of threads that numeric libraries are told.
        plan: What the box is for.
        user: The user that the supervisor has to become, where the backend starts it as root. Where the box forks, the
            next ones are its programs'.
        seccomp: Path inside the box of a filter program that the supervisor has to load.
        nice: Priority of the program below its supervisor. In a cgroup of its own the lowest costs it nothing.
    """
    config = {
        "python": PYTHON,
        "child": CHILD,
        "nice": nice,
        "threads": max(1, int(job.limits.cpus)),
        "modules": list(plan.imports(job.limits)),
        "forks": plan.forks,
        "idle_seconds": plan.idle_seconds,
        "user": user,
        "users": (user + 1, user + EACH) if plan.forks and user is not None else None,
        "seccomp": seccomp,
    }
    return {"OPENMLE_BOX": json.dumps(config)}


class Box(Protocol):
    """One started box. Used for one job, or as a session's for several, then closed."""

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

    def measure(self) -> Aftermath:
        """What the host knows of the box while it lives, since the last call; with what it cannot confine."""
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
    """A sandbox backend that makes boxes for jobs. Safe to call from several threads at once.

    Args:
        warm: Where programs run; that of the settings by default.
    """

    name: str
    gives_gpus = False
    """Whether its boxes can be given devices."""

    def __init__(self, warm: Warm | None = None) -> None:
        self.warm: Warm = settings.load().warm if warm is None else settings.checked_warm(warm)
        self._lock = threading.Condition()
        self._boxes: set[Box] = set()
        self._closing = CancelToken()
        self._pool: pools.Pool | None = None
        self._sessions: set[str] = set()
        """Those that may have a box in the pool."""
        abandon_in_forks(self)

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: boxes have one owner. Gymnasium copies what an environment was made with into its spec."""
        return self

    def abandon(self) -> None:
        """In a forked child: the boxes and runs are the parent's, and so may be whoever held the lock."""
        closing = CancelToken()
        if self._closed:
            closing.cancel()
        self._closing = closing
        self._lock = threading.Condition()
        self._boxes = set()
        self._pool = None
        self._sessions = set()

    @abstractmethod
    def open_box(self, job: Job, plan: Plan) -> Box:
        """Start a box for this job and those like it; on failure leave nothing behind.

        Raises:
            SandboxUnavailableError: It cannot be started.
        """

    @abstractmethod
    def confinement(self) -> Confinement:
        """What this backend enforces on this machine."""

    @property
    def _closed(self) -> bool:
        return self._closing.cancelled

    @abstractmethod
    def check_inputs(self, job: Job) -> None:
        """Refuse a job whose inputs its program could not read, also where its box was made before they were closed.

        Raises:
            UsageError: They lack permissions for the user in the box.
        """

    @property
    def identity(self) -> tuple[object, ...]:
        """Sandboxes of one identity make equal boxes, and share those that wait."""
        return (type(self), self.warm)

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        """Run one program; see `Sandbox.run`."""
        began = time.monotonic()
        check_job(job)
        refused = refuse(job, backend=self.name)
        if refused is not None:
            return refused
        cancel = cancel or CancelToken()
        if cancel.cancelled:
            return cancelled("The run was cancelled before it started.", backend=self.name)
        if self._closed:
            return cancelled("The sandbox was closed before the run.", backend=self.name)
        self.check_inputs(job)
        try:
            if job.limits.gpus:
                return self._run_on_gpus(job, cancel, began)
            pool = self._pool_for(job)
            if pool is None:
                return self._run_fresh(job, Plan(modules=job.modules or ()), cancel, began)
            return self._run_warm(pool, job, cancel, began)
        except SandboxUnavailableError:
            if self._stopped(cancel):  # which is why
                return self._cancelled(cancel, began, Aftermath())
            raise

    def _run_on_gpus(self, job: Job, cancel: CancelToken, began: float) -> Execution:
        """Run the job with devices that no other program has meanwhile, unless the settings allow that."""
        from openmle_env.sandbox.gpus import leases, payload

        if not self.gives_gpus:
            raise UsageError(
                f"The sandbox {self.name!r} gives programs no GPU, and {job.limits.gpus} were asked for. Use Docker."
            )
        seconds = READY_SECONDS + job.limits.wall_seconds + GRACE_SECONDS + CLOSE_SECONDS
        try:
            with contextlib.ExitStack() as undo:
                stop = undo.enter_context(self._ending(cancel))
                with cancel.waiting():
                    lease = undo.enter_context(leases.take(int(job.limits.gpus), seconds=seconds, cancel=stop))
                told = payload.environment(lease.devices, sharing=lease.sharing, torch=version_of("torch") or "")
                job = replace(job, environment={**told, **job.environment})
                plan = Plan(modules=job.modules or (), gpus=lease.devices)
                execution = self._run_fresh(job, plan, cancel, began, before=lease.confirm)
        except leases.LeaseCancelledError:
            return self._cancelled(cancel, began, Aftermath())
        return replace(execution, gpus=tuple(device.uuid for device in plan.gpus))

    def _run_fresh(
        self,
        job: Job,
        plan: Plan,
        cancel: CancelToken,
        began: float,
        *,
        before: Callable[[], None] = lambda: None,
    ) -> Execution:
        """Run the job in a box that is made for it, and gone when this returns; ``before`` may refuse at the last."""
        waiting = self._open_ready(job, plan, cancel)
        try:
            before()
            return self._run_in(waiting, job, cancel, began)
        finally:
            waiting.box.close()

    def _run_warm(self, pool: pools.Pool, job: Job, cancel: CancelToken, began: float) -> Execution:
        """Run the job in a box that waits, or is about to."""
        with self._ending(cancel) as stop, pool.taking(job, stop, self._open_ready) as waiting:
            if waiting is None:
                return self._cancelled(cancel, began, Aftermath())
            execution = self._run_in(waiting, job, cancel, began)
            return replace(execution, box="forked" if waiting.plan.forks else "warm")

    def _stopped(self, cancel: CancelToken) -> bool:
        return cancel.cancelled or self._closed

    @contextlib.contextmanager
    def _ending(self, cancel: CancelToken) -> Iterator[CancelToken]:
        """A token that is cancelled with the given one, and when this sandbox is closed."""
        stop = CancelToken()
        with contextlib.ExitStack() as undo:
            for token in (cancel, self._closing):
                undo.callback(token.on_cancel(stop.cancel))
            yield stop

    @contextlib.contextmanager
    def _running(self, box: Box, cancel: CancelToken) -> Iterator[None]:
        """The box is one that `close` and ``cancel`` end."""
        with self._lock:
            self._boxes.add(box)
        unregister = cancel.on_cancel(box.kill)
        if self._closed:  # meanwhile, by another thread
            box.kill()
        try:
            yield
        finally:
            unregister()
            with self._lock:
                self._boxes.discard(box)
                self._lock.notify_all()

    def _run_in(self, waiting: pools.Waiting, job: Job, cancel: CancelToken, began: float) -> Execution:
        """Run the job in a box that is ready for it."""
        box, channel = waiting.box, waiting.channel
        with self._running(box, cancel):
            box.measure()  # from here on
            channel.allow(_most_bytes(job))
            deadline = time.monotonic() + job.limits.wall_seconds + GRACE_SECONDS
            with contextlib.suppress(ChannelClosed):  # the box has ended: what it said before that tells
                channel.send_job(job, deadline, watch_memory=box.watch_memory, processes=box.processes)
            report = read_report(channel, job, deadline)
            waiting.fit = report.final is not None
            after = box.measure() if waiting.fit else box.close()
            if not waiting.fit and report.failure != "deadline" and (said := box.diagnosis()):
                report.failure += f" It said: {said[-500:]}"
        if not waiting.fit and self._stopped(cancel):
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
        """Have a box wait for jobs like this one, in the background; see `Sandbox.warm_up`."""
        pool = self._pool_for(job)
        if pool is not None:
            pool.promise(job)

    def end_session(self, session: str) -> None:
        """Give the box of a session back; see `Sandbox.end_session`."""
        with self._lock:
            pool = self._pool
            self._sessions.discard(session)
        if pool is not None:
            pool.end_session(session)

    def _pool_for(self, job: Job) -> pools.Pool | None:
        """The pool that this job's box comes from, or None where the job gets one of its own."""
        if self.warm == "off" or not pools.may_wait(job):
            return None
        with self._lock:
            if self._closed:
                return None
            if self._pool is None:
                self._pool = pools.join(self.identity, self._open_ready, forks=self.warm == "forked")
            if job.session:
                self._sessions.add(job.session)
            return self._pool

    def _open_ready(self, job: Job, plan: Plan, cancel: CancelToken) -> pools.Waiting:
        """A new box that is ready for its first job.

        Raises:
            SandboxUnavailableError: It could not be started, or was cancelled.
            UsageError: Its limits are too small.
        """
        box = self.open_box(job, plan)
        channel = Channel(box.transport)
        try:
            with self._running(box, cancel):
                wait_ready(box, channel, job, name=self.name)
        except BaseException:
            box.close()
            raise
        return pools.Waiting(box, channel, plan)

    def close(self) -> None:
        """Kill every running box and wait until it is gone; idempotent. These runs and later ones are ``cancelled``.

        The boxes of its sessions go too, and with the last of the sandboxes that share them those that wait.
        """
        deadline = time.monotonic() + CLOSE_SECONDS
        self._closing.cancel()
        with self._lock:
            boxes = list(self._boxes)
            pool, self._pool = self._pool, None
            sessions, self._sessions = self._sessions, set()
        for box in boxes:
            box.kill()
        if pool is not None:
            for session in sessions:
                pool.end_session(session)
            pools.leave(pool, self._open_ready, deadline)
        with self._lock:
            self._lock.wait_for(lambda: not self._boxes, timeout=max(0.0, deadline - time.monotonic()))


def wait_ready(box: Box, channel: Channel, job: Job, *, name: str) -> None:
    """Wait until a new box is ready for its job.

    Raises:
        SandboxUnavailableError: It did not become ready; it is closed then.
        UsageError: Its memory does not even hold Python; it is closed then.
    """
    try:
        channel.wait_ready(time.monotonic() + READY_SECONDS)
    except (TimeoutError, ChannelClosed, ProtocolError) as error:
        after = box.close()
        if after.oom_kills:
            raise UsageError(f"A memory limit of {job.limits.memory_mb:g} MiB is too small to start Python.") from error
        said = str(error) or box.diagnosis() or f"it was not ready within {READY_SECONDS:g} s"
        notes = f" ({'; '.join(after.notes)})" if after.notes else ""
        raise SandboxUnavailableError(
            f"A {name} box could not be started: {said.strip()}{notes} `openmle doctor` says what is missing."
        ) from error


def version_of(distribution: str) -> str | None:
    """The version that this environment has, None where it has none."""
    from importlib import metadata  # 10 ms

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


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
