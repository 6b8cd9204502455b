"""Leases between threads and processes: who has a device, who waits, and what ends both."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from openmle_env.errors import SandboxUnavailableError, UsageError
from openmle_env.sandbox.gpus import leases, places, records
from openmle_env.sandbox.gpus.leases import LeaseCancelledError, Terms, take
from openmle_env.sandbox.gpus.survey import survey
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.types import Fault
from tests.sandbox.gpus.standin import devices, gpu
from tests.sandbox.processes import wait_until

QUICK = Terms(settle_seconds=0.1, linger_seconds=0.0)
LONG = 600.0
"""Seconds that no test waits."""


@pytest.fixture(autouse=True)
def _gpus(smi):
    pass


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*request-*"))


def waiting(folder: Path) -> int:
    return sum(entry.waits() for entry in records.read(folder))


def test_two_programs_get_two_devices_and_the_third_waits_in_vain(folder):
    with take(1, seconds=LONG, words="titanic") as one, take(1, seconds=LONG, words="a\nbike") as two:
        assert {one.devices[0].uuid, two.devices[0].uuid} == {item.uuid for item in devices(2)}
        with pytest.raises(SandboxUnavailableError) as caught:
            take(1, seconds=LONG, wait=0.1)
    said = str(caught.value)
    assert said.count(f"process {os.getpid()} of") == 2
    assert "titanic" in said
    assert "a bike" in said
    assert all(item.uuid in said for item in devices(2))
    assert files(folder) == []
    take(1, seconds=LONG, wait=0.1).release()


def test_one_that_waits_gets_the_device_when_it_is_released(folder):
    first = take(2, seconds=LONG)
    with ThreadPoolExecutor() as pool:
        second = pool.submit(take, 1, seconds=LONG)
        assert wait_until(lambda: waiting(folder) == 1)
        assert not second.done()
        first.release()
        first.release()
        second.result(timeout=60).release()


def test_all_or_none_and_first_come_first_served(folder):
    """One that wants two holds nothing while it waits, and what is free meanwhile is kept for it."""
    held = take(1, seconds=LONG)
    with ThreadPoolExecutor() as pool:
        both = pool.submit(take, 2, seconds=LONG)
        assert wait_until(lambda: waiting(folder) == 1)
        with pytest.raises(SandboxUnavailableError, match="with 1 older requests waiting"):
            take(1, seconds=LONG, wait=0.2)
        assert not both.done()
        later = pool.submit(take, 1, seconds=LONG)
        assert wait_until(lambda: waiting(folder) == 2)
        held.release()
        taken = both.result(timeout=60)
        assert {item.uuid for item in taken.devices} == {item.uuid for item in devices(2)}
        assert not later.done()
        taken.release()
        later.result(timeout=60).release()


def test_what_an_older_request_cannot_use_is_not_kept_for_it(folder):
    zero, one = devices(2)
    held = take(1, seconds=LONG, devices=[zero])
    with ThreadPoolExecutor() as pool:
        older = pool.submit(take, 1, seconds=LONG, devices=[zero])
        assert wait_until(lambda: waiting(folder) == 1)
        take(1, seconds=LONG, wait=0, devices=[zero, one]).release()
        held.release()
        older.result(timeout=60).release()


def test_cancelling_ends_the_wait(folder):
    token = CancelToken()
    with take(2, seconds=LONG), ThreadPoolExecutor() as pool:
        waits = pool.submit(take, 1, seconds=LONG, cancel=token)
        assert wait_until(lambda: waiting(folder) == 1)
        token.cancel()
        with pytest.raises(LeaseCancelledError, match="cancelled while it waited for a GPU") as caught:
            waits.result(timeout=60)
        assert caught.value.fault is Fault.INFRASTRUCTURE
    with pytest.raises(LeaseCancelledError):
        take(1, seconds=LONG, cancel=token)
    assert files(folder) == []


def test_cancelling_ends_the_wait_for_the_folder(folder):
    places.prepare(folder)
    token = CancelToken()
    with places.locked(folder), ThreadPoolExecutor() as pool:
        waits = pool.submit(take, 1, seconds=LONG, cancel=token)
        token.cancel()
        with pytest.raises(LeaseCancelledError):
            waits.result(timeout=20)


def test_three_share_one_device_and_no_fourth():
    terms = Terms(sharing=3)
    only = devices(1)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            shared = stack.enter_context(take(1, seconds=LONG, devices=only, terms=terms))
            assert shared.sharing == 3
        with pytest.raises(SandboxUnavailableError, match="GPU-00000000"):
            take(1, seconds=LONG, wait=0.1, devices=only, terms=terms)


def test_sharing_spreads_and_the_setting_counts(monkeypatch):
    monkeypatch.setenv("OPENMLE_GPU_SHARING", "2")
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(take(1, seconds=LONG)).devices[0].index for _ in range(4)]
        assert found[:2] in (["0", "1"], ["1", "0"])
        assert sorted(found) == ["0", "0", "1", "1"]
        with pytest.raises(SandboxUnavailableError):
            take(1, seconds=LONG, wait=0)


def test_who_shares_with_nobody_is_left_alone():
    """The strictest of those on a device counts, whatever the setting of the one who comes."""
    only = devices(1)
    for first, second in ((1, 3), (3, 1)):
        with (
            take(1, seconds=LONG, devices=only, terms=Terms(sharing=first)),
            pytest.raises(SandboxUnavailableError),
        ):
            take(1, seconds=LONG, wait=0, devices=only, terms=Terms(sharing=second))


def test_a_lease_whose_time_is_over_does_not_keep_the_device(folder):
    """Its owner lives and is stuck; its box is over by a clock of its own, and the device is looked at."""
    only = devices(1)
    stuck = take(1, seconds=0.01, devices=only, terms=QUICK)
    time.sleep(0.05)
    with take(1, seconds=LONG, wait=30, devices=only, terms=QUICK) as second:
        with pytest.raises(SandboxUnavailableError, match="stood still"):
            stuck.confirm()
        second.confirm()
        stuck.release()
        with pytest.raises(SandboxUnavailableError):
            take(1, seconds=LONG, wait=0, devices=only, terms=QUICK)


def test_a_device_that_a_stuck_owner_still_uses_is_not_lent(smi, folder):
    only = devices(1)
    take(1, seconds=0.01, devices=only, terms=QUICK)
    smi.change(0, used=9000)
    time.sleep(0.05)
    with pytest.raises(SandboxUnavailableError, match="quarantined: 9000 MiB are in use, 8996 more"):
        take(1, seconds=LONG, wait=0.1, devices=only, terms=QUICK)


def test_none_is_granted_without_a_look(monkeypatch, tmp_path, folder):
    monkeypatch.setenv("PATH", str(tmp_path))
    with take(0, seconds=LONG) as nothing:
        assert nothing.devices == ()
        nothing.confirm()
    assert not folder.exists()


@pytest.mark.parametrize(("count", "seconds"), [(-1, 1.0), (1, 0.0), (1, -1.0), (1, float("nan"))])
def test_impossible_requests(count, seconds):
    with pytest.raises(UsageError):
        take(count, seconds=seconds)


def test_more_than_there_are_is_refused_at_once(monkeypatch):
    monkeypatch.setenv("OPENMLE_GPUS", "1")
    with pytest.raises(SandboxUnavailableError, match=r"needs 2 GPUs.*may lend 1 .*OPENMLE_GPUS=1"):
        take(2, seconds=LONG)
    monkeypatch.setenv("OPENMLE_GPUS", "none")
    with pytest.raises(SandboxUnavailableError, match=r"needs 1 GPU, .*may lend 0"):
        take(1, seconds=LONG)


def test_whole_gpus_come_before_instances(smi):
    part = {"uuid": "MIG-1", "profile": "1g.18gb", "total": 16384, "used": 1}
    smi.set(gpus=[gpu(0, parts=[part]), gpu(1), gpu(2)])
    with take(2, seconds=LONG) as taken:
        assert [item.kind for item in taken.devices] == ["gpu", "gpu"]


# Processes

DRIVER = """
import os, sys, time
from pathlib import Path
from openmle_env.sandbox.gpus import leases, places
from tests.sandbox.gpus.standin import devices
folder = Path(sys.argv[1])
terms = leases.Terms(settle_seconds=0.1, linger_seconds=0.0)
if sys.argv[2] != "":
    leases.take(1, seconds=1, folder=folder.parent / "warm", devices=devices(1)).release()  # imports what it needs
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
os.umask(0o077)
held = leases.take(1, seconds=600, folder=folder, devices=devices(1), terms=terms, words="driver")
os.write(1, b"held\\n")
command = input()
if command == "fork":
    child = os.fork()
    if child == 0:
        held.release()
        os.write(1, b"forked %d\\n" % os.getpid())
    time.sleep(600)
held.release()
"""


@contextlib.contextmanager
def driver(folder: Path, user: str = ""):
    """Another process that has the first device."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), user], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def command(process: subprocess.Popen[str], word: str) -> None:
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


def test_a_killed_driver_holds_nothing_and_its_box_gets_time_to_end(folder, monkeypatch):
    slept = []
    real = leases._Waiting.sleep
    monkeypatch.setattr(leases._Waiting, "sleep", lambda self, seconds: slept.append(seconds) or real(self, seconds))
    with driver(folder) as process:
        with pytest.raises(SandboxUnavailableError, match=f"process {process.pid} of .* for driver"):
            take(1, seconds=LONG, wait=0, devices=devices(1), terms=QUICK)
        process.kill()
        process.wait()
    terms = Terms(settle_seconds=0.1, linger_seconds=0.123)
    for times in (1, 1):  # the second one knows that it is over
        take(1, seconds=LONG, wait=30, devices=devices(1), terms=terms).release()
        assert slept.count(0.123) == times
    assert files(folder) == []


def test_the_time_to_end_is_not_over_before_somebody_waited(folder):
    with driver(folder) as process:
        process.kill()
        process.wait()
    token = CancelToken()
    with ThreadPoolExecutor() as pool:
        terms = Terms(linger_seconds=LONG)
        first = pool.submit(take, 1, seconds=LONG, devices=devices(1), terms=terms, cancel=token)
        assert wait_until(lambda: len(files(folder)) == 2)
        assert not first.done()
        token.cancel()
        with pytest.raises(LeaseCancelledError):
            first.result(timeout=60)
    assert len(files(folder)) == 1
    # A device that nobody was killed on comes first.
    with take(1, seconds=LONG, wait=30, terms=terms) as other:
        assert other.devices[0].index == "1"


def test_a_forked_child_keeps_no_lease(folder):
    with driver(folder) as process:
        command(process, "fork")
        child = int(process.stdout.readline().split()[1])
        try:
            with pytest.raises(SandboxUnavailableError):  # the child's release ends nothing
                take(1, seconds=LONG, wait=0, devices=devices(1), terms=QUICK)
            process.kill()
            process.wait()
            take(1, seconds=LONG, wait=30, devices=devices(1), terms=QUICK).release()
            os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize("killed", [False, True])
def test_users_share_the_leases(monkeypatch, killed):
    """Neither can write the other's files, nor has to."""
    with tempfile.TemporaryDirectory() as made:
        public = Path(made)
        public.chmod(0o1777)
        script = public / "nvidia-smi"
        first, *_ = devices(1)
        script.write_text(f'#!/bin/sh\ncase "$1" in --query-gpu=*) echo "{first.uuid}, 4";; esac\n')
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{public}:{os.environ['PATH']}")
        folder = public / "leases"
        take(1, seconds=LONG, folder=folder, devices=[first], terms=QUICK).release()
        with driver(folder, "65534") as process:
            with pytest.raises(SandboxUnavailableError, match=f"process {process.pid} of"):
                take(1, seconds=LONG, wait=0, folder=folder, devices=[first], terms=QUICK)
            if killed:
                process.kill()
                process.wait()
            else:
                command(process, "end")
            with take(1, seconds=LONG, wait=30, folder=folder, devices=[first], terms=QUICK):
                pass
        with driver(folder) as process:
            process.kill()
            process.wait()
        with driver(folder, "65534"):  # what a killed user left can be read by others, whatever its umask was
            pass


# Files of others


def test_rubbish_that_nobody_locks_is_ignored(folder, tmp_path):
    places.prepare(folder)
    target = tmp_path / "target"
    target.write_text("mine")
    (folder / "request-1.json").write_bytes(b"\xff\x00{")
    (folder / "request-2.json").write_text("")
    (folder / "request-3.json").symlink_to(target)
    (folder / "request-4.json").mkdir()
    os.mkfifo(folder / "request-5.json")
    (folder / "request-6.json").write_text('{"ticket": 1e999}\n')
    (folder / "device-x.json").symlink_to(target)
    (folder / "device-y.json").write_text('{"boot": [1]}\n')
    with take(2, seconds=LONG, wait=0):
        pass
    assert target.read_text() == "mine"


def test_a_locked_file_that_cannot_be_read_may_hold_anything(folder):
    places.prepare(folder)
    path = folder / "request-1.json"
    path.write_text("{}\n")
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SandboxUnavailableError, match=f"{path} is locked and cannot be read"):
            take(1, seconds=LONG, wait=0)
    take(1, seconds=LONG, wait=0).release()


@pytest.mark.parametrize("since", ["NaN", "Infinity", "1e300", "-1e12"])
def test_a_time_that_is_none_is_no_record(folder, since):
    """Whoever shows who has what would fail at it."""
    with take(1, seconds=LONG):
        (path,) = folder.glob("request-*")
        path.write_text(path.read_text().replace('"since": ', f'"since": {since}, "was": '))
        with pytest.raises(SandboxUnavailableError, match="cannot be read"):
            take(1, seconds=LONG, wait=0)
        survey()


def test_what_a_process_left_that_was_killed_while_it_wrote_is_removed(folder):
    places.prepare(folder)
    (folder / f"{places.NEW}1").write_text("half")
    take(1, seconds=LONG).release()
    assert not list(folder.glob(f"{places.NEW}*"))


def test_a_full_disk(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(SandboxUnavailableError, match=r"No space left on device.*Free some space"):
        take(1, seconds=LONG)
    assert list(folder.iterdir()) == []


def test_a_driver_that_fails_leaves_nothing(smi, folder):
    choice = devices(2)
    smi.set(gpus=[], fail="Failed to initialize NVML: Driver/library version mismatch")
    with pytest.raises(SandboxUnavailableError, match="version mismatch"):
        take(1, seconds=LONG, devices=choice)
    assert files(folder) == []


def test_threads_never_share_a_device(folder):
    inside, worst, lock = {item.uuid: 0 for item in devices(2)}, [], threading.Lock()

    def run(number: int) -> None:
        with take(1 + number % 2, seconds=LONG, terms=QUICK) as taken:
            for item in taken.devices:
                with lock:
                    inside[item.uuid] += 1
                    worst.append(inside[item.uuid])
            time.sleep(0.002)
            for item in taken.devices:
                with lock:
                    inside[item.uuid] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(12)))
    assert worst == [1] * 18
