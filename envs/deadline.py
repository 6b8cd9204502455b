"""The end of a step: it comes by the host's clock, whatever hangs.

What may hang (an engine, a metric, the removal of a box) is done in another thread, for which the step waits no longer
than its deadline. The threads are kept and used again, since starting one costs more than handing work to it. One that
hangs is given up, and is of use again if it ever comes back.
"""

from __future__ import annotations

import os
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from openmle_env.sandbox.protocol import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

BOX_SECONDS = 60.0
"""What making, reading and removing a box may take beside the program itself."""
CANCEL_SECONDS = 5.0
"""How long what was cancelled may take to come to its end before nobody waits for it any more."""
IDLE_SECONDS = 60.0
"""How long a thread waits for more work before it ends."""

_Result = TypeVar("_Result")


class Deadline:
    """When something has to be over. Used in a ``with`` statement, by one thread.

    Args:
        seconds: How long it may take. Waiting for what other programs hold does not count (`CancelToken.waiting`).
        cancel: Ends it before.
    """

    def __init__(self, seconds: float, cancel: CancelToken) -> None:
        self.seconds = seconds
        self.cancel = CancelToken()
        """For the calls: cancelled where time is up, or with the token that was given."""
        self.passed = False
        """Whether time was up before a call came to its end."""
        self._given = cancel
        self._ends = time.monotonic() + seconds
        self._unlink: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        """Follow the token that was given."""
        self._unlink = self._given.on_cancel(self.cancel.cancel)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Follow it no more."""
        self._unlink()

    @property
    def left(self) -> float:
        """Seconds until the end."""
        return self._ends + self.cancel.waited - time.monotonic()

    def extend(self, seconds: float) -> None:
        """Let it take longer."""
        self.seconds += seconds
        self._ends += seconds

    def call(self, work: Callable[[], _Result]) -> _Result | None:
        """Do ``work`` in another thread, and return or raise what it does.

        Where time is up, or the given token cancelled, `cancel` is; work that does not end soon after that goes on
        without anybody waiting for it.

        Returns:
            The result; None where the work was given up.
        """
        task = _Task(work)
        unregister = self.cancel.on_cancel(task.news.set)
        _crew.do(task)
        try:
            while not (task.finished or self.cancel.cancelled or self.left <= 0):
                task.news.wait(self.left)
            if not task.finished:
                self.passed = not self.cancel.cancelled
                self._give_up(task)
        except BaseException:  # Ctrl-C: what runs is ended before anybody else is told
            self._give_up(task)
            raise
        finally:
            unregister()
        return task.result() if task.finished else None

    def _give_up(self, task: _Task[_Result]) -> None:
        self.cancel.cancel()
        task.news.clear()
        if not task.finished:
            task.news.wait(CANCEL_SECONDS)


class _Task(Generic[_Result]):
    """Work that is done once."""

    def __init__(self, work: Callable[[], _Result]) -> None:
        self.news = threading.Event()
        """Set when it is finished, and when it is cancelled."""
        self.finished = False
        self._work = work
        self._result: _Result
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001  whoever waits for the result raises it
            self._error = error

    def finish(self) -> None:
        self.finished = True
        self.news.set()

    def result(self) -> _Result:
        if self._error is not None:
            raise self._error
        return self._result


class _Crew:
    """The threads of this process that wait for work; the one that was idle for the shortest time is taken first."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """In a forked child there are none."""
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[_Task[object]]] = []

    def do(self, task: _Task[_Result]) -> None:
        """Have a thread do the task now."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name="openmle-step", daemon=True).start()
        inbox.put(task)  # type: ignore[arg-type]  # what comes of it only concerns who waits for it

    def _serve(self, inbox: SimpleQueue[_Task[object]]) -> None:
        while True:
            try:
                task = inbox.get(timeout=IDLE_SECONDS)
            except Empty:
                if self._dismiss(inbox):
                    return
                continue  # a task is on its way
            task.run()
            with self._lock:
                self._idle.append(inbox)  # before the task is finished: its caller's next one is to come here
            task.finish()
            del task  # nothing of it is kept while this thread is idle

    def _dismiss(self, inbox: SimpleQueue[_Task[object]]) -> bool:
        with self._lock:
            if inbox not in self._idle:
                return False
            self._idle.remove(inbox)
            return True


_crew = _Crew()
