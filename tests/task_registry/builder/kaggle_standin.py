"""A stand-in of Kaggle's API on loopback, for Kaggle's own client: it is asked as the client's proxy.

The client's variable ``KAGGLE_API_ENVIRONMENT=LOCALHOST`` makes it call ``http://localhost``, and ``http_proxy`` makes
these calls come here, on whatever port was free.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

TOKEN = "KGAT_" + "0123456789abcdef"


@dataclass
class Kaggle:
    """What there is on Kaggle; everything may be changed while it serves."""

    competitions: dict[str, bytes] = field(default_factory=dict)
    """Archives by the competitions' names."""
    datasets: dict[str, bytes] = field(default_factory=dict)
    """Archives by ``owner/name``."""
    boards: dict[str, bytes] = field(default_factory=dict)
    """Archives with leaderboards."""
    refused: set[str] = field(default_factory=set)
    """Competitions whose rules were not accepted."""
    faults: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Statuses, with headers, that the next downloads get instead."""
    cut_at: int | None = None
    """After so many bytes the next download is cut."""
    calls: list[str] = field(default_factory=list)
    """The methods that were called, and the ranges that were asked for."""

    def __enter__(self) -> Self:
        """Serve."""
        standin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
                standin.answer(self, self.path.rpartition("/")[2], body)

            def do_GET(self) -> None:
                standin.hand_out(self, self.path.partition("/storage/")[2].removesuffix(".zip"))

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop serving."""
        self.server.shutdown()
        self.server.server_close()

    def environment(self, home: str) -> dict[str, str]:
        """What a process needs to take this for Kaggle; there are no keys in it."""
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": home,
            "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
            "http_proxy": f"http://127.0.0.1:{self.server.server_address[1]}",
        }

    def answer(self, handler: BaseHTTPRequestHandler, method: str, body: dict[str, Any]) -> None:
        """Answer one call of the API."""
        name = body.get("competitionName") or "/".join(body[key] for key in ("ownerSlug", "datasetSlug") if key in body)
        self.calls.append(f"{method} {name}".strip())
        if method == "IntrospectToken":
            _send(handler, 200, {"active": body["token"] == TOKEN, "username": "somebody"})
        elif handler.headers["Authorization"] != f"Bearer {TOKEN}":
            _send(handler, 401, {"code": 401, "message": "Unauthenticated"})
        elif method == "ListCompetitions":
            found = [one for one in self.competitions if body["search"] in one]
            entries = [self._entry(one) for one in found]
            _send(handler, 200, {"competitions": entries})
        elif method in {"ListDataFiles", "ListDatasetFiles"}:
            archive = {**self.competitions, **self.datasets}.get(name)
            if archive is None:
                _send(handler, 404, {"code": 404, "message": "Not found"})
            else:
                key = "files" if method == "ListDataFiles" else "datasetFiles"
                _send(handler, 200, {key: [{"name": "all.csv", "totalBytes": len(archive)}]})
        elif method == "GetDatasetMetadata":
            info = {"title": "Iris", "licenses": [{"name": "CC0-1.0"}]}
            _send(handler, 200, {"info": info})
        elif method == "DownloadLeaderboard" and name in self.boards:
            _bytes(handler, self.boards[name])
        elif method == "DownloadLeaderboard":
            _send(handler, 404, {"code": 404, "message": "No leaderboard"})
        else:
            self._send_to_storage(handler, name)

    def _entry(self, name: str) -> dict[str, object]:
        address = f"https://www.kaggle.com/competitions/{name}"
        return {"ref": address, "title": name.title(), "userHasEntered": name not in self.refused}

    def _send_to_storage(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        if name in self.refused:
            message = "You must accept this competition's rules before you'll be able to download files."
            _send(handler, 403, {"code": 403, "message": message})
            return
        if self.faults:
            status, headers = self.faults.pop(0)
            _send(handler, status, {"code": status, "message": "not now"}, headers)
            return
        handler.send_response(302)
        handler.send_header("Location", f"http://localhost/storage/{name}.zip")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def hand_out(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        """Send an archive from where the API sends the client to."""
        content = {**self.competitions, **self.datasets}[name]
        start = 0
        if (wanted := handler.headers["Range"]) and handler.headers["If-Range"] == _tag(content):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
        self.calls.append(f"GET {name} from {start}")
        cut, self.cut_at = self.cut_at, None
        _bytes(handler, content, start=start, cut=cut)


def _send(
    handler: BaseHTTPRequestHandler, status: int, document: dict[str, object], headers: dict[str, str] | None = None
) -> None:
    content = json.dumps(document).encode()
    handler.send_response(status)
    for key, value in {**(headers or {}), "Content-Type": "application/json"}.items():
        handler.send_header(key, value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def _bytes(handler: BaseHTTPRequestHandler, content: bytes, *, start: int = 0, cut: int | None = None) -> None:
    handler.send_response(206 if start else 200)
    handler.send_header("Content-Type", "application/zip")
    handler.send_header("Content-Length", str(len(content) - start))
    handler.send_header("Accept-Ranges", "bytes")
    handler.send_header("ETag", _tag(content))
    handler.send_header("Last-Modified", "Tue, 01 Oct 2024 00:00:00 GMT")
    handler.end_headers()
    handler.wfile.write(content[start:cut])
    if cut is not None:
        handler.wfile.flush()
        handler.close_connection = True
        handler.connection.shutdown(2)


def _tag(content: bytes) -> str:
    return f'"{len(content)}"'
