"""What every sandbox backend offers. The rest of this folder implements it."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.types import Execution, Job


class CancelToken:
    """Lets another thread end a run. Callbacks run once, in the thread that cancels."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._cancelled = False
        self._waited = 0.0
        self._waiting: list[float] = []

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """End the runs that hold this token; a second call does nothing."""
        with self._lock:
            callbacks, self._callbacks = self._callbacks, []
            self._cancelled = True
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` when cancelled (at once if it was already); returns a function that unregisters it."""
        with self._lock:
            if not self._cancelled:
                self._callbacks.append(callback)
                return lambda: self._discard(callback)
        callback()
        return lambda: None

    def _discard(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While a run waits for its turn at what others hold, such as a GPU: the deadline of its caller waits, too."""
        since = time.monotonic()
        with self._lock:
            self._waiting.append(since)
        try:
            yield
        finally:
            with self._lock:
                self._waiting.remove(since)
                self._waited += time.monotonic() - since

    @property
    def waited(self) -> float:
        """Seconds that runs with this token have spent in `waiting` so far."""
        with self._lock:
            now = time.monotonic()
            return self._waited + sum(now - since for since in self._waiting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What a backend really enforces on this machine, for ``openmle doctor`` and for result notes."""

    memory: str
    """How memory is bounded: ``cgroup``, ``watched`` (supervisor kills above the limit) or ``none``."""
    cpu: bool
    inodes: bool
    network: bool
    details: tuple[str, ...] = ()
    """What is not confined, in words."""


@runtime_checkable
class Sandbox(Protocol):
    """Runs programs in isolation. Safe to call from several threads at once."""

    @property
    def name(self) -> str:
        """The backend's name, as in `Execution.backend`."""
        ...

    def confinement(self) -> Confinement:
        """What this backend enforces on this machine."""
        ...

    def run(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        """Run one program and return what came of it; never raises for what the program does.

        Raises:
            SandboxUnavailableError: No box could be started (engine gone, image missing, no user namespaces).
            UsageError: The job itself is impossible (an input that does not exist).
        """
        ...

    async def arun(self, job: Job, *, cancel: CancelToken | None = None) -> Execution:
        """`run` for asynchronous callers; cancelling the task kills the box."""
        ...

    def warm_up(self, job: Job) -> None:
        """Have a box wait for jobs like this one, in the background; does nothing where none can wait. Never raises."""
        ...

    def end_session(self, session: str) -> None:
        """The box of a session (see `Job`) is not needed any more; idempotent."""
        ...

    def close(self) -> None:
        """Kill what runs and give everything back, within 5 seconds; idempotent."""
        ...
