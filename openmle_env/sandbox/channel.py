"""The frames between a host and the supervisor of a box, read with hard caps: no frame is trusted.

What a frame says is the program's own claim at worst, so a forged one wins nothing that writing a file or exiting with
0 would not; what is bounded here is how much of it the host reads and how long it waits.
"""

from __future__ import annotations

import json
import select
import struct
import time
from dataclasses import dataclass, field
from typing import Any, Protocol

from openmle_env.types import MIB, Artifact, ArtifactState, Job, Limits

MAX_FRAME = 2 * MIB
MAX_FILES = 100_000
"""Files that are read back from the folders of one box."""
MAX_NAME = 4096
"""The longest name or description of a file, in characters."""
MAX_OPEN_FILES = 1 << 18
"""Descriptors of all processes of a box."""
MAX_LOCKS = 2_000
"""Locks on files that a box may hold: some hundred KiB of the kernel's memory, which no limit counts."""
_HEAD = struct.Struct(">cI")


def most_files(job: Job) -> int:
    """The most artifacts that are read back: those that are named, and those in named folders."""
    return len(job.collect) + (MAX_FILES if any(name.endswith("/") for name in job.collect) else 0)


class ProtocolError(Exception):
    """The box sent something that no supervisor sends."""


class ChannelClosed(Exception):  # noqa: N818  an event of the other side, not an error of this one
    """The box ended the stream."""


class BoxRefusedError(ProtocolError):
    """The supervisor says that its box must not be used."""


class Transport(Protocol):
    """How bytes travel to and from a supervisor: a socket pair, or an engine's attached stream."""

    def send(self, data: bytes, timeout: float) -> None:
        """Send all of it. Raises TimeoutError, or OSError when the box is gone."""
        ...

    def is_quiet(self) -> bool:
        """Whether the other end is open and has sent nothing that was not received."""
        ...

    def receive(self, timeout: float) -> bytes:
        """The next bytes of the supervisor's stdout; ``b""`` at its end. Raises TimeoutError."""
        ...


def readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or the end, within so many seconds; also of a process with many files open.

    (`select.select` takes none from the 1,024th descriptor on.)
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


class Channel:
    """Reads and writes frames over a transport. Before `allow` says more, little is read from the box."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._buffer = bytearray()
        self._bytes_left = MAX_FRAME

    def allow(self, max_bytes: int) -> None:
        """Bound what is read from the box from now on."""
        self._bytes_left = max_bytes

    def has_ended(self) -> bool:
        """Whether the box has said or ended something since its last frame; of one that is ready, that it is unfit."""
        return bool(self._buffer) or not self._transport.is_quiet()

    def read_frame(self, deadline: float) -> tuple[bytes, bytes]:
        """The next frame's kind and payload.

        Args:
            deadline: On the clock of `time.monotonic`.

        Raises:
            TimeoutError: Nothing complete came by the deadline.
            ChannelClosed: The box ended.
            ProtocolError: A frame or the whole stream is too long.
        """
        head = _HEAD.size
        while True:
            if len(self._buffer) >= head:
                kind, length = _HEAD.unpack_from(self._buffer)
                if length > MAX_FRAME:
                    raise ProtocolError(f"a frame of {length} bytes")
                if len(self._buffer) >= head + length:
                    payload = bytes(self._buffer[head : head + length])
                    del self._buffer[: head + length]
                    return kind, payload
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            try:
                data = self._transport.receive(left)
            except TimeoutError:
                raise
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not data:
                raise ChannelClosed
            self._bytes_left -= len(data)
            if self._bytes_left < 0:
                raise ProtocolError("more bytes than a box may send")
            self._buffer += data

    def wait_ready(self, deadline: float) -> None:
        """Wait for the supervisor's ready frame.

        Raises:
            TimeoutError: It did not come by the deadline.
            ChannelClosed: The box ended before; its message, where it gave one, is the argument.
            ProtocolError: Another frame came.
        """
        kind, payload = self.read_frame(deadline)
        if kind == b"X":
            raise ChannelClosed(payload.decode(errors="replace"))
        if kind != b"R":
            raise ProtocolError(f"{kind!r} where the ready frame was expected")

    def send_job(self, job: Job, deadline: float, *, watch_memory: bool, processes: int | None) -> None:
        """Send the job; see `encode_job`.

        Raises:
            ChannelClosed: The box is gone or takes nothing.
        """
        data = encode_job(job, watch_memory=watch_memory, processes=processes)
        try:
            self._transport.send(data, max(0.1, deadline - time.monotonic()))
        except OSError as error:  # TimeoutError is one
            raise ChannelClosed(str(error)) from error


def encode_job(job: Job, *, watch_memory: bool, processes: int | None) -> bytes:
    """A job as the supervisor reads it.

    Args:
        job: What to run; its program must be encodable.
        watch_memory: Whether the supervisor bounds memory itself, for want of a cgroup.
        processes: A limit on the user's processes (RLIMIT_NPROC), for want of a cgroup.
    """
    limits = job.limits
    rlimits = {
        "CORE": 0,
        "FSIZE": int(limits.file_mb * MIB),
        "NOFILE": _open_files(limits),
        "MEMLOCK": 64 * 1024,
    }
    if processes is not None:
        rlimits["NPROC"] = processes
    if watch_memory:
        # A loose backstop against one giant allocation between two looks: libraries reserve far more than they use.
        rlimits["AS"] = int(4 * limits.memory_mb * MIB) + 4096 * MIB
    header = {
        "wall_seconds": limits.wall_seconds,
        "log_bytes": int(limits.log_kb * 1024),
        "memory_bytes": int(limits.memory_mb * MIB) if watch_memory else None,
        "socket_bytes": int(limits.memory_mb * MIB),
        "files": int(limits.inodes),
        "locks": MAX_LOCKS,
        "collect": list(job.collect),
        "artifact_bytes": int(limits.artifact_mb * MIB),
        "artifact_files": MAX_FILES,
        "environment": dict(job.environment),
        "rlimits": rlimits,
    }
    parts = (json.dumps(header).encode(), job.program.encode())
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def _open_files(limits: Limits) -> int:
    """The machine has a number of open files for all its users: those of a box's processes together are bounded."""
    return max(16, min(int(limits.open_files), MAX_OPEN_FILES // int(limits.processes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """The supervisor's last word on a run."""

    end: str
    """``exit``, ``timeout``, or what the watch ended it for: ``memory``, ``files`` or ``locks``."""
    exit_code: int | None
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    oom_kills: int
    memory_error: bool
    """The program died of an uncaught MemoryError."""
    processes_killed: int
    stdout_bytes: int
    stderr_bytes: int
    disk_bytes: int | None = None
    """What lay in the writable folders at the end; None where nobody counted."""
    files: int | None = None
    """Files and folders there."""


@dataclass(slots=True)
class Report:
    """All that came from one box, within its caps. ``final`` is None when the box ended without its last word."""

    final: Final | None = None
    stdout: bytearray = field(default_factory=bytearray)
    stdout_tail: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    stderr_tail: bytearray = field(default_factory=bytearray)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    failure: str = ""
    """Why there is no final frame: ``deadline`` or a sentence."""


def read_report(channel: Channel, job: Job, deadline: float) -> Report:
    """Collect the frames of one run until the final one, the deadline or the box's end; raises for none of them."""
    report = Report()
    try:
        _collect(channel, job, deadline, report)
    except TimeoutError:
        report.failure = "deadline"
    except ChannelClosed:
        report.failure = "The box ended without its final report."
    except BoxRefusedError as error:
        report.failure = f"The box gave up: {error}."
    except ProtocolError as error:
        report.failure = f"The box broke the protocol: {error}."
    return report


def _collect(channel: Channel, job: Job, deadline: float, report: Report) -> None:
    log_cap = int(job.limits.log_kb * 1024)
    logs = {b"O": report.stdout, b"o": report.stdout_tail, b"E": report.stderr, b"e": report.stderr_tail}
    bytes_left = int(job.limits.artifact_mb * MIB)
    current: Artifact | None = None
    content = bytearray()
    expected = 0
    while True:
        kind, payload = channel.read_frame(deadline)
        if kind in logs:
            logs[kind] += payload
            if len(logs[kind]) > log_cap:
                raise ProtocolError("more log than was asked for")
            continue
        if kind == b"D":
            content += payload
            if current is None or len(content) > expected:
                raise ProtocolError("more of a file than was announced")
            continue
        if current is not None:
            report.artifacts[current.name] = _completed(current, content, expected)
            current = None
        if kind == b"A":
            current, expected = _read_artifact(_read_json(payload))
            bytes_left -= expected
            if bytes_left < 0 or len(report.artifacts) > most_files(job):
                raise ProtocolError("more artifacts than were asked for")
            content = bytearray()
        elif kind == b"F":
            report.final = _read_final(_read_json(payload))
            return
        else:
            raise _not_expected(kind, payload)


def _not_expected(kind: bytes, payload: bytes) -> ProtocolError:
    if kind == b"X":
        return BoxRefusedError(payload[:1000].decode(errors="replace"))
    return ProtocolError(f"an unknown frame {kind!r}")


def _completed(artifact: Artifact, content: bytearray, expected: int) -> Artifact:
    if artifact.state is ArtifactState.OK and len(content) != expected:
        raise ProtocolError("a file shorter than announced")
    return Artifact(name=artifact.name, state=artifact.state, content=bytes(content), detail=artifact.detail)


def _read_json(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("a frame that is not JSON") from error
    if not isinstance(value, dict):
        raise ProtocolError("a frame that is not an object")
    return value


def _read_artifact(value: dict[str, Any]) -> tuple[Artifact, int]:
    try:
        name, state, detail = (
            str(value["name"]),
            ArtifactState(value["state"]),
            str(value["detail"])[:MAX_NAME],
        )
        size = value["size"] if state is ArtifactState.OK else 0
    except (KeyError, ValueError) as error:
        raise ProtocolError("an artifact without name and state") from error
    if len(name) > MAX_NAME:
        raise ProtocolError("a longer name than any that was asked for")
    if type(size) is not int or size < 0:
        raise ProtocolError("an artifact without a size")
    return Artifact(name=name, state=state, detail=detail), size


def _read_final(value: dict[str, Any]) -> Final:
    end, exit_code = value.get("end"), value.get("exit_code")
    if end not in ("exit", "timeout", "memory", "files", "locks") or not (exit_code is None or type(exit_code) is int):
        raise ProtocolError("a final report without a proper end")
    return Final(
        end=end,
        exit_code=exit_code,
        memory_error=value.get("memory_error") is True,
        wall_seconds=_number(value, "wall_seconds"),
        cpu_seconds=_number(value, "cpu_seconds"),
        peak_bytes=int(_number(value, "peak_bytes")),
        oom_kills=int(_number(value, "oom_kills")),
        processes_killed=int(_number(value, "processes_killed")),
        stdout_bytes=int(_number(value, "stdout_bytes")),
        stderr_bytes=int(_number(value, "stderr_bytes")),
        disk_bytes=_count(value, "disk_bytes"),
        files=_count(value, "files"),
    )


def _count(value: dict[str, Any], name: str) -> int | None:
    """A number that a report may leave out."""
    return None if value.get(name) is None else int(_number(value, name))


def _number(value: dict[str, Any], name: str) -> float:
    number = value.get(name)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 1e18:
        raise ProtocolError(f"a final report without a proper {name}")
    return number
