"""The Docker backend on a real engine: what a box is, what comes back, and that nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import SandboxUnavailableError, UsageError
from openmle_env.sandbox import box, docker, engine, reaper
from openmle_env.sandbox.docker import AttachedStream, Container, DockerSandbox
from openmle_env.sandbox.plan import Plan
from openmle_env.sandbox.protocol import CancelToken, Sandbox
from openmle_env.types import Fault, Job, Limits, ResultStatus

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.docker

GOOD = "open('/output/submission.csv', 'w').write('id,y\\n1,0\\n')"
SLEEP = "import time\ntime.sleep(600)"
PATIENCE = 60.0
"""Seconds until something that has to happen counts as not happening."""


def containers(owner: str) -> list[dict]:
    with engine.connect() as client:
        return client.api.containers(all=True, filters={"label": f"{reaper.OWNER_LABEL}={owner}"})


def mine() -> list[dict]:
    return containers(reaper.owner(os.getpid()))


def wait_until(condition) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def a_box_runs() -> bool:
    return any(item["State"] == "running" for item in mine())


def test_it_is_a_sandbox(docker_sandbox):
    assert isinstance(docker_sandbox, Sandbox)
    assert docker_sandbox.confinement().network


def test_a_good_program_gives_its_submission_and_leaves_no_container(docker_sandbox):
    execution = docker_sandbox.run(Job(program=GOOD + "\nprint('done')"))
    assert execution.status is ResultStatus.SUCCESS
    assert execution.submission.content == b"id,y\n1,0\n"
    assert (execution.stdout, execution.exit_code, execution.backend) == ("done\n", 0, "docker")
    assert execution.total_seconds > execution.wall_seconds > 0
    assert mine() == []


def test_inputs_are_read_only_and_answers_are_nowhere(docker_sandbox, tmp_path):
    public = tmp_path / "public"
    public.mkdir()
    (public / "train.csv").write_text("id,x\n1,2\n")
    (tmp_path / "answers.csv").write_text("id,y\n1,0\n")
    for path in (public, public / "train.csv"):
        path.chmod(0o755)
    program = """
import os
print(open('/data/train.csv').read(), os.listdir('/data'))
for path in ('/data/x', '/x', '/opt/venv/x', '/opt/openmle/x'):
    try:
        open(path, 'w')
    except OSError as error:
        print(error.errno)
"""
    execution = docker_sandbox.run(Job(program=program, inputs={"/data": public}, collect=()))
    assert execution.stdout.split() == ["id,x", "1,2", "['train.csv']", "30", "30", "30", "30"]


def test_what_a_program_is_and_may(docker_sandbox):
    program = """
import os, resource, socket
print(os.getuid() == os.getgid() >= 10001, os.getgroups() in ([], [os.getgid()]))
status = dict(line.rstrip().split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in line)
print(status['CapEff'].strip('0') == '', status['CapBnd'].strip('0') == '', status['NoNewPrivs'], status['Seccomp'])
print([name for name in os.listdir('/sys/class/net') if name != 'lo'])
for family in (socket.AF_VSOCK, socket.AF_PACKET):
    try:
        socket.socket(family, socket.SOCK_RAW)
    except PermissionError:
        print('refused')
print(sorted(name for name in os.environ if name.startswith(('OPENMLE', 'DOCKER', 'CI', 'PYTEST'))))
"""
    execution = docker_sandbox.run(Job(program=program, collect=()))
    assert execution.stdout.splitlines() == ["True True", "True True 1 2", "[]", "refused", "refused", "[]"]


def test_a_box_is_configured_as_the_job_says(docker_sandbox):
    limits = Limits(memory_mb=300, cpus=1.5, processes=50, open_files=100, work_mb=7, output_mb=3, inodes=99)
    box = docker_sandbox.open_box(Job(program=GOOD, limits=limits), Plan())
    try:
        with engine.connect() as client:
            found = client.api.inspect_container(box.id)
    finally:
        box.close()
    host, config = found["HostConfig"], found["Config"]
    assert (host["NetworkMode"], host["IpcMode"], host["ReadonlyRootfs"]) == ("none", "private", True)
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert host["SecurityOpt"][0] == "no-new-privileges"
    assert host["SecurityOpt"][1].startswith('seccomp={"defaultAction": "SCMP_ACT_ERRNO"')
    assert (host["Memory"], host["MemorySwap"]) == (300 << 20, 300 << 20)
    assert (host["CpuQuota"], host["CpuPeriod"], host["PidsLimit"]) == (150_000, 100_000, 51)
    assert {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} == {"core": 0, "memlock": 65536}
    assert sorted(host["Tmpfs"]) == ["/dev/pts", "/dev/shm", "/output", "/tmp", "/work"]  # noqa: S108  the box's own
    assert f"size={7 << 20},nr_inodes=99" in host["Tmpfs"]["/work"]
    assert (host["LogConfig"]["Type"], host["AutoRemove"]) == ("none", True)
    user, group = map(int, config["User"].split(":"))
    assert user == group >= 10001
    assert (config["OpenStdin"], config["StdinOnce"]) == (True, True)
    assert config["Labels"][reaper.OWNER_LABEL] == reaper.owner(os.getpid())
    assert not mine()


def test_open_files_are_the_programs_own(docker_sandbox):
    """Few of them do not keep the supervisor from reading deep folders, and many are as many as there may be."""
    program = """
import os, resource
print(resource.getrlimit(resource.RLIMIT_NOFILE))
os.makedirs("/output/models/" + "d/" * 40)
open("/output/models/" + "d/" * 40 + "x", "w").write("deep")
"""
    few = docker_sandbox.run(Job(program=program, collect=("models/",), limits=Limits(open_files=16)))
    assert few.stdout == "(16, 16)\n"
    assert [item.content for item in few.artifacts.values()] == [b"deep"]
    many = docker_sandbox.run(Job(program=program, collect=(), limits=Limits(open_files=1 << 20)))
    assert many.status is ResultStatus.SUCCESS


def test_memory_filled_through_files_is_the_programs_fault(docker_sandbox):
    # What a file in memory holds stays when its writer is killed, so that the supervisor itself may be next.
    program = "import os\nos.execv('/bin/sh', ['sh', '-c', 'echo a >/output/submission.csv; cat /dev/zero >/work/x'])"
    limits = Limits(memory_mb=100, work_mb=500, file_mb=500)
    execution = docker_sandbox.run(Job(program=program, limits=limits))
    assert execution.oom_kills
    assert execution.status.fault is Fault.AGENT


def test_the_engine_is_asked_whether_a_box_without_last_word_ran_out_of_memory(docker_image):
    with engine.connect() as client:
        made = client.containers.create(
            docker_image,
            ["python", "-c", "bytearray(1 << 30)"],
            labels=reaper.labels(PATIENCE),
            network_mode="none",
            mem_limit=50 << 20,
            memswap_limit=50 << 20,
            stdin_open=True,
        )
        stream = AttachedStream(client.api.attach_socket(made.id, {"stdout": 1, "stream": 1}))
        box = Container(made.id, stream, Limits(), client.info(), notes=())
        made.start()
    assert stream.receive(PATIENCE) == b""
    assert box.close().oom_kills == 1
    assert mine() == []


def test_cancelling_ends_a_run_and_removes_its_container(docker_sandbox):
    token = CancelToken()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(docker_sandbox.run, Job(program=SLEEP), cancel=token)
        assert wait_until(a_box_runs)
        token.cancel()
        assert running.result(PATIENCE).status is ResultStatus.CANCELLED
    assert mine() == []


def test_cancelling_a_task_removes_its_container(docker_sandbox):
    async def main() -> None:
        task = asyncio.create_task(docker_sandbox.arun(Job(program=SLEEP)))
        assert await asyncio.to_thread(wait_until, a_box_runs)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert mine() == []


def test_ctrl_c_leaves_no_container(docker_image):
    program = f"""
from openmle_env.sandbox.docker import DockerSandbox
from openmle_env.types import Job
DockerSandbox({docker_image!r}).run(Job(program={SLEEP!r}))
"""
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL) as driver:
        owner = reaper.owner(driver.pid)
        try:
            assert wait_until(lambda: any(item["State"] == "running" for item in containers(owner)))
            driver.send_signal(signal.SIGINT)
            driver.wait(PATIENCE)
            assert not containers(owner)
        finally:
            driver.kill()


def test_closing_ends_every_run(docker_image):
    sandbox = DockerSandbox(docker_image)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(sandbox.run, Job(program=SLEEP)) for _ in range(2)]
        assert wait_until(lambda: sum(item["State"] == "running" for item in mine()) == 2)
        sandbox.close()
        sandbox.close()
        assert [item.result(PATIENCE).status for item in running] == [ResultStatus.CANCELLED] * 2
    assert mine() == []


def test_runs_side_by_side_do_not_mix(docker_sandbox):
    with ThreadPoolExecutor(4) as pool:
        jobs = [Job(program=f"print({number})", collect=()) for number in range(4)]
        assert [execution.stdout for execution in pool.map(docker_sandbox.run, jobs)] == ["0\n", "1\n", "2\n", "3\n"]
    assert mine() == []


def test_a_missing_image_names_the_command_that_builds_it(docker_engine):
    with pytest.raises(SandboxUnavailableError, match=r"build --name openmle-env-no-such"):
        DockerSandbox("openmle-env-no-such-image:1").run(Job(program=GOOD))
    assert mine() == []


def test_an_image_without_our_python_is_said_to_be_unusable(docker_image):
    with engine.connect() as client:
        answer = client.api.import_image_from_data(b"\0" * 10240, repository="openmle-env-test-empty", tag="1")
    assert "sha256" in answer
    try:
        with pytest.raises(SandboxUnavailableError, match="has no Python that works"):
            DockerSandbox("openmle-env-test-empty:1").run(Job(program=GOOD))
    finally:
        with engine.connect() as client:
            client.images.remove("openmle-env-test-empty:1")
    assert mine() == []


def test_an_input_that_the_user_inside_cannot_read_is_refused(docker_sandbox, tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "train.csv").write_text("x")
    (tmp_path / "train.csv").chmod(0o600)
    (tmp_path / "nowhere").symlink_to("missing")
    with pytest.raises(UsageError, match=r"chmod -R a\+rX"):
        docker_sandbox.run(Job(program=GOOD, inputs={"/data": tmp_path}))


def test_a_package_that_others_cannot_read_is_refused(docker_sandbox, tmp_path, monkeypatch):
    """As an installation under umask 077 leaves it."""
    (tmp_path / "supervisor.py").touch(mode=0o600)
    monkeypatch.setitem(docker._SUPERVISED, "/opt/openmle/inside", tmp_path)
    with pytest.raises(UsageError, match=r"chmod -R a\+rX"):
        docker_sandbox.run(Job(program=GOOD))


def test_a_reaper_that_fails_keeps_nobody_from_running(docker_sandbox, monkeypatch):
    def fail(client):
        raise SandboxUnavailableError("The Docker engine could not remove the image x: conflict")

    monkeypatch.setattr(reaper, "_collected", False)
    monkeypatch.setattr(reaper, "collect", fail)
    assert docker_sandbox.run(Job(program=GOOD)).status is ResultStatus.SUCCESS


def test_an_engine_that_goes_away_in_mid_run_is_no_failure_of_the_program(
    docker_image, monkeypatch, tmp_path, unavailable
):
    with cut_engine(monkeypatch, tmp_path, unavailable) as cut, ThreadPoolExecutor(1) as pool:
        running = pool.submit(DockerSandbox(docker_image).run, Job(program=SLEEP))
        assert wait_until(lambda: SLEEP.encode() in cut.seen)  # the job is in the box
        cut()
        execution = running.result(PATIENCE)
    assert execution.status is ResultStatus.SANDBOX_UNCONFIRMED
    assert execution.status.fault is Fault.INFRASTRUCTURE
    assert any("may be left" in note for note in execution.notes)
    assert wait_until(lambda: not mine())  # its stdin ended, and it with it


def test_nothing_is_left_of_a_driver_that_is_killed(docker_image):
    program = f"""
from openmle_env.sandbox.docker import DockerSandbox
from openmle_env.types import Job
DockerSandbox({docker_image!r}).run(Job(program={SLEEP!r}))
"""
    with subprocess.Popen([sys.executable, "-c", program]) as driver:
        owner = reaper.owner(driver.pid)
        try:
            assert wait_until(lambda: any(item["State"] == "running" for item in containers(owner)))
        finally:
            driver.send_signal(signal.SIGKILL)
    assert wait_until(lambda: not containers(owner))


def test_an_engine_that_freezes_in_mid_run_is_no_timeout_of_the_program(
    docker_image, monkeypatch, tmp_path, unavailable
):
    monkeypatch.setattr(box, "GRACE_SECONDS", 2.0)
    monkeypatch.setattr(engine, "GREET_SECONDS", 2)
    with cut_engine(monkeypatch, tmp_path, unavailable) as cut, ThreadPoolExecutor(1) as pool:
        job = Job(program=SLEEP, limits=Limits(wall_seconds=2))
        running = pool.submit(DockerSandbox(docker_image).run, job)
        assert wait_until(lambda: SLEEP.encode() in cut.seen)  # the job is in the box
        cut.freeze()
        execution = running.result(PATIENCE)
    assert execution.status is ResultStatus.SANDBOX_UNCONFIRMED, execution
    assert "engine does not answer" in execution.reason
    assert any("may be left" in note for note in execution.notes)
    assert wait_until(lambda: not mine())


class Cut:
    """A socket in front of the engine that can be cut: all connections end, and no new one is taken.

    Frozen it goes on taking connections, and nothing that was sent comes through.
    """

    def __init__(self, path: Path, target: str) -> None:
        self.seen = bytearray()
        self._target = target
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._wake, self._stop = socket.socketpair()
        self._frozen = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def freeze(self) -> None:
        self._frozen = True

    def __call__(self) -> None:
        self._stop.close()
        self._thread.join()

    def _serve(self) -> None:
        pairs: dict[socket.socket, socket.socket] = {}
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
            for own in (self._listener, self._wake):
                selector.register(stack.enter_context(own), selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    ready = key.fileobj
                    if ready is self._wake:
                        return
                    if ready is self._listener:
                        client = stack.enter_context(self._listener.accept()[0])
                        server = stack.enter_context(socket.socket(socket.AF_UNIX))
                        server.connect(self._target)
                        pairs |= {client: server, server: client}
                        selector.register(client, selectors.EVENT_READ)
                        selector.register(server, selectors.EVENT_READ)
                        continue
                    if self._frozen:
                        selector.unregister(ready)
                        continue
                    data = ready.recv(1 << 16)
                    with contextlib.suppress(OSError):  # the other side ended first
                        if data:
                            self.seen += data
                            pairs[ready].sendall(data)
                        else:
                            selector.unregister(ready)
                            pairs[ready].shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def cut_engine(monkeypatch, tmp_path, unavailable):
    with engine.connect() as client:
        target = client.api.base_url
    if target != "http+docker://localhost":
        unavailable("this test needs an engine behind a unix socket")
    real = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    cut = Cut(tmp_path / "engine.sock", real)
    with monkeypatch.context() as patch:
        patch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
        try:
            yield cut
        finally:
            cut()
