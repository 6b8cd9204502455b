"""The reaper: what is removed, what never is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine, reaper

HOUR = 3600.0
PATIENCE = 60.0


@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_an_owner_is_one_process_of_one_boot(child):
    name = reaper.owner(child.pid)
    assert name
    assert name == reaper.owner(child.pid)
    assert name != reaper.owner(os.getpid())
    child.kill()
    child.wait()
    assert reaper.owner(child.pid) != name


def test_a_zombie_owns_nothing(child):
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet reaped
    assert reaper.owner(child.pid) == ""


@pytest.fixture
def make(docker_image):
    """Makes a container, never started, with the given labels; removes what is left of all."""
    made = []

    def create(labels: dict[str, str]) -> str:
        with engine.connect() as client:
            made.append(client.api.create_container(docker_image, labels=labels)["Id"])
        return made[-1]

    yield create
    with engine.connect() as client:
        for container in client.api.containers(all=True):
            if container["Id"] in made:
                client.api.remove_container(container["Id"], v=True, force=True)


def exists(identity: str) -> bool:
    with engine.connect() as client:
        return any(item["Id"] == identity for item in client.api.containers(all=True))


@pytest.mark.docker
def test_a_container_of_a_dead_owner_is_removed_and_one_of_a_live_owner_is_not(make, child):
    of_dead = make({**reaper.labels(HOUR), reaper.OWNER_LABEL: reaper.owner(child.pid)})
    of_live = make(reaper.labels(HOUR))
    assert of_dead not in [item.id for item in reaper.gc()]
    assert exists(of_dead)
    child.kill()
    child.wait()
    reaper.gc()  # another process's reaper may be faster
    assert not exists(of_dead)
    assert exists(of_live)


@pytest.mark.docker
def test_a_container_past_its_time_is_removed_unless_its_owner_lives(make):
    """The clock may have been set since."""
    past = {reaper.EXPIRES_LABEL: str(int(time.time()) - 1)}
    elsewhere = make({**past, reaper.OWNER_LABEL: "another-boot/pid:[1] 1 1"})
    unknown = make(past)
    of_live = make({**reaper.labels(HOUR), **past})
    reaper.gc()
    assert [exists(item) for item in (elsewhere, unknown, of_live)] == [False, False, True]


@pytest.mark.docker
def test_what_is_not_ours_or_not_of_this_machine_is_left_alone(make):
    elsewhere = make({**reaper.labels(HOUR), reaper.OWNER_LABEL: "another-boot/pid:[1] 1 1"})
    unknown = make({**reaper.labels(HOUR), reaper.OWNER_LABEL: ""})
    malformed = make({reaper.OWNER_LABEL: "?", reaper.EXPIRES_LABEL: "soon"})
    foreign = make({})
    reaper.gc()
    assert [exists(item) for item in (elsewhere, unknown, malformed, foreign)] == [True] * 4


@pytest.mark.docker
def test_it_runs_once_by_itself_in_each_process(make, monkeypatch):
    monkeypatch.setattr(reaper, "_collected", False)
    old = {reaper.EXPIRES_LABEL: "1"}
    first = make(old)
    with engine.connect() as client:
        reaper.collect_once(client)
    assert not exists(first)
    calls = []
    monkeypatch.setattr(reaper, "collect", calls.append)
    with engine.connect() as client:
        reaper.collect_once(client)
    assert calls == []


def test_in_the_background_it_runs_until_its_last_user_has_left(monkeypatch):
    calls, seen = [], threading.Event()

    def gc():
        calls.append(threading.current_thread())
        seen.set()
        raise SandboxUnavailableError("The engine is away.")

    monkeypatch.setattr(reaper, "gc", gc)
    monkeypatch.setattr(reaper, "BACKGROUND_SECONDS", 0.01)
    monkeypatch.setattr(reaper, "_background", reaper._Background())  # that of this process may be running
    first, second = reaper.start_background(), reaper.start_background()
    first()
    first()
    seen.clear()
    assert seen.wait(PATIENCE)  # for the second
    (thread,) = set(calls)
    assert thread.daemon
    second()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    third = reaper.start_background()
    seen.clear()
    assert seen.wait(PATIENCE)
    third()
    assert len(set(calls)) == 2


def test_a_forked_child_has_no_reaper_and_may_start_its_own(monkeypatch):
    monkeypatch.setattr(reaper, "BACKGROUND_SECONDS", 1000)
    end = reaper.start_background()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            before = [thread.name for thread in threading.enumerate()]
            reaper.start_background()
            after = [thread.name for thread in threading.enumerate()]
            code = 0 if ("openmle-reaper" in before, "openmle-reaper" in after) == (False, True) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    end()
