"""Boxes that are Docker containers: a fresh one for each run, gone when the run returns."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmle_env import settings
from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine, engine_facts, podman, reaper, requirements, users
from openmle_env.sandbox import image as images
from openmle_env.sandbox.box import (
    GRACE_SECONDS,
    READY_SECONDS,
    SUPERVISOR,
    BoxSandbox,
    configuration,
    version_of,
)
from openmle_env.sandbox.channel import readable
from openmle_env.sandbox.checks import check_readable
from openmle_env.sandbox.forks import abandon_in_forks
from openmle_env.sandbox.gpus import engine_errors, payload
from openmle_env.sandbox.layout import INSIDE
from openmle_env.sandbox.pool import LONGEST_SECONDS
from openmle_env.sandbox.protocol import Confinement
from openmle_env.sandbox.seccomp import docker_profile
from openmle_env.sandbox.verdict import Aftermath
from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from docker import DockerClient

    from openmle_env.sandbox.plan import Plan
    from openmle_env.sandbox.requirements import Requirements
    from openmle_env.types import Job, Limits, Warm

_SUPERVISED = {f"{INSIDE}/inside": Path(__file__).with_name("inside")}
"""What is mounted beside a job's inputs."""
_SPARE_SECONDS = 300.0
"""How long after its last possible use a container counts as left behind."""
_CLOSE_SECONDS = 15
"""How long removing a container may take."""
_LEAVE_SECONDS = 3
"""How long a container may take to be gone by itself."""
_STDERR_BYTES = 1 << 16
"""What is kept of the supervisor's own stderr, for a box that does not become ready."""


class DockerSandbox(BoxSandbox):
    """Runs each program in a new container of the engine that the environment names.

    Making one touches nothing; the engine is reached by the first run. A run in whose middle the engine dies ends with
    ``sandbox_unconfirmed`` (the machine's fault, to be retried), never with a failure of the program.
    """

    name = "docker"
    gives_gpus = True

    def __init__(self, image: str | None = None, *, warm: Warm | None = None, runtime: str | None = None) -> None:
        """Use this image, or that of the settings, or else the one of this environment (see `images.chosen`).

        ``runtime`` is the engine's, such as ``runsc``; that of the settings, or else the engine's default.
        """
        super().__init__(warm)
        self.image = images.chosen(image)
        self._asked = image
        self.runtime = settings.load().runtime if runtime is None else runtime
        self._info: dict[str, Any] | None = None
        self._stop_reaper: Callable[[], None] | None = None

    def confinement(self) -> Confinement:
        """What the engine can enforce on its machine.

        Raises:
            SandboxUnavailableError: No engine answers.
        """
        info = self._info
        if info is None:
            with engine.connect() as client:
                info = self._engine_info(client)
        missing = {
            "MemoryLimit": "memory (the supervisor watches it instead)",
            "SwapLimit": "swap",
            "CpuCfsQuota": "CPU time",
            "PidsLimit": "the number of processes, other than by RLIMIT_NPROC",
        }
        details = [f"the engine does not confine {what}" for key, what in missing.items() if not info.get(key)]
        if not any("seccomp" in option for option in info.get("SecurityOptions") or ()):
            details.append("the engine does not filter system calls")
        return Confinement(
            memory="cgroup" if info.get("MemoryLimit") else "watched",
            cpu=bool(info.get("CpuCfsQuota")),
            inodes=True,
            network=True,
            details=tuple(details),
        )

    @property
    def identity(self) -> tuple[object, ...]:
        """See `BoxSandbox.identity`."""
        where = os.environ.get("DOCKER_HOST"), os.environ.get("DOCKER_CONTEXT")
        return (*super().identity, self._asked, self.image, self.runtime, *where)

    def check_inputs(self, job: Job) -> None:
        """See `BoxSandbox.check_inputs`."""
        check_readable(job.inputs.values())

    def open_box(self, job: Job, plan: Plan) -> Container:
        """Create, attach and start one container.

        Raises:
            SandboxUnavailableError: No engine answers, the image is missing, or the container does not start.
            UsageError: An input cannot be read by the user inside.
        """
        check_readable(_SUPERVISED.values())
        with engine.connect() as client, contextlib.ExitStack() as undo:
            self._collect(client)
            info = self._engine_info(client)
            wanted = self._packages_for(job)
            image = images.chosen(self._asked, requirements=wanted)
            images.check(client, image, info, requirements=wanted)
            user = users.first_of_a_box(mapped=_mapped(info))
            undo.enter_context(engine_errors.explaining(plan.gpus))
            made = _create(client, image, job, plan, info, user=user, runtime=self.runtime)
            undo.callback(_remove_quietly, made["Id"])
            with engine.calling("attach to a container"):
                stream = client.api.attach_socket(made["Id"], {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            connection = AttachedStream(stream)
            undo.callback(connection.close)
            with engine.calling("start a container"):
                client.api.start(made["Id"])
            undo.pop_all()
        return Container(made["Id"], connection, job.limits, info, notes=tuple(made.get("Warnings") or ()))

    def _packages_for(self, job: Job) -> Requirements:
        """What the job's program may import beside the libraries of this environment."""
        wanted = requirements.of(job)
        if job.limits.gpus and version_of("torch") is None:
            return images.for_gpus(wanted)  # else this environment's own image has it
        return wanted

    def _engine_info(self, client: DockerClient) -> dict[str, Any]:
        """What the engine says of itself, asked once, and whether it can run boxes at all."""
        if self._info is None:
            with engine.calling("say what it can confine"):
                info = dict(client.info())
            engine_facts.check(info, runtime=self.runtime)
            self._info = info
        return self._info

    def _collect(self, client: DockerClient) -> None:
        """Remove what killed processes left: now, the first time, and every few minutes until this is closed."""
        reaper.collect_once(client)
        with self._lock:
            if self._stop_reaper is None and not self._closed:
                self._stop_reaper = reaper.start_background()

    def close(self) -> None:
        """See `BoxSandbox.close`."""
        super().close()
        with self._lock:
            stop, self._stop_reaper = self._stop_reaper, None
        if stop is not None:
            stop()


class Container:
    """One started container; see `openmle_env.sandbox.box.Box`."""

    def __init__(
        self,
        identity: str,
        connection: AttachedStream,
        limits: Limits,
        info: Mapping[str, Any],
        *,
        notes: tuple[str, ...],
    ) -> None:
        self.id = identity
        self.transport = connection
        self.watch_memory = not info.get("MemoryLimit")
        self.processes = None if info.get("PidsLimit") else int(limits.processes) + 2  # as below
        self._notes = notes
        self._lock = threading.Lock()
        self._killed = False
        self._aftermath: Aftermath | None = None

    def measure(self) -> Aftermath:
        """What the engine warned of; what the container used its supervisor sees itself."""
        return Aftermath(notes=self._notes)

    def kill(self) -> None:
        """Cut the stream: the supervisor leaves when its stdin ends, and the waiting reader wakes up and closes."""
        self._killed = True
        self.transport.cut()

    def close(self) -> Aftermath:
        """Remove the container and wait until it is gone."""
        with self._lock:
            if self._aftermath is None:
                self._aftermath = self._close()
            return self._aftermath

    def diagnosis(self) -> str:
        """What the supervisor wrote to its own stderr."""
        return self.transport.errors.decode("utf-8", "replace").strip()[-1000:]

    def _close(self) -> Aftermath:
        unexplained = self.transport.ended and not self._killed
        notes = list(self._notes)
        oom_kills, unreachable = 0, False
        self.transport.close()
        try:
            with engine.connect(_CLOSE_SECONDS) as client:
                if unexplained:
                    oom_kills = self._oom_events(client)
                _remove(client, self.id)
        except SandboxUnavailableError as error:
            unreachable = True
            when = "when a sandbox starts after this process has ended"
            notes.append(f"{error} Container {self.id[:12]} may be left; it is removed {when}.")
        return Aftermath(oom_kills=oom_kills, notes=tuple(notes), unreachable=unreachable)

    def _oom_events(self, client: DockerClient) -> int:
        """Out-of-memory kills that the engine saw; it remembers them after the container has removed itself."""
        filters = {"container": self.id, "event": "oom"}
        with engine.calling("say why a container ended"):  # waits a second: the event may come after the end
            # Times are those of the engine's clock: this one may stand elsewhere.
            now = datetime.fromisoformat(client.info()["SystemTime"]).timestamp()
            events = client.events(since=0, until=int(now) + 1, filters=filters, decode=True)
            return sum(1 for _ in events)


class AttachedStream:
    """The attached stream of a container: what it writes is a sequence of chunks, marked as stdout or stderr."""

    def __init__(self, stream: Any) -> None:
        self.errors = bytearray()
        self.ended = False
        self._buffer = bytearray()
        self._stream = stream
        # Of a plain connection docker-py gives the file object around the socket, and both have to be closed.
        self._connection: socket.socket = stream if isinstance(stream, socket.socket) else stream._sock  # noqa: SLF001  no public way to the socket
        abandon_in_forks(self)

    def cut(self) -> None:
        """End the stream in both directions, also for a reader that waits in another thread."""
        with contextlib.suppress(OSError):  # ended already
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the connection back."""
        self._stream.close()
        self._connection.close()

    def abandon(self) -> None:
        """See `Abandonable`: closing a copy ends nothing."""
        self.close()

    def send(self, data: bytes, timeout: float) -> None:
        """Send all of it."""
        self._connection.settimeout(timeout)
        self._connection.sendall(data)

    def is_quiet(self) -> bool:
        """Whether the other end is open and has sent nothing that was not received."""
        open_ = not self.ended and self._connection.fileno() >= 0
        return open_ and not self._buffer and not readable(self._connection.fileno(), 0)

    def receive(self, timeout: float) -> bytes:
        """The next bytes of stdout; ``b""`` at its end."""
        deadline = time.monotonic() + timeout
        while not self.ended:
            if output := self._take():
                return output
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._connection.settimeout(left)
            data = self._connection.recv(1 << 18)
            self._buffer += data
            self.ended = not data
        return b""

    def _take(self) -> bytes:
        """All complete chunks of the buffer: returns those of stdout and keeps those of stderr."""
        output = bytearray()
        start = 0
        while len(self._buffer) >= start + 8:
            end = start + 8 + int.from_bytes(self._buffer[start + 4 : start + 8], "big")
            if len(self._buffer) < end:
                break
            if self._buffer[start] == 1:
                output += self._buffer[start + 8 : end]
            elif len(self.errors) < _STDERR_BYTES:
                self.errors += self._buffer[start + 8 : end][:_STDERR_BYTES]
            start = end
        del self._buffer[:start]
        return bytes(output)


def _mapped(info: Mapping[str, Any]) -> int | None:
    """How many users a container has, from 0; None where it has all: see `users.first_of_a_box`."""
    options = " ".join(info.get("SecurityOptions") or ())
    return 65_536 if "name=userns" in options or "name=rootless" in options else users.mapped_here()


def _create(
    client: DockerClient, image: str, job: Job, plan: Plan, info: Mapping[str, Any], *, user: int, runtime: str
) -> dict[str, Any]:
    from docker.types import LogConfig, Mount, Ulimit  # an extra, and slow to import

    limits = job.limits
    memory = int(limits.memory_mb * MIB)
    sources = {**job.inputs, **_SUPERVISED}
    profile, folders = json.dumps(docker_profile()), _folders(limits, None if plan.forks else user)
    if engine_facts.is_podman(info):
        profile, folders = podman.seccomp(profile), podman.folders(folders)
    host = client.api.create_host_config(
        auto_remove=True,
        network_mode="none",
        ipc_mode="private",
        read_only=True,
        cap_drop=["ALL"],
        cap_add=["SETUID", "SETGID"] if plan.forks else None,  # the supervisor's, never a program's
        security_opt=["no-new-privileges", f"seccomp={profile}"],
        pids_limit=int(limits.processes) + 1 + int(plan.forks),  # the supervisor, and what it forks from
        mem_limit=memory,
        memswap_limit=memory,
        cpu_period=100_000,
        cpu_quota=max(1000, int(limits.cpus * 100_000)),  # unlike nano_cpus, may be more than the machine has
        ulimits=[  # that on open files the program's process sets itself: the supervisor needs its own
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="memlock", soft=1 << 16, hard=1 << 16),
        ],
        tmpfs=folders,
        mounts=[
            Mount(inside, str(source.resolve()), type="bind", read_only=True, propagation="rprivate")
            for inside, source in sources.items()
        ],
        log_config=LogConfig(type="none"),
        device_requests=payload.requests(plan.gpus, info),
        runtime=runtime or None,
    )
    own = configuration(job, plan, user=user if plan.forks else None)  # where it forks it starts as root
    seconds = READY_SECONDS + plan.idle_seconds + max(limits.wall_seconds, plan.idle_seconds and LONGEST_SECONDS)
    seconds += GRACE_SECONDS + _SPARE_SECONDS
    with engine.calling("create a container"):
        return dict(
            client.api.create_container(
                image,
                [],
                entrypoint=list(SUPERVISOR),  # whatever that of the image is
                stdin_open=True,
                detach=False,  # with stdin_open: stdin ends when its one client goes, and the box with it
                user="0:0" if plan.forks else f"{user}:{user}",
                working_dir="/work",
                hostname="sandbox",
                stop_signal="SIGKILL",  # PID 1 ignores others: an engine that shuts down would wait in vain
                environment={**own, **payload.container_environment(plan.gpus)},
                labels=reaper.labels(seconds),
                host_config=host,
            )
        )


def _folders(limits: Limits, user: int | None) -> dict[str, str]:
    """The writable folders, each in memory, with its size and number of files bounded; this user's, or everyone's."""
    mine = "mode=1777" if user is None else f"mode=0755,uid={user},gid={user}"

    def options(size_mb: float, mode: str, *, execute: str = "noexec") -> str:
        return f"rw,nosuid,nodev,{execute},size={int(size_mb * MIB)},nr_inodes={int(limits.inodes)},{mode}"

    return {
        "/work": options(limits.work_mb, mine, execute="exec"),
        "/tmp": options(limits.work_mb, "mode=1777", execute="exec"),  # noqa: S108  the box's own
        "/output": options(limits.output_mb, mine),
        "/dev/shm": options(limits.shm_mb, "mode=1777"),  # noqa: S108  the box's own
        # Pseudo-terminals are counted for the whole machine: without this, one box could leave none to others.
        "/dev/pts": "ro,nosuid,noexec,size=4096,mode=0555",
    }


def _remove(client: DockerClient, identity: str) -> None:
    """See a container gone: it ends with its stream, and its engine removes what has ended; if not soon, by force.

    Both at once have brought an engine to a halt, when many containers ended together.

    Raises:
        SandboxUnavailableError: The engine did not do it in time.
    """
    import docker.errors  # an extra, and slow to import

    with contextlib.suppress(SandboxUnavailableError), engine.calling("remove a container"):
        client.api.wait(identity, timeout=_LEAVE_SECONDS, condition="removed")
    deadline = time.monotonic() + _CLOSE_SECONDS
    while True:
        with engine.calling(f"remove the container {identity[:12]}"):
            try:
                client.api.remove_container(identity, v=True, force=True)
            except docker.errors.NotFound:
                return
            except docker.errors.APIError as error:
                # It is removing itself at this moment: look again until it is gone.
                if error.status_code != 409 or time.monotonic() > deadline:
                    raise
        time.sleep(0.01)


def _remove_quietly(identity: str) -> None:
    """After a failure that matters more; what is left is the reaper's."""
    with contextlib.suppress(SandboxUnavailableError), engine.connect(_CLOSE_SECONDS) as client:
        _remove(client, identity)
