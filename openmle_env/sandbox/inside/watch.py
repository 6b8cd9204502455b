"""Following one run of a program, from its job to the death of its last process."""

# Every import delays every box: no contextlib.
# ruff: noqa: SIM105

from __future__ import annotations

import os
import select
import signal
import time
from typing import Any

from . import memory
from .confine import act_as
from .frames import CHUNK, send
from .processes import Ended, Program, Waiting, others

WATCH_SECONDS = 0.025
LOCKS_SECONDS = 0.5
"""How long after its start, and how often, a program's locks are counted: each look waits some ms for the kernel."""
END_SECONDS = 5.0
"""How long killing may take, and how long pipes that somebody else still holds are drained."""


class Log:
    """One of the two streams: the head is sent as it comes, a tail is kept, every byte is counted."""

    def __init__(self, kind: bytes, keep: int) -> None:
        self.kind, self.total = kind, 0
        self._head, self._tail_size = keep - keep // 2, keep // 2
        self._tail = bytearray()

    def take(self, data: bytes) -> None:
        """Count, send and keep the next bytes."""
        room = max(0, self._head - self.total)
        self.total += len(data)
        if room:
            send(self.kind, data[:room])
        self._tail += data[room:]
        if len(self._tail) > 4 * self._tail_size:
            self._trim()

    def finish(self) -> None:
        """Send the tail."""
        self._trim()
        for start in range(0, len(self._tail), CHUNK):
            send(self.kind.lower(), bytes(self._tail[start : start + CHUNK]))

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_size)]


class Wakeups:
    """A pipe that becomes readable when a child ends."""

    def __init__(self) -> None:
        self.fd, write = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(write, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)

    def clear(self) -> None:
        """Take what is in the pipe."""
        try:
            os.read(self.fd, 4096)
        except BlockingIOError:
            pass


class Run:
    """One run of the program. ``user`` is its own, where that is another one than PID 1's."""

    def __init__(
        self, program: Program, job: dict[str, Any], folders: list[str], waiting: Waiting, user: int | None
    ) -> None:
        self.program, self.waiting, self.user = program, waiting, user
        self.memory_bytes: int | None = job["memory_bytes"]
        self.socket_bytes: int = job["socket_bytes"]
        self.files: int = job["files"]
        self.locks: int = job["locks"]
        if self.memory_bytes is None:  # what was mounted with a number of files needs no watch
            folders = [folder for folder in folders if os.statvfs(folder).f_files > self.files]
        self.folders = folders
        keep = job["log_bytes"]
        self.logs = {program.stdout: Log(b"O", keep), program.stderr: Log(b"E", keep)}
        self.open = dict(self.logs)
        self.end = ""
        self.exit_code: int | None = None
        self.strays = 0
        self.peak_bytes = 0
        self.cpu_seconds = 0.0
        self._killing = False
        self.spare_died = False
        """Whether a process that was to outlive the program ended."""
        self.remains = False
        """Whether a process of the program could not be ended, or never was seen to end."""
        self.memory_error = False
        self.seconds = 0.0
        self._poll = select.poll()
        self._count_locks = float("inf")

    def watch(self, wall_seconds: float, wakeups: Wakeups) -> None:
        """Follow the program until it ends, exceeds its time, memory or number of files, or the owner goes."""
        for descriptor in (*self.open, wakeups.fd, self.program.status, self.waiting.notices, 0):
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)
        started = time.monotonic()
        deadline = started + wall_seconds
        look = started
        self._count_locks = started + LOCKS_SECONDS
        self._reap()  # it may have ended before this
        while not self.end:
            now = time.monotonic()
            if now >= deadline:
                self.end = "timeout"
                break
            if now >= look:
                look = now + WATCH_SECONDS
                self.end = self._exceeded()
                if self.end:
                    break
            self._answer(max(1.0, (min(deadline, look) - now) * 1000), wakeups)
        self.seconds = time.monotonic() - started
        self.end = in_time(self.end, self.seconds, wall_seconds)
        self._poll.unregister(wakeups.fd)
        self._poll.unregister(0)
        self._kill_everything()
        self._drain()
        for log in self.logs.values():
            log.finish()

    def _answer(self, milliseconds: float, wakeups: Wakeups) -> None:
        """Wait for what happens next, and take it in."""
        for descriptor, _ in self._poll.poll(milliseconds):
            if descriptor == wakeups.fd:
                wakeups.clear()
                self._reap()
            else:
                self._take(descriptor)

    def close(self) -> None:
        """Give the pipes back."""
        for descriptor in (*self.open, self.program.status):
            if descriptor >= 0:
                os.close(descriptor)

    def _take(self, descriptor: int) -> None:
        if descriptor == self.program.status:
            self._read_status()
        elif descriptor == self.waiting.notices:
            self._read_notice()
        elif descriptor in self.open:
            self._pump(descriptor)
        elif not os.read(0, 4096):
            os._exit(71)  # the owner is gone, and with PID 1 goes everything

    def _reap(self) -> bool:
        """Collect every process that ended; orphans come to PID 1. Returns whether any child is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.waiting.spare:
                self.spare_died = True
            else:
                self._count(Ended.of(pid, status, usage))

    def _read_notice(self) -> None:
        ended = self.waiting.read_notice()
        if ended is None:
            self.spare_died = True
            self._poll.unregister(self.waiting.notices)
        else:
            self._count(ended)

    def _count(self, ended: Ended) -> None:
        """One process of the program is gone: it itself, or what it left or others of it did."""
        self.cpu_seconds += ended.cpu_seconds
        self.peak_bytes = max(self.peak_bytes, ended.peak_bytes)
        code = os.waitstatus_to_exitcode(ended.status)
        if ended.pid == self.program.pid:
            self.exit_code, self.end = code, self.end or "exit"
        elif self._killing and code == -signal.SIGKILL:
            self.strays += 1

    def _kill_everything(self) -> None:
        self._killing = True
        until = time.monotonic() + END_SECONDS
        while time.monotonic() < until:
            self._kill()
            any_left = self._reap()
            if self._all_gone() if self._spares() else not any_left:
                return
            time.sleep(0.001)
        self.remains = True

    def _spares(self) -> bool:
        """Whether a process is there that is to outlive the program."""
        return bool(self.waiting.spare) and not self.spare_died

    def _all_gone(self) -> bool:
        """Whether no process of the program is left; reads how its own ended."""
        self._wake_spare()
        while not self.spare_died and self.exit_code is None and select.select([self.waiting.notices], [], [], 0.1)[0]:
            self._read_notice()
        # What is told late would be counted for the next program.
        return self.exit_code is not None and not others(self.waiting.spare)

    def _kill(self) -> None:
        """Signal all processes of the program at once, so that none can outrun it by forking."""
        try:
            if self.user is not None:
                own = os.getuid()
                act_as(self.user, own)
                try:
                    os.kill(-1, signal.SIGKILL)
                finally:
                    act_as(own, own)
            elif self._spares():
                self._kill_some()
            else:
                os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass  # nobody is left

    def _kill_some(self) -> None:
        """Without users to tell them apart: one by one, and where they multiply, with what was to be spared."""
        for _ in range(10):
            found = others(self.waiting.spare)
            if not found:
                return
            for pid in found:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it ended by itself
            self._reap()
        os.kill(-1, signal.SIGKILL)

    def _drain(self) -> None:
        until = time.monotonic() + END_SECONDS
        while self.open and time.monotonic() < until:
            events = self._poll.poll(50)
            if not events:
                break
            for descriptor, _ in events:
                self._take(descriptor)
        self._read_status()

    def _read_status(self) -> None:
        if self.program.status < 0:
            return
        os.set_blocking(self.program.status, False)
        try:
            data = os.read(self.program.status, 64)
        except BlockingIOError:
            return
        self.memory_error = self.memory_error or b"M" in data
        if not data:
            self._poll.unregister(self.program.status)
            os.close(self.program.status)
            self.program.status = -1
            self._wake_spare()

    def _wake_spare(self) -> None:
        """Have the process that is to tell how the program ended go on, which one of its own user can have stopped."""
        if self._spares() and self.user is None:
            os.kill(self.waiting.spare, signal.SIGCONT)

    def _pump(self, descriptor: int) -> None:
        data = os.read(descriptor, 1 << 16)
        if data:
            self.open[descriptor].take(data)
        else:
            self._poll.unregister(descriptor)
            os.close(descriptor)
            del self.open[descriptor]

    def _exceeded(self) -> str:
        sockets = memory.bytes_in_sockets()
        if sockets > self.socket_bytes:  # what no control group counts
            return "memory"
        if self._locks_exceeded():  # nor this
            return "locks"
        files, size = memory.usage_of(self.folders)
        if self.memory_bytes is not None and self._memory_exceeded(self.memory_bytes, size, sockets):
            return "memory"
        return "files" if files > self.files else ""

    def _locks_exceeded(self) -> bool:
        if time.monotonic() < self._count_locks:
            return False
        exceeded = memory.more_locks_than(self.locks)
        self._count_locks = time.monotonic() + LOCKS_SECONDS
        return exceeded

    def _memory_exceeded(self, limit: int, files: int, sockets: int) -> bool:
        pids = [str(pid) for pid in others(self.waiting.spare)]
        total = sum(memory.resident_bytes(pid) for pid in pids) + files + sockets
        if total > limit:
            # Pages that processes share were counted once for each of them, and so were mapped files: look exactly.
            parts = [(pid, *memory.proportional_bytes(pid)) for pid in pids]
            private, shared = sum(part[1] for part in parts), sum(part[2] for part in parts)
            total = private + max(files, shared) + sockets
            if total <= limit < private + files + shared + sockets:  # it depends on how much is the same
                total = private + files + shared + sockets
                mapped = memory.bytes_mapped_from(self.folders, {pid: shared for pid, _, shared in parts if shared})
                total -= min(mapped, files, shared)
        self.peak_bytes = max(self.peak_bytes, total)
        return total > limit


def in_time(end: str, seconds: float, wall_seconds: float) -> str:
    """How a run ended: a program that kept PID 1 from the processor until after its time exited too late."""
    return "timeout" if end == "exit" and seconds > wall_seconds else end
