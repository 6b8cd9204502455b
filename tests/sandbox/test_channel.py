"""Frames from a box are read with caps, whatever they hold."""

from __future__ import annotations

import fcntl
import json
import resource
import socket
import struct
import time
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.sandbox.bubblewrap import SocketTransport
from openmle_env.sandbox.channel import Channel, ChannelClosed, ProtocolError, encode_job, read_report
from openmle_env.sandbox.docker import AttachedStream
from openmle_env.types import ArtifactState, Job, Limits

if TYPE_CHECKING:
    from collections.abc import Callable

FINAL = {
    "end": "exit",
    "exit_code": 0,
    "wall_seconds": 0.5,
    "cpu_seconds": 0.25,
    "peak_bytes": 1 << 20,
    "oom_kills": 0,
    "memory_error": False,
    "processes_killed": 0,
    "stdout_bytes": 3,
    "stderr_bytes": 0,
}


def frame(kind: bytes, payload: bytes | dict[str, Any] = b"") -> bytes:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return kind + struct.pack(">I", len(data)) + data


class Stored:
    """Hands out bytes that were stored before, in pieces."""

    def __init__(self, data: bytes, piece: int = 1 << 20) -> None:
        self.data, self.piece, self.sent = data, piece, b""

    def send(self, data: bytes, timeout: float) -> None:
        self.sent += data

    def receive(self, timeout: float) -> bytes:
        result, self.data = self.data[: self.piece], self.data[self.piece :]
        return result


def read(data: bytes, piece: int = 1 << 20, **limits: float) -> Any:
    job = Job(program="pass", limits=Limits(**limits))  # type: ignore[arg-type]  whole numbers are floats too
    channel = Channel(Stored(data, piece))
    channel.allow(1 << 24)
    return read_report(channel, job, time.monotonic() + 60)


def artifact(name: str, size: int, state: str = "ok") -> bytes:
    return frame(b"A", {"name": name, "state": state, "detail": "", "size": size})


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_a_whole_report_in_any_pieces(piece: int) -> None:
    stream = frame(b"O", b"out") + frame(b"E", b"err") + frame(b"o", b"tail")
    stream += artifact("submission.csv", 4) + frame(b"D", b"a,") + frame(b"D", b"b\n") + artifact("x", 0, "missing")
    report = read(stream + frame(b"F", FINAL), piece)
    assert (bytes(report.stdout), bytes(report.stdout_tail), bytes(report.stderr)) == (b"out", b"tail", b"err")
    assert report.artifacts["submission.csv"].content == b"a,b\n"
    assert report.artifacts["x"].state is ArtifactState.MISSING
    assert report.final.exit_code == 0
    assert report.failure == ""


@pytest.mark.parametrize(
    ("stream", "failure"),
    [
        (b"", "without its final report"),
        (frame(b"O", b"out"), "without its final report"),
        (b"F\xff\xff\xff\xff", "a frame of"),
        (frame(b"Q"), "unknown frame"),
        (frame(b"D", b"x"), "more of a file"),
        (artifact("a", 1) + frame(b"D", b"xy"), "more of a file"),
        (artifact("a", 2) + frame(b"D", b"x") + frame(b"F", FINAL), "shorter"),
        (artifact("a", 1 << 21), "more artifacts"),
        (artifact("a", -1), "without a size"),
        (artifact("a", 1, "great"), "without name and state"),
        (artifact("a" * 4097, 1), "a longer name"),
        (frame(b"A", b"[]"), "not an object"),
        (frame(b"F", b"{"), "not JSON"),
        (frame(b"F", b"[" * 100_000), "not JSON"),
        (frame(b"F", FINAL | {"exit_code": "0"}), "proper end"),
        (frame(b"F", FINAL | {"wall_seconds": -1}), "proper wall_seconds"),
        (frame(b"F", FINAL | {"peak_bytes": float("nan")}), "proper peak_bytes"),
        (frame(b"F", FINAL | {"stdout_bytes": True}), "proper stdout_bytes"),
        (frame(b"F", FINAL | {"disk_bytes": -1}), "proper disk_bytes"),
        (frame(b"F", FINAL | {"files": "many"}), "proper files"),
        (frame(b"O", bytes(3000)), "more log"),
    ],
)
def test_what_no_supervisor_sends_is_a_failure(stream: bytes, failure: str) -> None:
    report = read(stream, log_kb=2, artifact_mb=1)
    assert report.final is None
    assert failure in report.failure


def test_what_a_report_may_leave_out() -> None:
    final = read(frame(b"F", FINAL)).final
    assert (final.disk_bytes, final.files) == (None, None)
    final = read(frame(b"F", FINAL | {"disk_bytes": 4096, "files": 0})).final
    assert (final.disk_bytes, final.files) == (4096, 0)


@given(st.binary(max_size=200), st.sampled_from([b"", b"F\0\0\0", b"A\0\0\0"]))
def test_no_bytes_make_it_raise(data: bytes, start: bytes) -> None:
    report = read(start + data)
    assert report.final is None
    assert report.failure


def test_total_bytes_are_capped() -> None:
    channel = Channel(Stored(frame(b"O", bytes(5000)) * 10, 5005))
    channel.allow(9000)
    channel.read_frame(time.monotonic() + 60)
    with pytest.raises(ProtocolError, match="more bytes"):
        channel.read_frame(time.monotonic() + 60)


def test_a_silent_box_times_out() -> None:
    with pytest.raises(TimeoutError):
        Channel(Stored(b"R")).read_frame(time.monotonic() - 1)


@pytest.mark.parametrize("transport", [AttachedStream, lambda end: SocketTransport(end, -1)])
def test_a_driver_may_have_thousands_of_files_open(
    transport: Callable[[socket.socket], Any], unavailable: Callable[[str], NoReturn]
) -> None:
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard <= 1100:
        unavailable("this user may not open so many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, 1101), hard))
    near, far = socket.socketpair()
    try:
        with near, far, socket.socket(fileno=fcntl.fcntl(near.fileno(), fcntl.F_DUPFD_CLOEXEC, 1100)) as end:
            owner = transport(end)
            assert owner.is_quiet()
            far.sendall(b"\1\0\0\0\0\0\0\1R")
            assert not owner.is_quiet()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def test_a_box_that_cannot_be_confined_says_why() -> None:
    with pytest.raises(ChannelClosed, match="no filter"):
        Channel(Stored(frame(b"X", b"no filter"))).wait_ready(time.monotonic() + 60)


def test_encoded_job() -> None:
    data = encode_job(Job(program="π", limits=Limits(memory_mb=100)), watch_memory=True, processes=9)
    (length,) = struct.unpack_from(">I", data)
    header = json.loads(data[4 : 4 + length])
    assert header["memory_bytes"] == 100 << 20
    assert header["rlimits"]["NPROC"] == 9
    assert header["rlimits"]["AS"] > 4 * (100 << 20)
    assert (
        header["rlimits"]["NOFILE"] * 256 <= 1 << 18
    )  # descriptors of all processes are bounded, as nobody sees pipes
    assert data[4 + length :] == struct.pack(">I", 2) + "π".encode()
    confined = json.loads(encode_job(Job(program=""), watch_memory=False, processes=None)[4:].partition(b"\0")[0])
    assert confined["memory_bytes"] is None
    assert not confined["rlimits"].keys() & {"AS", "NPROC"}
    assert confined["rlimits"]["NOFILE"] == 1024  # 256 processes may have so many each
