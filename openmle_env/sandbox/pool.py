"""Boxes that wait for jobs: made in the background, used once or by one session, given up after a while.

All sandboxes of a process that make equal boxes share one pool (`join`), so that a vector of environments does not keep
a pool for each. Boxes stand in lines: one for the jobs with the same inputs, limits and modules.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.errors import OpenMLEError
from openmle_env.sandbox import requirements
from openmle_env.sandbox.channel import ChannelClosed, ProtocolError
from openmle_env.sandbox.forks import abandon_in_forks
from openmle_env.sandbox.plan import Plan
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.sandbox.box import Box
    from openmle_env.sandbox.channel import Channel
    from openmle_env.types import Job

    Open = Callable[[Job, Plan, CancelToken], "Waiting"]

IDLE_SECONDS = 600.0
"""How long a box waits for a job, or for its session's next one, until it is given up."""
LONGEST_SECONDS = 24 * 3600.0
"""Jobs that may run longer get a box of their own: one that waits carries no longer time to live."""
SETTLE_SECONDS = 10.0
"""How long a session's box may take to remove what its last program left."""
BOX_MB = 130
"""What a box that waits takes, with numpy, pandas and scikit-learn imported."""
_PER_CORE = 8
"""The most boxes that wait, for each core: what arrives at once is served at the rate of the cores anyway."""


def may_wait(job: Job) -> bool:
    """Whether a box may wait for jobs like this one. A GPU is lent to a program only, never to a box that waits."""
    return job.modules is not None and not job.limits.gpus and job.limits.wall_seconds <= LONGEST_SECONDS


@dataclass(eq=False, slots=True)
class Waiting:
    """A box, its channel, and what it is made for."""

    box: Box
    channel: Channel
    plan: Plan
    since: float = field(default_factory=time.monotonic)
    served: bool = False
    """Whether it has run a program."""
    fit: bool = False
    """Whether its last program ended with a report, so that another may follow."""


@dataclass(eq=False, slots=True)
class _Line:
    """The boxes for jobs that are alike."""

    job: Job
    """One of them."""
    ready: deque[Waiting] = field(default_factory=deque)
    coming: int = 0
    """Boxes that are made in the background."""
    waiters: int = 0
    """Runs that wait for one of those."""
    busy: int = 0
    """Runs under way."""
    most: int = 0
    """The most runs under way at the same time, since the line was last idle."""
    promised: set[str] = field(default_factory=set)
    """Sessions whose next run was announced, or has lost its box, and has not come."""
    used: float = field(default_factory=time.monotonic)


_Key = tuple[object, ...]


def _key(job: Job) -> _Key:
    """What has to be equal for one box to do for two jobs; a folder is another than one that took its place."""
    inputs = []
    for inside, source in sorted(job.inputs.items()):
        real = source.resolve()
        found = real.stat()
        inputs.append((inside, str(real), found.st_dev, found.st_ino))
    # These are told with a job, not when its box is made.
    limits = replace(job.limits, wall_seconds=1.0, log_kb=1, artifact_mb=1, file_mb=1, open_files=16)
    return (tuple(inputs), limits, job.modules, requirements.of(job))


class Pool:
    """The boxes that wait for the sandboxes of one identity."""

    def __init__(self, open_ready: Open, *, forks: bool) -> None:
        self.members = [open_ready]
        """How each of its sandboxes opens a box. One that is closed opens none any more, so that each run uses its own.
        """
        self._forks = forks
        self._changed = threading.Condition()
        self._lines: dict[_Key, _Line] = {}
        self._sessions: dict[str, tuple[_Key, Waiting]] = {}
        self._using: list[str] = []
        """The sessions of the runs under way, one for each."""
        self._ended: set[str] = set()
        """Those of them that are not needed any more."""
        self._coming = 0
        self._leaving = 0
        self._closed = CancelToken()
        self._keeper: threading.Thread | None = None

    # --- for a run ----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def taking(self, job: Job, cancel: CancelToken, open_ready: Open) -> Iterator[Waiting | None]:
        """A box for one run, or None where it was cancelled meanwhile. The caller says in ``fit`` how it ended.

        ``open_ready`` makes one where none waits.

        Raises:
            SandboxUnavailableError: None could be made.
        """
        key = _key(job)
        with self._changed:
            line = self._line(key, job)
            line.busy += 1
            line.most = max(line.most, line.busy)
            line.promised.discard(job.session)
            self._using.append(job.session)
        waiting = None
        try:
            waiting = self._take(key, line, job, cancel, open_ready)
            yield waiting
        finally:
            self._end(key, line, job, waiting)

    def _take(self, key: _Key, line: _Line, job: Job, cancel: CancelToken, open_ready: Open) -> Waiting | None:
        while not self._stopped(cancel):
            waiting = self._of_session(key, job.session) or self._ready(line, cancel)
            if waiting is None and not self._stopped(cancel):
                waiting = open_ready(line.job, self._plan(job), cancel)
            elif waiting is not None and not self._usable(waiting):
                self._retire(waiting)
                continue
            with self._changed:
                self._top_up()
            return waiting
        return None

    def _stopped(self, cancel: CancelToken) -> bool:
        return cancel.cancelled or self._closed.cancelled

    def _of_session(self, key: _Key, session: str) -> Waiting | None:
        """The session's own box. One whose jobs have become others is given up."""
        with self._changed:
            found, waiting = self._sessions.pop(session, (None, None))
        if waiting is not None and found != key:
            self._retire(waiting)
            return None
        return waiting

    def _ready(self, line: _Line, cancel: CancelToken) -> Waiting | None:
        """One that is ready, or is being made for nobody else; None: the caller has to make one."""
        unregister = cancel.on_cancel(self._wake)
        try:
            with self._changed:
                line.waiters += 1
                try:
                    while not self._stopped(cancel):
                        if line.ready:
                            return line.ready.popleft()
                        if line.coming < line.waiters:
                            return None
                        self._changed.wait()
                    return None
                finally:
                    line.waiters -= 1
        finally:
            unregister()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _usable(self, waiting: Waiting) -> bool:
        try:
            if waiting.served:
                waiting.channel.wait_ready(time.monotonic() + SETTLE_SECONDS)
        except (TimeoutError, ChannelClosed, ProtocolError):
            return False
        except BaseException:  # Ctrl-C: nobody else knows of this box
            self._retire(waiting)
            raise
        return not waiting.channel.has_ended()

    def _end(self, key: _Key, line: _Line, job: Job, waiting: Waiting | None) -> None:
        """After a run: keep the box for its session, or give it up."""
        now = time.monotonic()
        with self._changed:
            line.busy -= 1
            line.used = now
            kept = waiting is not None and self._keeps(waiting, job.session)
            if waiting is not None and kept:
                waiting.served, waiting.since, waiting.fit = True, now, False
                self._sessions[job.session] = (key, waiting)
                self._keep()
            elif self._forks and job.session and job.session not in self._ended:
                line.promised.add(job.session)
                self._top_up()
            self._using.remove(job.session)
            if job.session not in self._using:
                self._ended.discard(job.session)
            if waiting is not None and not kept:
                self._retire(waiting)  # before `close` learns that the run is over
            self._changed.notify_all()

    def _keeps(self, waiting: Waiting, session: str) -> bool:
        """Whether the session's next program may have the box."""
        free = session and session not in self._sessions and session not in self._ended
        return bool(waiting.plan.forks and waiting.fit and free and not self._closed.cancelled)

    # --- for later runs -----------------------------------------------------------------------------------------------

    def promise(self, job: Job) -> None:
        """A run like this one will come: have a box wait for it. Never raises for the machine; the run will tell."""
        try:
            key = _key(job)
        except (OSError, OpenMLEError):
            return  # an input that does not exist: the run says so
        with self._changed:
            line = self._line(key, job)
            line.promised.add(job.session)
            self._top_up()

    def end_session(self, session: str) -> None:
        """Give up the box of a session."""
        with self._changed:
            _, waiting = self._sessions.pop(session, (None, None))
            for line in self._lines.values():
                line.promised.discard(session)
            if session in self._using:
                self._ended.add(session)
            if waiting is not None:
                self._retire(waiting)

    def _line(self, key: _Key, job: Job) -> _Line:
        line = self._lines.get(key)
        if line is None:
            template = replace(job, program="pass", session="", environment={})
            line = self._lines[key] = _Line(template)
        line.used = time.monotonic()
        return line

    def _plan(self, job: Job) -> Plan:
        # By its own clock it ends a little later than by this one, so that none ends when it is just being taken.
        return Plan(modules=job.modules or (), forks=self._forks, idle_seconds=IDLE_SECONDS + 60)

    def _top_up(self) -> None:
        """Begin to make the boxes that are wanted, no more at a time than there are cores. Needs the lock."""
        for line in sorted(self._lines.values(), key=lambda line: line.used, reverse=True):
            # Where one box serves a whole session, the next run needs no other.
            wanted = len(line.promised) if self._forks else max(len(line.promised), line.most)
            while len(line.ready) + line.coming < wanted and self._coming < _cores() and self._has_room():
                if self._closed.cancelled:
                    return
                try:
                    threading.Thread(target=self._make, args=(line,), name="openmle-warm", daemon=True).start()
                except RuntimeError:
                    return  # no thread can be started now: the run makes its box itself
                line.coming += 1
                self._coming += 1

    def _has_room(self) -> bool:
        """Whether one more box may wait."""
        idle = self._coming + len(self._sessions) + sum(len(line.ready) for line in self._lines.values())
        return idle < capacity()

    def _make(self, line: _Line) -> None:
        """In a thread of its own: one box for a line."""
        made = None
        with self._changed:
            open_ready = self.members[-1]
        try:
            with contextlib.suppress(OpenMLEError, OSError):  # the next run makes one itself, and tells what is wrong
                made = open_ready(line.job, self._plan(line.job), self._closed)
        finally:
            with self._changed:
                line.coming -= 1
                self._coming -= 1
                if made is not None and self._closed.cancelled:
                    self._retire(made)  # before `close` learns that none is being made
                elif made is not None:
                    line.ready.append(made)
                    self._keep()
                if made is not None or open_ready not in self.members:  # a sandbox that was closed failed for itself
                    self._top_up()
                self._changed.notify_all()

    # --- giving up ----------------------------------------------------------------------------------------------------

    def _retire(self, waiting: Waiting) -> None:
        """Give a box up in the background. Where it was taken out of the pool under the lock, `close` waits for it."""
        with self._changed:
            self._leaving += 1
        try:
            threading.Thread(target=self._leave, args=(waiting,), name="openmle-retire", daemon=True).start()
        except RuntimeError:  # no thread can be started now
            self._leave(waiting)

    def _leave(self, waiting: Waiting) -> None:
        try:
            waiting.box.close()
        finally:
            with self._changed:
                self._leaving -= 1
                self._changed.notify_all()

    def _keep(self) -> None:
        """See to it that boxes that wait too long are given up. Needs the lock."""
        if self._keeper is None:
            keeper = threading.Thread(target=self._watch, name="openmle-pool", daemon=True)
            with contextlib.suppress(RuntimeError):  # no thread can be started now: the next box tries again
                keeper.start()
                self._keeper = keeper
        self._changed.notify_all()

    def _watch(self) -> None:
        while True:
            with self._changed:
                self._changed.wait(self._until_next())
                if self._closed.cancelled:
                    return
                for waiting in self._expired(time.monotonic() - IDLE_SECONDS):
                    self._retire(waiting)

    def _until_next(self) -> float | None:
        """Seconds until a box has waited too long; None where none waits."""
        times = [waiting.since for line in self._lines.values() for waiting in line.ready]
        times += [waiting.since for _, waiting in self._sessions.values()]
        return max(0.0, min(times) + IDLE_SECONDS - time.monotonic()) if times else None

    def _expired(self, oldest: float) -> list[Waiting]:
        expired = []
        for key, line in list(self._lines.items()):
            while line.ready and line.ready[0].since <= oldest:
                expired.append(line.ready.popleft())
            if line.used <= oldest:
                line.most = line.busy
                line.promised.clear()
                if not (line.ready or line.busy or line.coming):
                    del self._lines[key]
        for session, (_, waiting) in list(self._sessions.items()):
            if waiting.since <= oldest:
                expired.append(self._sessions.pop(session)[1])
        return expired

    def close(self, deadline: float) -> None:
        """Give up every box, and wait until they are gone."""
        self._closed.cancel()  # ends what is being made
        with self._changed:
            left = [waiting for line in self._lines.values() for waiting in line.ready]
            left += [waiting for _, waiting in self._sessions.values()]
            self._lines.clear()
            self._sessions.clear()
            self._changed.notify_all()
        for waiting in left:
            waiting.box.kill()
            self._retire(waiting)
        with self._changed:  # the runs that are under way have been ended by their sandboxes
            self._changed.wait_for(lambda: not self._using, timeout=max(0.0, deadline - time.monotonic()))
        self.settle(deadline)

    def settle(self, deadline: float) -> bool:
        """Wait until no box is being made or given up; whether that happened before the deadline."""
        with self._changed:
            left = max(0.0, deadline - time.monotonic())
            return self._changed.wait_for(lambda: not (self._coming or self._leaving), timeout=left)


def capacity() -> int:
    """How many boxes may wait on this machine: by its cores, and a quarter of the memory that is free now."""
    most = _PER_CORE * _cores()
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free_kb = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return most
    return max(1, min(most, free_kb * 1024 // 4 // (BOX_MB * MIB)))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Pools:
    """The pools of this process, by the identity of the sandboxes that share them."""

    def __init__(self) -> None:
        self.abandon()
        abandon_in_forks(self)

    def abandon(self) -> None:
        """In a forked child: the pools are the parent's."""
        self.lock = threading.Lock()
        self.by_identity: dict[tuple[object, ...], Pool] = {}


_pools = _Pools()


def join(identity: tuple[object, ...], open_ready: Open, *, forks: bool) -> Pool:
    """The pool of sandboxes of this identity, made by the first of them; each has to `leave` it."""
    with _pools.lock:
        pool = _pools.by_identity.get(identity)
        if pool is None:
            pool = _pools.by_identity[identity] = Pool(open_ready, forks=forks)
        else:
            pool.members.append(open_ready)
        return pool


def leave(pool: Pool, open_ready: Open, deadline: float) -> None:
    """The pool is not needed any more by the sandbox that opens boxes so; the last to say so closes it."""
    with _pools.lock:
        if len(pool.members) > 1:
            pool.members.remove(open_ready)
            return
        for identity, known in list(_pools.by_identity.items()):
            if known is pool:
                del _pools.by_identity[identity]
    pool.close(deadline)


def settle(seconds: float) -> bool:
    """Wait until no pool of this process makes a box or gives one up; whether that happened within ``seconds``."""
    deadline = time.monotonic() + seconds
    with _pools.lock:
        known = list(_pools.by_identity.values())
    return all(pool.settle(deadline) for pool in known)
