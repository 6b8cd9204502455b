"""A device is lent again only when it was left clean."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from openmle_env import scratch
from openmle_env.errors import SandboxUnavailableError, UnknownNameError
from openmle_env.sandbox.gpus import leaks, leases, places
from openmle_env.sandbox.gpus.leases import Terms, take
from openmle_env.sandbox.gpus.survey import survey
from tests.sandbox.gpus.standin import devices, gpu

TERMS = Terms(settle_seconds=0.05, linger_seconds=0.0)
ONLY = devices(1)
UUID = ONLY[0].uuid


def get(**more):
    return take(1, **{"seconds": 600.0, "wait": 0.0, "devices": ONLY, "terms": TERMS, **more})


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(leases, "RECHECK_SECONDS", 0.05)


def test_memory_that_comes_back_is_no_leak(smi, folder, monkeypatch):
    get().release()
    smi.change(0, used=40_000)
    looks = []
    real = leaks.usage.look

    def look(wanted):
        looks.append(1)
        if len(looks) == 3:
            smi.change(0, used=4 + leaks.MARGIN_MB)
        return real(wanted)

    monkeypatch.setattr(leaks.usage, "look", look)
    get(terms=Terms(settle_seconds=60.0)).release()
    assert len(looks) == 3
    assert leaks.read(folder)[UUID].base_mb == 4
    assert leaks.read(folder)[UUID].quarantine == ""


def test_a_leak_puts_a_device_into_quarantine_until_its_memory_is_back(smi, folder):
    get().release()
    smi.change(0, used=5000)
    with pytest.raises(SandboxUnavailableError, match="quarantined: 5000 MiB are in use, 4996 more than before"):
        get()
    state = leaks.read(folder)[UUID]
    assert state.quarantine
    assert abs(state.since - time.time()) < 600
    with pytest.raises(SandboxUnavailableError, match="quarantined"):
        get(wait=0.2)
    assert leaks.read(folder)[UUID].since == state.since
    smi.change(0, used=90)
    get(wait=30).release()
    assert leaks.read(folder)[UUID].quarantine == ""


def test_the_others_are_lent_meanwhile(smi):
    both = devices(2)
    get(devices=both, terms=TERMS).release()
    smi.change(0, used=5000)
    with take(1, seconds=600, wait=30, terms=TERMS) as other:
        assert other.devices[0].index == "1"
    with pytest.raises(SandboxUnavailableError, match=r"0 .* is quarantined"):
        take(2, seconds=600, wait=0, terms=TERMS)


def test_a_process_that_stays_is_a_leak_even_without_memory(smi):
    get().release()
    smi.change(0, processes=[[os.getpid(), "/usr/bin/python3"]])
    with pytest.raises(SandboxUnavailableError, match=rf"process {os.getpid()} \(/usr/bin/python3\) computes on it"):
        get()
    smi.change(0, processes=[])
    get(wait=30).release()


def test_what_was_there_before_belongs_to_others(smi):
    smi.change(0, used=3000, processes=[[os.getpid(), "nvidia-cuda-mps-server"]])
    for _ in range(2):
        get().release()
    smi.change(0, used=4, processes=[])  # the base falls with them
    get().release()
    smi.change(0, used=3000)
    with pytest.raises(SandboxUnavailableError, match="2996 more"):
        get()


def test_a_number_that_another_process_has_now_is_another_process(smi):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as old:
        smi.change(0, processes=[[old.pid, "old"]])
        get().release()
        old.stdin.close()
    # Its number cannot be told from a later one's by the number alone; it is not among the living with its start time.
    smi.change(0, processes=[[old.pid, "new"]])
    with pytest.raises(SandboxUnavailableError, match="new"):
        get()


def test_a_device_that_needs_a_reset(smi):
    smi.change(0, used="[GPU requires reset]")
    with pytest.raises(SandboxUnavailableError, match="the driver says: GPU requires reset"):
        get()


def test_memory_that_is_not_told_is_not_watched(smi):
    smi.change(0, used="[N/A]")
    for _ in range(2):
        get().release()


def test_with_sharing_it_is_the_last_one_who_leaves_that_counts(smi):
    terms = Terms(sharing=2, settle_seconds=0.05)
    first = get(terms=terms)
    smi.change(0, used=50_000, processes=[[1, "python3"]])
    second = get(terms=terms)  # nobody looks at what the first one uses
    first.release()
    third = get(terms=terms)
    second.release()
    third.release()
    with pytest.raises(SandboxUnavailableError, match="quarantined"):
        get(terms=terms)


def test_releasing_by_hand_takes_what_is_there_as_the_base(smi, folder):
    get().release()
    smi.change(0, used=5000)
    with pytest.raises(SandboxUnavailableError):
        get()
    with pytest.raises(UnknownNameError, match=f"Quarantined: {UUID}"):
        leaks.release_quarantine("GPU-other")
    leaks.release_quarantine(UUID)
    get().release()
    assert leaks.read(folder)[UUID].base_mb == 5000
    with pytest.raises(UnknownNameError, match="Quarantined: none"):
        leaks.release_quarantine(UUID)


def test_one_that_was_released_and_lent_meanwhile_is_not_closed_again(smi, folder, monkeypatch):
    """Between the look of one process at a quarantined device and its verdict, another may have lent it."""
    get().release()
    smi.change(0, used=5000)
    with pytest.raises(SandboxUnavailableError):
        get()
    real = leaks.usage.look

    def look(wanted):
        seen = real(wanted)
        monkeypatch.setattr(leaks.usage, "look", real)
        smi.change(0, used=4)
        get(wait=30)
        return seen

    monkeypatch.setattr(leaks.usage, "look", look)
    leaks.recheck(folder, ONLY)
    assert leaks.read(folder)[UUID].quarantine == ""


def test_of_several_users_words_the_newest_counts_and_of_another_boot_none(folder):
    places.prepare()

    def write(user: int, **more) -> None:
        state = {"uuid": UUID, "at": 0.0, "base_mb": 1, "processes": [], "quarantine": "", "since": 0.0, "cleared": []}
        line = json.dumps({**state, "boot": scratch.machine(), **more})
        (folder / f"device-{UUID}.{user}.json").write_text(f"{line}\n")

    write(1001, at=5.0, quarantine="old\x1b[31m")
    assert leaks.read(folder)[UUID].quarantine == "old?[31m"
    write(1002, at=6.0)
    assert leaks.read(folder)[UUID].quarantine == ""
    write(1003, at=time.time() + 1e6, quarantine="a clock that was ahead")
    leaks.release_quarantine(UUID)
    assert leaks.read(folder)[UUID].quarantine == ""
    write(1004, at=time.time() + 1e7, boot="another", quarantine="before")
    assert leaks.read(folder)[UUID].quarantine == ""


def test_a_file_that_another_put_in_its_place(smi, folder, monkeypatch):
    places.prepare()
    (folder / f"device-{UUID}.{os.getuid()}.json").mkdir()
    with pytest.raises(SandboxUnavailableError, match="sudo rm"):
        get()
    assert [path.name for path in folder.iterdir() if not path.is_dir()] == []


def test_survey_shows_who_has_what_and_why_one_is_not_lent(smi, folder, monkeypatch):
    rows = survey()
    assert not folder.exists()
    assert [(row.device.index, row.used_mb, row.lent, row.holders, row.quarantine) for row in rows] == [
        ("0", 4, True, (), ""),
        ("1", 4, True, (), ""),
    ]
    monkeypatch.setenv("OPENMLE_GPUS", "0")
    get().release()
    smi.change(0, used=5000, processes=[[7, 'a, "b']])
    with pytest.raises(SandboxUnavailableError):
        get()
    with take(1, seconds=600, devices=devices(2)[1:], terms=TERMS, words="titanic"):
        first, second = survey()
    assert "computes on it" in first.quarantine
    assert first.processes == ('process 7 (a, "b)',)
    assert (first.lent, second.lent) == (True, False)
    assert f"process {os.getpid()} of" in second.holders[0]
    assert "titanic" in second.holders[0]
    smi.change(0, used=4, processes=[])
    first, second = survey()
    assert (first.quarantine, second.holders) == ("", ())
    monkeypatch.setenv("OPENMLE_GPUS", "all")
    smi.set(gpus=[])
    assert survey() == []
    smi.set(gpus=[gpu(0)], fail="Failed to initialize NVML: Driver Not Loaded")
    with pytest.raises(SandboxUnavailableError, match="modprobe"):
        survey()
