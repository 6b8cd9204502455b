"""A Docker engine of a test's own, to be stopped, killed and filled up: nobody else's boxes are in it.

All of it lies below one folder, its storage on a small file system in memory, and its control groups below one parent:
whatever names these is of this engine. Needs root and the program ``dockerd``.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from openmle_env.sandbox import engine as shared_engine
from openmle_env.sandbox import reaper
from tests.sandbox.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest
    from docker import DockerClient

IMAGE = "openmle-env-test-small:1"
"""The sandbox image without its libraries, in an engine that was given it."""
STORAGE_MIB = 400
"""Size of the engine's storage."""


def missing() -> str:
    """What this machine lacks for an engine of a test's own; empty where it lacks nothing."""
    if os.geteuid() != 0:
        return "an engine of the test's own needs root"
    lacking = [name for name in ("dockerd", "containerd", "mount", "umount") if shutil.which(name) is None]
    return f"an engine of the test's own needs {', '.join(lacking)}" if lacking else ""


class PrivateEngine:
    """One engine, started by `start`; `close` ends it and removes all of it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="openmle-engine-"))
        self.storage = self.folder / "data"
        self.address = f"unix://{self.folder}/e.sock"
        self.control_group = f"openmle-test-{self.folder.name.rpartition('-')[2]}"
        self.log = self.folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.storage.mkdir()
            options = f"size={STORAGE_MIB}m,mode=0711"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "openmle-test", str(self.storage)], check=True)
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = ["dockerd", "--host", self.address, "--data-root", str(self.storage)]
        command += ["--exec-root", str(self.folder / "exec"), "--pidfile", str(self.folder / "pid")]
        command += ["--bridge=none", "--iptables=false", "--ip6tables=false"]
        command += ["--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", f"/{self.control_group}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if not wait_until(self.answers, 60):
            raise RuntimeError(f"The engine does not start: {self.log.read_text(errors='replace')[-2000:]}")

    def answers(self) -> bool:
        """Whether it answers now."""
        with socket.socket(socket.AF_UNIX) as knock:
            knock.settimeout(10)
            try:
                knock.connect(f"{self.folder}/e.sock")
                knock.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b"200" in knock.recv(1024)
            except OSError:
                return False

    def stop(self) -> None:
        """End it as a service manager does; its containers end with it."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once: it has no time to end anything."""
        self._end(signal.SIGKILL)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """While this lasts it takes connections, and answers nobody."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(60)
        assert wait_until(lambda: not self._helpers("containerd --config"), 60)
        # Its helper may stay a zombie where init waits for nobody: the next one would take it for alive.
        (self.folder / "exec" / "containerd" / "containerd.pid").unlink(missing_ok=True)

    def _helpers(self, name: str) -> list[tuple[int, str]]:
        """Number and command line of its helpers with this name."""
        return [(pid, line) for pid, line in command_lines() if name in line and f"{self.folder}/exec/" in line]

    @contextlib.contextmanager
    def client(self) -> Iterator[DockerClient]:
        """A client of this engine."""
        import docker

        client = docker.DockerClient(base_url=self.address, timeout=60)
        try:
            yield client
        finally:
            client.close()

    def load(self, tar: Path) -> None:
        """Give it the image `IMAGE`, made by `small_image`."""
        repository, tag = IMAGE.split(":")
        with self.client() as client, tar.open("rb") as file:
            changes = tar.with_suffix(".changes").read_text().splitlines()
            answer = client.api.import_image_from_data(file, repository=repository, tag=tag, changes=changes)
        assert "sha256" in answer, answer

    @contextlib.contextmanager
    def full(self) -> Iterator[Callable[[], None]]:
        """While this lasts, no byte is left in its storage; what is freed meanwhile is taken by calling the result."""
        ballast = self.storage / "ballast"

        def fill() -> None:
            with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
                for size in (1 << 20, 1 << 12):
                    with contextlib.suppress(OSError):
                        while file.write(bytes(size)) == size:
                            pass

        try:
            fill()
            yield fill
        finally:
            ballast.unlink()

    def containers(self) -> list[str]:
        """All its containers with their states.

        Engine 20.10, when it starts again after a kill, may go on listing one that it has just removed: as dead, and
        to any other question it answers that there is no such container. That one is left out.
        """
        import docker.errors

        found = []
        with self.client() as client:
            for item in client.api.containers(all=True):
                with contextlib.suppress(docker.errors.NotFound):
                    found.append(f"{item['Id'][:12]} {client.api.inspect_container(item['Id'])['State']['Status']}")
        return found

    def leftovers(self) -> dict[str, list[str]]:
        """What containers leave or need; network namespaces are mounts."""
        found = {
            "containers": self.containers(),
            "mounts": [place for place in self._mounts() if place != str(self.storage)],
            "helpers": [line for _, line in self._helpers("containerd-shim")],
            "control groups": [str(path) for path in self._groups() if path.name != self.control_group],
            "folders": [path.name for path in self.storage.glob("containers/*")],
            "layers": [path.name for path in self.storage.glob("overlay2/*-init")],
        }
        return {kind: items for kind, items in found.items() if items}

    def _mounts(self) -> list[str]:
        places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        return [place for place in places if place.startswith(f"{self.folder}/")]

    def _groups(self) -> list[Path]:
        walk = os.walk("/sys/fs/cgroup")
        return [Path(root) for root, _, _ in walk if f"/{self.control_group}" in root]

    def settled(self, running: int) -> bool:
        """Whether so many containers run, and none is on its way; for what must not meet one that is half-made."""
        found = self.containers()
        return len(found) == running and all(item.endswith("running") for item in found)

    def clear(self) -> None:
        """Remove all containers, and what an engine that was killed while it started one left of it."""
        if self._process is not None and self.answers():
            with self.client() as client:
                for container in client.api.containers(all=True):
                    with contextlib.suppress(OSError):
                        client.api.remove_container(container["Id"], v=True, force=True)
        for pid, _ in self._helpers("containerd-shim"):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for group in self._groups():
            with contextlib.suppress(OSError):
                for number in (group / "cgroup.procs").read_text().split():
                    os.kill(int(number), signal.SIGKILL)
        for group in sorted(self._groups(), reverse=True):
            if group.name != self.control_group:
                wait_until(functools.partial(_removed, group), 5)

    def close(self) -> None:
        """End it, its containers first, and remove all of it."""
        self.clear()
        self.stop()
        self.clear()
        for place in reversed(self._mounts()):
            subprocess.run(["umount", "--lazy", place], check=False)
        for group in sorted(self._groups(), reverse=True):
            _removed(group)
        shutil.rmtree(self.folder, ignore_errors=True)


def _removed(group: Path) -> bool:
    """Whether a control group is gone now."""
    with contextlib.suppress(FileNotFoundError):
        try:
            group.rmdir()
        except OSError:
            return False
    return True


@contextlib.contextmanager
def running(
    request: pytest.FixtureRequest, unavailable: Callable[[str], NoReturn], folders: pytest.TempPathFactory
) -> Iterator[PrivateEngine]:
    """An engine with the image `IMAGE`, for a fixture of one module."""
    if lacking := missing():
        unavailable(lacking)
    tar = folders.getbasetemp() / "small-image.tar"
    if not tar.exists():
        small_image(request.getfixturevalue("docker_image"), tar)
    with PrivateEngine() as own:
        own.load(tar)
        yield own


def command_lines() -> list[tuple[int, str]]:
    """Number and command line of every process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
    return found


def small_image(image: str, tar: Path) -> None:
    """Write what an engine of a test's own imports: an image of the shared engine without its libraries."""
    with shared_engine.connect() as client:
        config = client.api.inspect_image(image)["Config"]
        made = client.api.create_container(image, ["true"], labels=reaper.labels(600))["Id"]
        try:
            _copy_without_libraries(client.api.export(made, chunk_size=1 << 20), tar)
        finally:
            client.api.remove_container(made, force=True)
    labels = [f'LABEL "{name}"="{value}"' for name, value in (config["Labels"] or {}).items()]
    variables = [f"ENV {item}" for item in config["Env"] or ()]
    tar.with_suffix(".changes").write_text("\n".join([*labels, *variables]))


def _copy_without_libraries(stream: Any, path: Path) -> None:
    with (
        tarfile.open(path, mode="w") as small,
        io.BufferedReader(_Chunks(iter(stream)), 1 << 20) as reader,
        tarfile.open(fileobj=reader, mode="r|") as large,
    ):
        for member in large:
            if "/site-packages/" not in member.name:
                small.addfile(member, large.extractfile(member) if member.isreg() else None)


class _Chunks(io.RawIOBase):
    """A file of chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._left = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._left = self._left or next(self._chunks, b"")
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size
