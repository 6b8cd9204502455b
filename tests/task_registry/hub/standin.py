"""A stand-in for the Hugging Face hub on loopback: data sets with commits, small files and large ones, and refusals."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_secretsecretsecret"  # noqa: S105  of the stand-in
LARGE = 2_000
"""Bytes from which on a file goes the way of large ones."""


class Repo:
    """A data set: its commits, oldest first, each with all files of its state."""

    def __init__(self, *, private: bool) -> None:
        self.private = private
        self.commits: dict[str, dict[str, bytes]] = {}

    @property
    def head(self) -> str:
        return next(reversed(self.commits), "0" * 40)

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits.get(self.head, {})

    def commit(self, files: dict[str, bytes]) -> str:
        digest = hashlib.sha1(f"{len(self.commits)}{sorted(files)}".encode(), usedforsecurity=False).hexdigest()
        self.commits[digest] = files
        return digest


class Hub:
    """Starts with ``with``; ``address`` is its endpoint."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.large: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.refuse: dict[str, int] = {}
        """Statuses by what a path holds; 0 to hang up."""
        hub = self

        class Handler(_Handler):
            state = hub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Hub:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    state: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer("GET")

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def _answer(self, method: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.state.asked.append((method, path))
        for part, status in self.state.refuse.items():
            if part in path and status == 0:
                self.close_connection = True
                return
            if part in path:
                self._send(status, {"error": f"refused, with {TOKEN} in it"})
                return
        if path.startswith("/large/"):  # as the hub's storage: the address itself lets in
            self.state.large[path.removeprefix("/large/")] = body
            self._send(200, {})
            return
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._send(401, {"error": "who are you?"}, {"X-Error-Code": "RepoNotFound"})
            return
        for pattern, function in _ROUTES:
            if match := re.fullmatch(pattern, path):
                function(self, body, **match.groupdict())
                return
        self._send(404, {"error": path})

    def _send(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _repo(self, name: str) -> Repo | None:
        repo = self.state.repos.get(name)
        if repo is None:
            self._send(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        return repo

    def create(self, body: bytes) -> None:
        asked = json.loads(body)
        name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
        url = f"{self.state.address}/datasets/{name}"
        if name in self.state.repos:
            self._send(409, {"url": url, "error": "You already created this dataset repo"})
            return
        self.state.repos[name] = Repo(private=asked.get("private", asked.get("visibility") == "private"))
        self._send(200, {"url": url, "name": name})

    def validate(self, _body: bytes) -> None:
        self._send(200, {"errors": [], "warnings": []})

    def info(self, _body: bytes, name: str, revision: str = "main") -> None:
        if repo := self._repo(name):
            commit = repo.head if revision == "main" else revision
            if revision != "main" and revision not in repo.commits:
                self._send(404, {"error": "Invalid rev id"}, {"X-Error-Code": "RevisionNotFound"})
                return
            files = [{"rfilename": path} for path in repo.commits.get(commit, {})]
            self._send(200, {"id": name, "sha": commit, "private": repo.private, "siblings": files, "tags": []})

    def tree(self, _body: bytes, name: str, revision: str) -> None:
        if repo := self._repo(name):
            files = repo.files if revision == "main" else repo.commits[revision]
            self._send(
                200,
                [
                    {"type": "file", "oid": "1" * 40, "size": len(content), "path": path}
                    for path, content in files.items()
                ],
            )

    def preupload(self, body: bytes, name: str, revision: str) -> None:
        del name, revision
        asked = json.loads(body)["files"]
        self._send(
            200,
            {
                "files": [
                    {
                        "path": one["path"],
                        "uploadMode": "lfs" if one["size"] >= LARGE else "regular",
                        "shouldIgnore": False,
                    }
                    for one in asked
                ]
            },
        )

    def batch(self, body: bytes, name: str) -> None:
        del name
        objects = [
            {
                **one,
                "authenticated": True,
                "actions": {"upload": {"href": f"{self.state.address}/large/{one['oid']}", "header": {}}},
            }
            for one in json.loads(body)["objects"]
        ]
        self._send(200, {"transfer": "basic", "objects": objects})

    def commit(self, body: bytes, name: str, revision: str) -> None:
        del revision
        repo = self.state.repos[name]
        files = dict(repo.files)
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.state.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        commit = repo.commit(files)
        url = f"{self.state.address}/datasets/{name}/commit/{commit}"
        self._send(200, {"success": True, "commitOid": commit, "commitUrl": url, "hookOutput": ""})

    def resolve(self, _body: bytes, name: str, revision: str, path: str) -> None:
        if repo := self._repo(name):
            commit = repo.head if revision == "main" else revision
            content = repo.commits.get(commit, {}).get(path)
            if content is None:
                self._send(404, {"error": "no such file"}, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
                return
            headers = {
                "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
                "X-Repo-Commit": commit,
                "X-Linked-Size": str(len(content)),
                "Accept-Ranges": "bytes",
            }
            self._send(200, content, headers)


_ROUTES: list[tuple[str, Any]] = [
    (r"/api/repos/create", _Handler.create),
    (r"/api/validate-yaml", _Handler.validate),
    (r"/api/datasets/(?P<name>[^/]+/[^/]+)", _Handler.info),
    (r"/api/datasets/(?P<name>[^/]+/[^/]+)/revision/(?P<revision>[^/]+)", _Handler.info),
    (r"/api/datasets/(?P<name>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)/?", _Handler.tree),
    (r"/api/datasets/(?P<name>[^/]+/[^/]+)/preupload/(?P<revision>[^/]+)", _Handler.preupload),
    (r"/datasets/(?P<name>[^/]+/[^/]+)\.git/info/lfs/objects/batch", _Handler.batch),
    (r"/api/datasets/(?P<name>[^/]+/[^/]+)/commit/(?P<revision>[^/]+)", _Handler.commit),
    (r"/datasets/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)", _Handler.resolve),
]
