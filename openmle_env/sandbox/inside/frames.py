"""How PID 1 talks to the owner of its box: frames out on descriptor 1, jobs in on descriptor 0.

A frame is one byte of kind, four bytes of length (big endian), the payload. In order:

    R   ready: the libraries are imported, a job may come; again after each job where the box serves several
    O E output and error text as it comes, up to the head that is kept;  o e  the tails that are kept
    A   an artifact's description (JSON), followed for a plain file by its contents in D frames
    F   the final report (JSON) of a job
    X   the box must not be used (text); nothing runs

A job is a length and JSON, a length and the program's UTF-8 text. The end of that stream means that the owner is gone:
PID 1 leaves, and the kernel ends every process of the box with it.
"""

from __future__ import annotations

import json
import os
import select
import struct
from typing import Any, NoReturn

CHUNK = 1 << 20


def send(kind: bytes, payload: bytes = b"") -> None:
    """Write one frame."""
    rest = memoryview(kind + struct.pack(">I", len(payload)) + payload)
    while rest:
        rest = rest[os.write(1, rest) :]


def send_json(kind: bytes, value: dict[str, Any]) -> None:
    """Write one frame that holds JSON."""
    send(kind, json.dumps(value).encode())


def give_up(message: str) -> NoReturn:
    """Say why this box must not be used, and end it."""
    send(b"X", message.encode())
    os._exit(70)


def wait_for_job(seconds: float) -> None:
    """Wait until the first byte of a job is there; leaves when the owner is gone, or nothing came for so long."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    if not poll.poll(seconds * 1000):
        os._exit(72)


def receive() -> bytes:
    """Read one length and that many bytes; leaves when the owner is gone."""
    length = int.from_bytes(_receive_exactly(4), "big")
    return _receive_exactly(length)


def _receive_exactly(length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = os.read(0, min(CHUNK, length - len(data)))
        if not chunk:
            os._exit(71)
        data += chunk
    return bytes(data)
