"""A driver that forks during a run, and is then killed: the fork's copies of its descriptors keep no box."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from openmle_env.sandbox import engine, reaper
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from tests.sandbox.processes import alive, descendants, runs_a_program, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DRIVER = """
import os, sys, threading, time
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.sandbox.docker import DockerSandbox
from openmle_env.types import Job
sandbox = {"bubblewrap": BubblewrapSandbox, "docker": DockerSandbox}[sys.argv[1]]()
job = Job(program="import time\\ntime.sleep(600)")
threading.Thread(target=sandbox.run, args=(job,), daemon=True).start()
input()
child = os.fork()
if child == 0:
    sandbox.close()  # nothing here is its own to end
    os.write(1, b"closed\\n")  # in one piece: two processes write to one pipe
    time.sleep(600)
os.write(1, b"%d\\n" % child)
time.sleep(600)
"""


@pytest.fixture
def driver(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", DRIVER, request.param]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def fork(driver: subprocess.Popen[str]) -> int:
    """Have the driver fork in mid-run, and wait until its child has closed the sandbox; returns the child's number."""
    assert driver.stdin is not None
    assert driver.stdout is not None
    driver.stdin.write("\n")
    driver.stdin.flush()
    lines = {driver.stdout.readline().strip() for _ in range(2)}
    assert "closed" in lines
    return int((lines - {"closed"}).pop())


@pytest.mark.bubblewrap
@pytest.mark.parametrize("driver", ["bubblewrap"], indirect=True)
def test_bubblewrap(driver: subprocess.Popen[str], usable: Callable[[str], None]) -> None:
    usable("bubblewrap")
    assert wait_until(lambda: runs_a_program(driver.pid))
    box = descendants(driver.pid)
    child = fork(driver)
    try:
        assert alive(box) == box
        driver.kill()
        driver.wait()
        assert wait_until(lambda: not alive(box)), alive(box)
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_closing_in_a_child_ends_no_run_of_its_parent() -> None:
    """Whatever a run has registered may need a lock that another thread of the parent held."""
    for close_before in (False, True):
        sandbox, ended = BubblewrapSandbox(), []
        if close_before:
            sandbox.close()
        else:
            sandbox._closing.on_cancel(lambda ended=ended: ended.append("run"))
        sandbox.abandon()  # as in a forked child
        assert sandbox._closed == close_before
        sandbox.close()
        assert ended == []


FORKS_DURING_A_START = """
import os, subprocess, sys, threading
from openmle_env.sandbox import cgroup, forks
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.types import Job
cgroup.make = lambda limits, **_: None
sandbox, job = BubblewrapSandbox(), Job(program="print(1)", collect=())
sandbox.run(job)
class Broken:
    def abandon(self):
        raise OSError
broken = Broken()
forks.abandon_in_forks(broken)
def fork():
    child = os.fork()
    if child == 0:
        names = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
        sockets = [name for name in names if os.path.lexists(name) and os.readlink(name).startswith("socket:")]
        if not os.fork():  # its lock is as it was
            os._exit(len(sockets))
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
def popen(*arguments, **options):
    threads.append(threading.Thread(target=fork))
    threads[-1].start()
    threads[-1].join(0.3)
    print(codes)
    return real(*arguments, **options)
real, subprocess.Popen = subprocess.Popen, popen
codes, threads = [], []
print(sandbox.run(job).stdout.strip())
threads[0].join()
print(codes)
"""


@pytest.mark.bubblewrap
def test_a_fork_while_a_box_starts(usable: Callable[[str], None]) -> None:
    """It waits until nothing is open that the fork would not close, and nothing waits for it."""
    usable("bubblewrap")
    command = [sys.executable, "-c", FORKS_DURING_A_START]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split("\n") == ["[]", "1", "[0]", ""], done.stdout


@pytest.mark.docker
@pytest.mark.parametrize("driver", ["docker"], indirect=True)
def test_docker(docker_image: str, driver: subprocess.Popen[str]) -> None:
    owner = reaper.owner(driver.pid)

    def states() -> list[str]:
        with engine.connect() as client:
            found = client.api.containers(all=True, filters={"label": f"{reaper.OWNER_LABEL}={owner}"})
        return [item["State"] for item in found]

    assert wait_until(lambda: states() == ["running"])
    child = fork(driver)
    try:
        assert states() == ["running"]
        driver.kill()
        driver.wait()
        assert wait_until(lambda: not states())
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
