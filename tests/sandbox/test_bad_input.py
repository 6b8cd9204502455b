"""What cannot work is refused before anything runs, with a message that says what to do."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import shutil
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import pytest

from openmle_env.envs.recording import EpisodeRecorder
from openmle_env.envs.task_env import TaskEnv
from openmle_env.errors import DiskFullError, SandboxUnavailableError, UsageError
from openmle_env.sandbox import engine, select
from openmle_env.types import Job, Limits
from tests.envs.tiny import Box, make_pack
from tests.sandbox import boxes_driver
from tests.sandbox.leftovers import full_disk, processes_that_know
from tests.sandbox.processes import in_boxes, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openmle_env.sandbox.box import BoxSandbox
    from openmle_env.types import Warm

BACKENDS = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
]
WAYS: tuple[Warm, ...] = ("single", "forked", "off")
MISSING = "openmle-env-no-such-image:1"
FOREIGN = "openmle-env-test-foreign:1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("wall_seconds", "memory_mb", "cpus", "processes") for value in (0, -1, math.nan)),
        ("wall_seconds", math.inf),
        ("wall_seconds", "60"),
        ("wall_seconds", None),
        ("memory_mb", 31),
        ("memory_mb", True),
        ("memory_mb", 1e12),
        ("cpus", 0.001),
        ("open_files", 15),
        ("open_files", 1 << 21),
        ("processes", 5_000_000),
        ("work_mb", 0.5),
        ("inodes", 3),
        ("log_kb", 0),
        ("artifact_mb", -1),
        ("gpus", -1),
        ("gpus", 0.5),
        ("gpus", 1000),
    ],
)
def test_a_limit_out_of_range_is_named_with_its_value(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=rf"Limit {name}=.*must be") as caught:
        Limits(**{name: value})
    assert repr(value) in str(caught.value)


# --- inputs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["single", "forked"])
def sandbox(
    request: pytest.FixtureRequest, backend: str, usable: Callable[[str], None], tmp_path: Path
) -> Iterator[BoxSandbox]:
    """On each backend, in each way to run."""
    image = ""
    if backend == "docker":
        image = request.getfixturevalue("docker_image")
    else:
        usable("bubblewrap")
    tmp_path.chmod(0o755)
    with contextlib.closing(boxes_driver.make(backend, image, request.param)) as sandbox:
        yield sandbox


def put(folder: Path, text: str) -> Path:
    """A folder that boxes may read, with one file."""
    folder.mkdir(mode=0o755, exist_ok=True)
    folder.chmod(0o755)
    (folder / "train.csv").write_text(text)
    (folder / "train.csv").chmod(0o644)
    return folder


READ = """
import os
print(open("/input/train.csv" if os.path.isdir("/input") else "/input").read())
"""


def job(source: Path, session: str = "one") -> Job:
    return Job(
        program=READ, inputs={"/input": source}, collect=(), limits=boxes_driver.LIMITS, modules=(), session=session
    )


def warm(sandbox: BoxSandbox, source: Path) -> None:
    """Have a box that waits for this input, or serves its session."""
    sandbox.warm_up(job(source))
    box = {"single": "warm", "forked": "forked"}[sandbox.warm]
    execution = sandbox.run(job(source))
    assert (execution.stdout, execution.box) == ("old\n", box)
    # The next one, where each serves one program, has its input already.
    assert wait_until(lambda: waits(str(source.resolve())))


def waits(path: str) -> bool:
    """Whether boxes with this input are there to stay."""
    before = processes_that_know(path, "python")
    time.sleep(0.3)
    return bool(before) and before == processes_that_know(path, "python")


def move(data: Path, new: Path) -> None:
    data.rename(data.with_name("aside"))
    new.rename(data)


def make_anew(data: Path, new: Path) -> None:
    shutil.rmtree(data)
    shutil.copytree(new, data)


def exchange(data: Path, new: Path) -> None:
    new.replace(data)


def point_elsewhere(data: Path, new: Path) -> None:
    following = data.with_name("following")
    following.symlink_to(new)
    following.replace(data)


def write_over(data: Path, new: Path) -> None:
    shutil.copytree(new, data, dirs_exist_ok=True)


@pytest.mark.parametrize(
    ("kind", "replace"),
    [("folder", move), ("folder", make_anew), ("file", exchange), ("link", point_elsewhere), ("folder", write_over)],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_inputs_that_are_replaced_before_the_run(
    sandbox: BoxSandbox, tmp_path: Path, kind: str, replace: Callable[[Path, Path], None]
) -> None:
    """By others of the same name: a box that waits, or serves a session, never shows the old ones."""
    data, new = put(tmp_path / "data", "old"), put(tmp_path / "new", "new")
    if kind == "link":
        data = tmp_path / "link"
        data.symlink_to("data")
    elif kind == "file":
        data, new = data / "train.csv", new / "train.csv"
    warm(sandbox, data)
    replace(data, new)
    for session in ("one", "two"):
        assert sandbox.run(job(data, session)).stdout == "new\n"
    data.rename(tmp_path / "gone")
    with pytest.raises(UsageError, match=r"Input '.*' for '/input' does not exist"):
        sandbox.run(job(data))


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's programs may read what the user may")
def test_inputs_that_the_user_inside_may_not_read(sandbox: BoxSandbox, tmp_path: Path) -> None:
    """Also those that are closed when a box waits, or serves a session, already."""
    data = put(tmp_path / "data", "old")
    warm(sandbox, data)
    for closed, mode in ((data, 0o755), (data / "train.csv", 0o644)):
        closed.chmod(0o700)
        with pytest.raises(UsageError, match=r"may not read .*chmod -R a\+rX '.*data'"):
            sandbox.run(job(data))
        closed.chmod(mode)
    assert sandbox.run(job(data)).stdout == "old\n"


@pytest.mark.parametrize("place", ["data", "/", "/etc", "/work/x", "/../x", "/a b", "/data\n"])
def test_an_impossible_place_for_an_input(sandbox: BoxSandbox, tmp_path: Path, place: str) -> None:
    before = in_boxes(os.getpid())
    with pytest.raises(UsageError, match="Input path"):
        sandbox.run(Job(program="1", inputs={place: put(tmp_path / "data", "x")}, modules=()))
    assert in_boxes(os.getpid()) <= before


# --- engines and images -----------------------------------------------------------------------------------------------


@pytest.mark.docker
@pytest.mark.parametrize("way", WAYS)
def test_an_image_that_is_missing(docker_engine: None, way: Warm, tmp_path: Path) -> None:
    data = put(tmp_path / "data", "x")
    with contextlib.closing(boxes_driver.make("docker", MISSING, way)) as sandbox:
        sandbox.warm_up(job(data))
        with pytest.raises(SandboxUnavailableError, match=rf"no image '{MISSING}'. Build it"):
            sandbox.run(job(data))
    with pytest.raises(SandboxUnavailableError, match=f"no image {MISSING}.*Build it"):
        select.create("docker", image=MISSING)


@pytest.fixture
def foreign_image(docker_engine: None) -> Iterator[str]:
    """An image of an architecture that no machine of ours has, as ``docker load`` takes it."""
    layer = tar_of({"data/empty": b""})
    config = {
        "architecture": "s390x",
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [FOREIGN], "Layers": ["layer.tar"]}]
    files = {"config.json": json.dumps(config).encode(), "manifest.json": json.dumps(manifest).encode()}
    with engine.connect() as client:
        client.images.load(tar_of({**files, "layer.tar": layer}))
    yield FOREIGN
    with engine.connect() as client:
        client.images.remove(FOREIGN)


def tar_of(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return content.getvalue()


@pytest.mark.docker
def test_an_image_of_another_architecture(foreign_image: str, tmp_path: Path) -> None:
    """Is refused before anything is made of it: some machines could run it, slowly, in an emulator."""
    data = put(tmp_path / "data", "x")
    with (
        contextlib.closing(boxes_driver.make("docker", foreign_image, "off")) as sandbox,
        pytest.raises(SandboxUnavailableError, match="was made for s390x, and the engine runs on a"),
    ):
        sandbox.run(job(data))


class OldEngine(BaseHTTPRequestHandler):
    """As much of an engine of 2019 as is needed to say so."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]]
    answers: ClassVar[dict[str, Any]] = {
        "_ping": "OK",
        "containers/json": [],
        "images/json": [],
        "any:1/json": {"Id": f"sha256:{'0' * 64}", "Config": {}, "Os": "linux", "Architecture": "amd64"},
        "version": {
            "Version": "19.03.15",
            "ApiVersion": "1.40",
            "MinAPIVersion": "1.12",
            "Os": "linux",
            "Arch": "amd64",
        },
        "info": {
            "ServerVersion": "19.03.15",
            "OSType": "linux",
            "MemoryLimit": True,
            "SecurityOptions": ["name=seccomp"],
        },
    }

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        path = self.path.split("?")[0]
        name = next((name for name in self.answers if path.endswith(f"/{name}")), "")
        found = self.answers.get(name, {"message": "not here"})
        body = found.encode() if isinstance(found, str) else json.dumps(found).encode()
        self.send_response(200 if name in self.answers else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Api-Version", "1.40")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  named so by the class above
        pass


@pytest.fixture
def old_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was asked of it."""
    handler = type("Asked", (OldEngine,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
        yield handler.asked
        server.shutdown()
        thread.join()


def test_an_engine_that_is_too_old(old_engine: list[str], tmp_path: Path) -> None:
    data = put(tmp_path / "data", "x")
    with (
        contextlib.closing(boxes_driver.make("docker", "any:1", "off")) as sandbox,
        pytest.raises(SandboxUnavailableError, match=r"19\.03.*20\.10"),
    ):
        sandbox.run(job(data))
    with pytest.raises(SandboxUnavailableError, match=r"19\.03.*20\.10"):
        select.create("docker", image="any:1")
    assert old_engine
    assert not [request for request in old_engine if request.startswith("POST")]  # nothing was made


# --- folders for what is written --------------------------------------------------------------------------------------


@pytest.fixture
def full(tmp_path: Path, unavailable: Callable[[str], NoReturn]) -> Iterator[Path]:
    with full_disk(tmp_path / "full", unavailable) as folder:
        yield folder


@pytest.mark.parametrize("what", ["home", "runs"])
def test_a_full_disk_is_said_before_a_program_runs(
    full: Path, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENMLE_HOME", str(full if what == "home" else tmp_path / "home"))
    sandbox = Box()
    env = TaskEnv(make_pack(tmp_path / "packs"), sandbox=sandbox)
    recorder = EpisodeRecorder(env, full if what == "runs" else tmp_path / "runs")
    with pytest.raises(DiskFullError, match=f"OPENMLE_{what.upper()}"):
        recorder.reset()
    assert [path.name for path in full.rglob("*") if path.is_file() and path.stat().st_size] == ["ballast"]
