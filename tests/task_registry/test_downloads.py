"""Fetching files: cut connections, servers that lie, registries' clients, and what lies in the store meanwhile."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import DiskFullError, InfrastructureError, PackError, PreparationError
from openmle_env.task_registry import files
from openmle_env.task_registry.downloads import debian, npm, opening, pypi, store, transfer
from openmle_env.task_registry.downloads.source import Source
from openmle_env.task_registry.pack import Download
from openmle_env.task_registry.prepare import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONTENT = bytes(range(256)) * 800
CUT = len(CONTENT) * 6 // 10
OTHER = b"x" * len(CONTENT)


class Asked(BaseHTTPRequestHandler):
    """Answers as planned, and as a good server once the plan is over."""

    server: Server

    def do_GET(self) -> None:
        self.server.requests.append((self.path, self.headers.get("Range", "")))
        self.server.authorizations.append(self.headers.get("Authorization", ""))
        plan = self.server.plan
        (plan.pop(0) if plan else good)(self)

    def log_message(self, *_arguments: object) -> None:
        pass

    def send(self, code: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in ({"Content_Length": str(len(content))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.plan: list[Callable[[Asked], None]] = []
        self.requests: list[tuple[str, str]] = []
        self.authorizations: list[str] = []
        self.content = CONTENT

    def url(self, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_address[1]}/file.bin"


def good(asked: Asked) -> None:
    content, wanted = asked.server.content, asked.headers.get("Range")
    if not wanted:
        asked.send(200, content)
        return
    start = int(wanted.removeprefix("bytes=").removesuffix("-"))
    asked.send(206, content[start:], Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}")


def cut(asked: Asked) -> None:
    asked.send(200, CONTENT[:CUT], Content_Length=str(len(CONTENT)))


def ignores_ranges(asked: Asked) -> None:
    asked.send(200, CONTENT)


def answers(code: int, **headers: str) -> Callable[[Asked], None]:
    return lambda asked: asked.send(code, b"no", **headers)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that would have been waited."""
    found: list[float] = []
    monkeypatch.setattr(transfer.time, "sleep", found.append)
    return found


def wanted(url: str, content: bytes = CONTENT) -> Download:
    sha256 = hashlib.sha256(content).hexdigest()
    return Download(registry="url", url=url, file="file.bin", size=len(content), sha256=sha256)


def in_the_store(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "downloads").iterdir())


def test_a_file_is_fetched_once_and_nobody_else_may_read_it(server, home):
    told: list[tuple[str, float]] = []
    download = wanted(server.url())
    path = store.fetch(download, lambda message, share: told.append((message, share)))
    assert path.read_bytes() == CONTENT
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert told[0] == ("looking for file.bin", 0.0)
    assert told[-1] == ("fetching file.bin, 0.2 of 0.2 MB", 1.0)
    assert store.fetch(download) == path
    assert len(server.requests) == 1


def test_a_cut_download_is_resumed_where_it_ended_in_the_same_run_and_in_the_next(server, home, waits, monkeypatch):
    monkeypatch.setattr(transfer, "TRIES", 1)
    server.plan = [cut]
    download = wanted(server.url())
    with pytest.raises(InfrastructureError, match="was fetched is kept"):
        store.fetch(download)
    assert in_the_store(home) == [f"{download.sha256}.part"]
    assert store.missing_bytes([download]) == len(CONTENT) - CUT
    monkeypatch.setattr(transfer, "TRIES", 2)
    server.plan = [answers(500)]
    assert store.fetch(download).read_bytes() == CONTENT
    assert [asked for _, asked in server.requests] == ["", f"bytes={CUT}-", f"bytes={CUT}-"]
    assert in_the_store(home) == [download.sha256]


def sends_another_range(asked: Asked) -> None:
    asked.send(206, CONTENT[5:], Content_Range=f"bytes 5-{len(CONTENT) - 1}/{len(CONTENT)}")


@pytest.mark.parametrize(
    "plan",
    [
        [cut, ignores_ranges],
        [cut, answers(416), good],
        [cut, sends_another_range, good],
        [answers(429, Retry_After="7"), good],
        [answers(503, Retry_After="rubbish"), answers(500), good],
    ],
    ids=["ignores-ranges", "416", "another-range", "429", "503"],
)
def test_servers_that_are_a_little_wrong_give_the_file_all_the_same(server, home, waits, plan):
    server.plan = list(plan)
    assert store.fetch(wanted(server.url())).read_bytes() == CONTENT
    assert server.plan == []
    assert len(waits) == len(server.requests) - 1
    assert (waits[0] >= 7) == (len(plan) == 2 and plan[0] is not cut)


@pytest.mark.parametrize(
    ("code", "error", "message", "count"),
    [
        (403, InfrastructureError, "answered 403.*only to those whom it knows", 1),
        (404, PreparationError, "answered 404.*not there", 1),
        (500, InfrastructureError, "answered 500.*try 5 in a row", 5),
    ],
)
def test_a_refusal_is_final_and_a_busy_server_asked_so_often(server, home, waits, *, code, error, message, count):
    server.plan = [answers(code)] * 10
    url = server.url("me:secret@127.0.0.1") + "?token=hidden"
    with pytest.raises(error, match=f"(?s)file.bin cannot be fetched. .*{message}.*put it into {home}") as raised:
        store.fetch(wanted(url))
    assert len(server.requests) == count
    assert "secret" not in str(raised.value)
    assert "hidden" not in str(raised.value)
    assert waits == sorted(waits)


def test_a_pause_that_is_too_long_is_told_instead_of_waited_for(server, home, waits):
    server.plan = [answers(429, Retry_After="3600")]
    with pytest.raises(InfrastructureError, match="come back in 3600 s"):
        store.fetch(wanted(server.url()))
    assert waits == []


def test_a_machine_without_network_is_told_so(home, waits):
    with pytest.raises(InfrastructureError, match=r"cannot be reached.*Check the network"):
        store.fetch(wanted("http://127.0.0.1:9/file.bin"))


@pytest.mark.parametrize(
    ("content", "found"),
    [(OTHER, hashlib.sha256(OTHER).hexdigest()), (OTHER[:-1], hashlib.sha256(OTHER[:-1]).hexdigest())],
    ids=["same-size", "other-size"],
)
def test_a_file_that_was_changed_is_refused_with_both_hashes(server, home, waits, content, found):
    server.content = content
    download = wanted(server.url())
    with pytest.raises(PackError, match=f"{found}.*{download.sha256}.*raise the pack's version"):
        store.fetch(download)
    assert in_the_store(home) == []
    assert waits == []


def test_more_than_the_file_has_is_not_kept(server, home):
    server.plan = [lambda asked: asked.send(200, CONTENT + b"more", Content_Length="", Connection="close")]
    with pytest.raises(PackError, match="has more than 204,800 bytes"):
        store.fetch(wanted(server.url()))


def test_a_part_of_another_file_costs_one_more_transfer(server, home):
    download = wanted(server.url())
    (home / "downloads").mkdir(parents=True)
    (home / "downloads" / f"{download.sha256}.part").write_bytes(OTHER[:CUT])
    assert store.fetch(download).read_bytes() == CONTENT
    assert [asked for _, asked in server.requests] == [f"bytes={CUT}-", ""]


def test_a_server_that_begins_anew_each_time_is_not_asked_for_ever(server, home, waits, monkeypatch):
    monkeypatch.setattr(transfer, "LITTLE", 1000)
    sizes = [CUT, 1] * 50
    server.plan = [lambda asked: asked.send(200, CONTENT[: sizes.pop()], Content_Length=str(len(CONTENT)))] * 100
    with pytest.raises(InfrastructureError, match="try 5 in a row"):
        store.fetch(wanted(server.url()))
    assert len(server.requests) < 10


def never_ends(asked: Asked) -> None:
    asked.send(206, Content_Length="", Content_Range="bytes 0-4/5")
    with contextlib.suppress(OSError):
        while True:
            asked.wfile.write(OTHER)


def test_what_never_ends_is_not_read_to_the_end(server, home):
    server.plan = [never_ends]
    with pytest.raises(PackError, match="it has 5 bytes"):
        store.fetch(wanted(server.url()))
    with pytest.raises(InfrastructureError, match="zero is no plain file"):
        store.fetch(wanted("file:///dev/zero"))


@pytest.mark.parametrize("url", ["http://[::1/file.bin", "mirror://me:secret@d.invalid/file.bin"])
def test_what_is_no_address_is_told_at_once(tool, home, monkeypatch, url):
    monkeypatch.setattr(transfer, "_pause", lambda *_: pytest.fail("it was tried again"))
    tool("apt-get", f"echo \"'{url}' x.deb 5 SHA256:0\"")
    tool("apt-config", ":")
    with pytest.raises(InfrastructureError, match="no address that can be opened") as raised:
        store.fetch(named("debian", "a", "1", "a_1_all.deb"))
    assert "secret" not in str(raised.value)


def test_a_damaged_file_of_the_store_is_fetched_again(server, home):
    path = store.fetch(wanted(server.url()))
    path.write_bytes(OTHER)
    assert store.fetch(wanted(server.url())).read_bytes() == CONTENT


def test_a_password_is_not_sent_on_to_another_host(server, home):
    place = server.url("localhost")
    server.plan = [answers(302, Location=place)]
    assert store.fetch(wanted(server.url("me:secret@127.0.0.1"))).read_bytes() == CONTENT
    assert [bool(value) for value in server.authorizations] == [True, False]


def test_a_proxy_of_the_clients_settings_is_used(server):
    with opening.opened(Source(url="http://data.invalid/a.bin", proxy=server.url()), 10) as reply:
        assert (reply.start, reply.total, reply.read(4)) == (10, len(CONTENT), CONTENT[10:14])
    assert server.requests == [("http://data.invalid/a.bin", "bytes=10-")]


def test_a_file_that_somebody_puts_there_is_checked_and_taken(server, home):
    (home / "downloads").mkdir(parents=True)
    given = home / "downloads" / "file.bin"
    download = wanted(server.url())
    given.write_bytes(OTHER)
    with pytest.raises(PackError, match=f"{hashlib.sha256(OTHER).hexdigest()}.*{download.sha256}.*Remove it"):
        store.fetch(download)
    assert given.exists()
    given.write_bytes(CONTENT)
    assert store.missing_bytes([download]) == 0
    assert store.fetch(download).read_bytes() == CONTENT
    assert (in_the_store(home), server.requests) == ([download.sha256], [])


def test_the_disk_is_looked_at_before_anything_is_fetched(server, home, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=len(CONTENT))
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(DiskFullError, match="OPENMLE_HOME"):
        store.fetch(wanted(server.url()))
    assert server.requests == []


DRIVER = """
import sys
from openmle_env.task_registry.downloads import store
from openmle_env.task_registry.pack import Download
url, size, sha256 = sys.argv[1:]
download = Download(registry="url", url=url, file="file.bin", size=int(size), sha256=sha256)
print(store.fetch(download, lambda message, share: print(message, flush=True)).name)
"""


def test_whoever_waits_goes_on_where_a_killed_process_ended(server, home):
    stuck, over = threading.Event(), threading.Event()

    def hangs(asked: Asked) -> None:
        cut(asked)
        asked.wfile.flush()
        stuck.set()
        over.wait(60)

    server.plan = [hangs]
    download = wanted(server.url())
    command = [sys.executable, "-c", DRIVER, download.url, str(download.size), download.sha256]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    assert stuck.wait(60)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as second:
        assert second.stdout.readline() == "waiting for another process that fetches file.bin\n"
        part = home / "downloads" / f"{download.sha256}.part"
        while not part.exists() or part.stat().st_size < CUT:
            assert first.poll() is None
        first.kill()
        assert first.wait() == -signal.SIGKILL
        assert second.stdout.read().splitlines()[-1] == download.sha256
    over.set()
    assert [asked for _, asked in server.requests] == ["", f"bytes={CUT}-"]
    assert in_the_store(home) == [download.sha256]


# --- registries' own clients -----------------------------------------------------------------------------------------

NEVER = "raise SystemExit('setup.py was run')\n"


def named(registry: str, package: str, version: str, file: str) -> Download:
    return Download(registry=registry, package=package, version=version, file=file, size=1, sha256="0" * 64)


def test_pip_finds_files_for_any_python_and_platform_and_runs_none(tmp_path, home, monkeypatch):
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    foreign = "data_of_ours-1.0-cp39-abi3-macosx_11_0_arm64.whl"
    (wheels / foreign).write_bytes(b"PK")
    with tarfile.open(wheels / "data_of_ours-1.0.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("data_of_ours-1.0/setup.py")
        info.size = len(NEVER)
        archive.addfile(info, io.BytesIO(NEVER.encode()))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_ONLY_BINARY", ":all:")
    for file in (foreign, "data_of_ours-1.0.tar.gz"):
        assert [one.url for one in pypi.locate(named("pypi", "data-of-ours", "1.0", file))] == [
            (wheels / file).as_uri()
        ]
    with pytest.raises(PreparationError, match=r"no file data_of_ours-2.0.tar.gz of data-of-ours 2.0.*lists \d other"):
        pypi.locate(named("pypi", "data-of-ours", "2.0", "data_of_ours-2.0.tar.gz"))


def test_pip_gives_the_password_of_a_private_index_and_no_message_does(server, home, monkeypatch):
    page = b'<html><body><a href="/files/a-1.0.tar.gz">a-1.0.tar.gz</a></body></html>'
    server.plan = [lambda asked: asked.send(200, page, Content_Type="text/html")]
    address = server.url("me:secret@127.0.0.1").removesuffix("file.bin")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}simple")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    (found,) = pypi.locate(named("pypi", "a", "1.0", "a-1.0.tar.gz"))
    assert found.url == server.url().replace("file.bin", "files/a-1.0.tar.gz")
    assert found.authorization == f"Basic {base64.b64encode(b'me:secret').decode()}"
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@127.0.0.1:9/simple")
    with pytest.raises(InfrastructureError, match=r"cannot be asked for a 1.0") as raised:
        pypi.locate(named("pypi", "a", "1.0", "a-1.0.tar.gz"))
    assert "secret" not in str(raised.value)


@pytest.fixture
def tool(tmp_path, monkeypatch) -> Callable[[str, str], None]:
    """Puts a stand-in for a client on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def write(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return write


def test_npm_is_asked_for_the_address_the_proxy_and_the_certificates(tool):
    settings = '{"https-proxy": "http://proxy.invalid:1", "cafile": "/ca.pem", "strict-ssl": true}'
    tool("npm", f"""[ "$1" = view ] && echo '"https://r.invalid/'"$2"'.tgz"' || echo '{settings}'""")
    assert npm.locate(named("npm", "@a/b", "1.0", "b.tgz")) == [
        Source(url="https://r.invalid/@a/b@1.0.tgz", proxy="http://proxy.invalid:1", certificates="/ca.pem")
    ]
    tool("npm", "echo '{\"error\": {}}'; echo 'npm error code E404' >&2; exit 1")
    with pytest.raises(PreparationError, match=r"(?s)has no @a/b@1.0.*E404"):
        npm.locate(named("npm", "@a/b", "1.0", "b.tgz"))
    tool("npm", "echo 'npm error code EROFS' >&2; exit 1")
    with pytest.raises(InfrastructureError, match=r"cannot be asked"):
        npm.locate(named("npm", "@a/b", "1.0", "b.tgz"))


def test_apt_is_asked_for_the_address_and_the_proxy(tool):
    tool("apt-get", "echo \"'http://d.invalid/$3.deb' x.deb 5 SHA256:0\"")
    tool("apt-config", "echo 'Acquire::http::Proxy \"http://proxy.invalid:1\";'")
    assert debian.locate(named("debian", "a", "1:2~3-4", "a_2_all.deb")) == [
        Source(url="http://d.invalid/a=1:2~3-4.deb", proxy="http://proxy.invalid:1")
    ]
    assert debian.locate(named("debian", "a", "1", "a_1_arm64.deb"))[0].url == "http://d.invalid/a:arm64=1.deb"
    tool("apt-get", "echo 'E: Version was not found' >&2; exit 100")
    with pytest.raises(PreparationError, match=r"(?s)apt-get update.*was not found"):
        debian.locate(named("debian", "a", "1", "a_1_all.deb"))


def test_a_client_that_is_missing_is_named_with_what_to_do(tool, home):
    for registry, name in (("npm", "npm"), ("debian", "apt-get")):
        with pytest.raises(InfrastructureError, match=f"(?s){name} is needed.*put it into {home}/downloads"):
            store.fetch(named(registry, "a", "1", "a.tgz"))


@pytest.mark.parametrize(("package", "version"), [("--help", "1"), ("a", "-1"), ("a b", "1"), ("a", "1;2")])
def test_no_client_takes_a_name_for_an_option(package, version):
    for module, registry in ((pypi, "pypi"), (npm, "npm"), (debian, "debian")):
        with pytest.raises(PackError, match="Correct it"):
            module.locate(named(registry, package, version, "a.tgz"))


# --- in a pack -------------------------------------------------------------------------------------------------------


def zipped(members: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return made.getvalue()


def with_download(unfinished: dict[str, str], url: str, content: bytes, members: str) -> dict[str, str]:
    sha256 = hashlib.sha256(content).hexdigest()
    download = f"{{registry: url, url: '{url}', file: pets.zip, size: {len(content)}, sha256: {sha256}, {members}}}"
    return {**unfinished, "pack.yaml": f"{unfinished['pack.yaml']}downloads: [{download}]\n"}


def test_a_script_finds_fetched_members_beside_carried_files_and_offline_nothing_is_fetched(
    server, make_pack, unfinished, box, home
):
    server.content = zipped({"a/pets.csv": unfinished.pop("raw/pets.csv"), "a/b/1.txt": "x", "a/c.txt": "no"})
    unfinished["raw/carried.txt"] = "carried"
    unfinished["utils/prepare.py"] += (
        "    names = sorted(path.relative_to(raw).as_posix() for path in raw.rglob('*') if path.is_file())\n"
        "    (public / 'names.txt').write_text(' '.join(names))\n"
    )
    pack = make_pack(
        with_download(unfinished, server.url(), server.content, "members: {a/pets.csv: pets.csv, 'a/**/1.txt': more}")
    )
    shares: list[float] = []
    prepared = prepare(pack, sandbox=box, progress=lambda message, share: shares.append(share))
    assert (prepared.public / "names.txt").read_text() == "carried.txt more/b/1.txt pets.csv"
    assert shares == sorted(shares)
    assert list((home / "scratch").iterdir()) == []
    server.plan = [answers(500)] * 9
    assert prepare(pack, sandbox=box) == prepared
    assert prepare(pack, sandbox=box, force=True) == prepared
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        ("members: {a/pest.csv: pets.csv}", PackError, "pets.zip holds no 'a/pest.csv'.*Did you mean 'a/pets.csv'"),
        ("members: {a/pets.csv: b.csv, 'a/*': b}", PackError, "names a/pets.csv of pets.zip twice"),
        ("members: {a/pets.csv: pets.csv}", PackError, "pets.csv would be made twice"),
        ("members: {a/pets.csv: pets.csv/b}", PackError, "would lie below pets.csv, which is a file"),
    ],
)
def test_members_that_the_archive_cannot_give(server, make_pack, unfinished, box, home, *, members, error, message):
    server.content = zipped({"a/pets.csv": "id\n"})
    with pytest.raises(error, match=message):
        prepare(make_pack(with_download(unfinished, server.url(), server.content, members)), sandbox=box)
    assert box.jobs == []
    assert list((home / "scratch").iterdir()) == []
