"""How many requests go out at the same time, and when: one limiter for all who use the same key at the same server."""

from __future__ import annotations

import random
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

PARALLEL = 8
"""Requests at the same time, unless more or fewer are asked for."""


class Clock:
    """Time as it passes. Tests have one of their own."""

    def now(self) -> float:
        """Seconds from some start on."""
        return time.monotonic()

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        """Wait, unless or until ``stop`` is set; whether it is."""
        return stop.wait(max(0.0, seconds))


class Limiter:
    """Lets so many requests through at a time, and none while a server wants to be left alone."""

    def __init__(self, parallel: int = PARALLEL, clock: Clock | None = None) -> None:
        if parallel < 1:
            raise UsageError(f"parallel={parallel} should be 1 or more requests at the same time.")
        self.parallel = parallel
        self._slots = threading.BoundedSemaphore(parallel)
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._until = float("-inf")

    def pause(self, seconds: float) -> None:
        """Let nothing through for so long; a pause that lasts longer already stays."""
        with self._lock:
            self._until = max(self._until, self._clock.now() + seconds)

    @contextmanager
    def slot(self, deadline: float, stop: threading.Event) -> Iterator[bool]:
        """Wait for a place and for the end of a pause; yields whether there is a place before the deadline.

        After a pause the requests start one after the other within a tenth of its length, a second at most, instead of
        all at once.
        """
        if not self._slots.acquire(timeout=max(0.0, deadline - self._clock.now())):
            yield False
            return
        try:
            yield self._paused_until(deadline, stop)
        finally:
            self._slots.release()

    def _paused_until(self, deadline: float, stop: threading.Event) -> bool:
        while not stop.is_set():
            with self._lock:
                rest = self._until - self._clock.now()
            if rest <= 0:
                return True
            if self._clock.now() + rest > deadline:
                return False
            self._clock.wait(rest + random.uniform(0, min(1.0, rest / 10)), stop)  # noqa: S311  no secret
        return True


_shared: dict[Hashable, Limiter] = {}
_lock = threading.Lock()


def shared(key: Hashable, parallel: int | None = None) -> Limiter:
    """The limiter of this process for ``key``; the first who asks decides how many requests go out at a time."""
    with _lock:
        if key not in _shared:
            _shared[key] = Limiter(parallel or PARALLEL)
        return _shared[key]
