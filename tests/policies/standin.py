"""A server on loopback that speaks the API of OpenAI's chat completions, and does wrong what servers do wrong.

    with Standin(say("Hello"), fail(429, retry_after=1), HANG) as server:
        policy = create("litellm:openai/tiny", base_url=server.url)

Each request is answered by the next of the replies; after the last one it is answered by the last again.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is sent: all of it, or its first bytes before the connection is cut."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    drips: bool = False
    """Whether a byte is sent now and then, without end, until the server is closed."""
    hangs: bool = False
    """Whether nothing at all is sent until the server is closed."""


HANG = Answer(hangs=True)
DRIP = Answer(drips=True)
CUT = Answer(body=b'{"id": "1", "object"', cut_after=20)
NO_JSON = Answer(body=b"<html>Welcome to the hotel. Please log in.</html>", headers={"Content-Type": "text/html"})

Reply = Answer | Callable[[dict[str, Any]], Answer]
"""An answer, or a function from the request's body to one."""


def say(
    content: str | None = "",
    *,
    usage: Mapping[str, Any] | None = None,
    finish: str | None = "stop",
    tool_calls: Sequence[tuple[str, str, str]] = (),
    model: str = "tiny-2026",
    **message: Any,
) -> Answer:
    """A reply with status 200.

    Args:
        content: The text; None is sent as null.
        usage: As it is sent; left out if None.
        finish: ``finish_reason``.
        tool_calls: Id, name and arguments of each.
        model: Who answers.
        message: Further fields of the message, such as ``reasoning_content``.
    """
    said: dict[str, Any] = {"role": "assistant", "content": content, **message}
    if tool_calls:
        said["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call, name, arguments in tool_calls
        ]
    choice = {"index": 0, "message": said, "finish_reason": finish}
    document = {"id": "1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}
    if usage is not None:
        document["usage"] = dict(usage)
    return Answer(body=json.dumps(document).encode())


def tokens(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    """Usage as most servers report it."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **more}


def fail(
    status: int, message: str = "It went wrong.", *, retry_after: float | str | None = None, **error: Any
) -> Answer:
    """An error as OpenAI words it; ``error`` holds ``code``, ``type`` and ``param``."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    body = {"error": {"message": message, "type": None, "param": None, "code": None, **error}}
    return Answer(status=status, body=json.dumps(body).encode(), headers=headers)


class Standin:
    """The server. ``requests`` are the bodies that came, ``headers`` and ``paths`` what came with them."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.times: list[float] = []
        self.running = 0
        self.most_running = 0
        self.closing = threading.Event()
        self.arrived = threading.Semaphore(0)
        """Released once for each request, so that a test can wait for one."""
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="standin", daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, body: dict[str, Any], headers: dict[str, str], path: str) -> Answer:
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            self.paths.append(path)
            self.times.append(time.monotonic())
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        self.arrived.release()
        return reply if isinstance(reply, Answer) else reply(body)

    def done(self) -> None:
        with self._lock:
            self.running -= 1


def _handler(server: Standin) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = server.take(body, headers, self.path)
            try:
                with contextlib.suppress(ConnectionError):
                    self._send(answer)
            finally:
                server.done()

        def _send(self, answer: Answer) -> None:
            if answer.hangs:
                server.closing.wait()
                self.close_connection = True
                return
            self.send_response(answer.status)
            length = 1_000_000 if answer.drips else len(answer.body) + (100 if answer.cut_after is not None else 0)
            headers = {"Content-Type": "application/json", "Content-Length": str(length), **answer.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if answer.drips:
                while not server.closing.wait(0.05):
                    self.wfile.write(b" ")
                self.close_connection = True
            else:
                self.wfile.write(answer.body[: answer.cut_after])
                if answer.cut_after is not None:
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  its name in the base class
            pass

    return Handler
