"""Ctrl-C, a kill, no engine, a full disk, a closed pipe: what a process of its own says, and that it leaves nothing."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.standin import RIGHT, ZEROS, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMAND = [sys.executable, "-c", "from openmle_env.main import main; main()"]
PATIENCE = 60
"""Seconds until a test gives up on what should happen at once."""

BACKENDS = [
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("docker", marks=pytest.mark.docker),
]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"still waiting for {what}"
        time.sleep(0.05)


def processes(name: str) -> list[int]:
    """Processes of this machine that call themselves ``name``, those in boxes included."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if path.read_text().strip() == name:
                found.append(int(path.parent.name))
    return found


def statuses_of(owner: str) -> list[str]:
    """Of each container of a driver."""
    import docker

    from openmle_env.sandbox.reaper import OWNER_LABEL

    client = docker.from_env()
    try:
        filters = {"label": f"{OWNER_LABEL}={owner}"}  # one may be gone before it is looked at
        return [item.status for item in client.containers.list(all=True, filters=filters, ignore_removed=True)]
    finally:
        client.close()


@pytest.fixture
def sleeper(tmp_path: Path) -> tuple[Path, str]:
    """A program that sleeps under a name by which the host finds it."""
    name = f"mle{secrets.token_hex(5)}"
    path = tmp_path / "sleeper.py"
    path.write_text(f"import time\nopen('/proc/self/comm', 'w').write({name!r})\ntime.sleep(600)\n")
    return path, name


@dataclass(frozen=True, kw_only=True)
class Running:
    """A driver whose first program was scored and whose second one sleeps right now."""

    driver: subprocess.Popen[str]
    backend: str
    owner: str
    """On its containers."""
    name: str
    """Of the process that sleeps."""

    def wait_until_nothing_is_left(self) -> None:
        wait_until(lambda: not processes(self.name), "the program to end")
        if self.backend == "docker":
            wait_until(lambda: not statuses_of(self.owner), "the container to be removed")


@pytest.fixture(params=BACKENDS)
def running(pack: Path, sleeper: tuple[Path, str], write, usable, request) -> Iterator[Running]:
    from openmle_env.sandbox import reaper

    usable(request.param)
    path, name = sleeper
    first = write(f"open('/output/submission.csv', 'w').write({RIGHT!r})\n")
    command = [*COMMAND, "run", str(pack), str(first), str(path), "--sandbox", request.param, "--json"]
    # Where the tests run in the background, SIGINT is ignored, and a child inherits that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        driver = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        wait_until(lambda: bool(processes(name)) or driver.poll() is not None, "the program to run")
        assert driver.poll() is None, driver.communicate()
        found = Running(driver=driver, backend=request.param, owner=reaper.owner(driver.pid), name=name)
        if request.param == "docker":
            # A driver that is killed between making a box and starting it leaves it to the reaper of the next run.
            wait_until(lambda: statuses_of(found.owner) == ["running"] * 2, "the program's box and the next one to run")
        yield found
    finally:
        driver.kill()
        driver.communicate()


def test_ctrl_c_ends_the_box_and_keeps_the_record(running: Running, tmp_path) -> None:
    os.killpg(running.driver.pid, signal.SIGINT)  # as a terminal does: to the whole group
    _, stderr = running.driver.communicate(timeout=PATIENCE)
    assert running.driver.returncode == 130
    assert "Stopped after 1 of 2 programs" in stderr
    assert "Traceback" not in stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert str(folder) in stderr
    (step,) = (folder / "steps.jsonl").read_text().splitlines()
    assert json.loads(step)["status"] == "success"
    running.wait_until_nothing_is_left()


def test_terminate_ends_the_box_and_is_told_as_json(running: Running) -> None:
    running.driver.terminate()
    stdout, stderr = running.driver.communicate(timeout=PATIENCE)
    assert running.driver.returncode == 128 + signal.SIGTERM, stderr
    assert "Traceback" not in stderr
    assert json.loads(stdout)["error"]["kind"] == "Terminated"
    running.wait_until_nothing_is_left()


def test_kill_of_the_driver_leaves_nothing_running_and_a_whole_record(running: Running, tmp_path) -> None:
    running.driver.kill()
    running.driver.communicate(timeout=PATIENCE)
    running.wait_until_nothing_is_left()
    (folder,) = (tmp_path / "runs").iterdir()
    assert [json.loads(line)["index"] for line in (folder / "steps.jsonl").read_text().splitlines()] == [1]
    assert not (folder / "final.json").exists()


@pytest.mark.parametrize("as_json", [False, True])
def test_missing_engine_is_one_line_and_exit_3(pack, write, as_json: bool) -> None:
    command = [*COMMAND, "run", str(pack), str(write("pass")), "--sandbox", "docker", *["--json"] * as_json]
    environment = {**os.environ, "DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    if as_json:
        assert json.loads(done.stdout)["error"]["fault"] == "infrastructure"


def test_full_disk_is_told_and_earlier_records_are_whole(pack, write, tmp_path, unavailable) -> None:
    if os.geteuid() != 0 or not shutil.which("unshare"):
        unavailable("only root can mount a small file system to fill")
    runs = tmp_path / "small"
    runs.mkdir()
    programs = [str(write(program(ZEROS))), str(write("x = 1\n" * 30_000))]
    run = [*COMMAND, "run", str(pack), *programs, "--sandbox", "scripted", "--runs", str(runs)]
    script = 'mount -t tmpfs -o size=64k none "$RUNS" || exit 77; "$@"; code=$?; cat "$RUNS"/*/steps.jsonl; exit $code'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *run],
        env={**os.environ, "RUNS": str(runs)}, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    if done.returncode == 77:
        unavailable(f"no file system can be mounted here: {done.stderr}")
    assert done.returncode == 3, done.stderr
    assert "No space is left" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["status"] == "success"


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["list", "--json"]], ids=" ".join)
def test_closed_pipe_is_no_traceback(arguments: list[str]) -> None:
    driver = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert driver.stdout is not None
    driver.stdout.close()
    assert driver.stderr is not None
    with driver.stderr:
        assert b"Traceback" not in driver.stderr.read()
    driver.wait(PATIENCE)


def shell(line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in which ``openmle`` is this checkout's."""
    script = f'openmle() {{ {shlex.join(COMMAND)} "$@"; }}\n{line}'
    environment = {**os.environ, **variables}
    return subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


@pytest.mark.parametrize("command", ["list --json", "list", "--version", "--help"])
@pytest.mark.parametrize(("target", "reason"), [("> /dev/full", "No space left"), (">&-", "Bad file descriptor")])
def test_output_that_cannot_be_written_is_one_line_and_exit_3(command: str, target: str, reason: str) -> None:
    done = shell(f"openmle {command} {target}")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr


@pytest.mark.parametrize("target", ["> /dev/full", ">&-"])
def test_an_error_keeps_its_exit_code_where_it_cannot_be_written(target: str) -> None:
    done = shell(f"openmle show titanci --json {target}")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Did you mean 'titanic'?" in done.stderr


def test_closed_stderr_does_no_harm() -> None:
    assert json.loads(shell("openmle list --json 2>&-").stdout)
    assert shell("openmle show titanci 2>&-").returncode == 2


def test_letters_that_the_terminal_lacks_are_replaced() -> None:
    done = shell("openmle show titanic", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    as_json = shell("openmle show titanic --json", PYTHONIOENCODING="latin-1")
    assert "\u03a3" in json.loads(as_json.stdout)["card"]
