"""Finding and making control groups, on copies of what kernels show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openmle_env.sandbox import cgroup
from openmle_env.types import Limits

MOUNTINFO = """\
30 24 0:26 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate
31 24 0:27 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory
32 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 24 0:29 / /tmp rw shared:5 - tmpfs tmpfs rw,size=4k
"""


def test_mounts_and_memberships() -> None:
    mounts = cgroup._mounts(MOUNTINFO)
    assert [(version, root, str(point)) for version, _, root, point in mounts] == [
        (2, "/", "/sys/fs/cgroup/unified"),
        (1, "/docker/abc", "/sys/fs/cgroup/memory"),
        (1, "/", "/sys/fs/cgroup/cpu,cpuacct"),
    ]
    assert "cpu" in mounts[2][1]
    memberships = cgroup._memberships("4:memory:/docker/abc/x\n3:cpu,cpuacct:/y\n1:name=systemd:/a:b\n0::/user.slice\n")
    assert memberships == {
        "memory": "/docker/abc/x",
        "cpu": "/y",
        "cpuacct": "/y",
        "name=systemd": "/a:b",
        "": "/user.slice",
    }


def test_a_group_below_a_partial_mount() -> None:
    point = Path("/sys/fs/cgroup/memory")
    assert cgroup._below(point, "/docker/abc", "/docker/abc/x") == point / "x"
    assert cgroup._below(point, "/docker/abc", "/elsewhere") == point


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("version", "controllers", "expected"),
    [
        (
            2,
            ("memory", "cpu", "pids"),
            {
                "memory.max": "104857600",
                "memory.swap.max": "0",
                "cpu.max": "150000 100000",
                "pids.max": "52",
            },
        ),
        (1, ("memory",), {"memory.limit_in_bytes": "104857600", "memory.memsw.limit_in_bytes": "104857600"}),
        (1, ("cpu",), {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"}),
    ],
)
def test_limits_are_written(
    tmp_path: Path, version: int, controllers: tuple[str, ...], expected: dict[str, str]
) -> None:
    for name in ("memory.swap.max", "memory.memsw.limit_in_bytes"):
        if name in expected:
            (tmp_path / name).touch()
    for controller in controllers:
        cgroup._set_limits(tmp_path, controller, version, Limits(memory_mb=100, cpus=1.5, processes=50))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == expected


@pytest.mark.parametrize(
    ("files", "kills", "peak"),
    [
        ({"memory.events": "low 0\noom 2\noom_kill 1\n", "memory.peak": "4096\n"}, 1, 4096),
        ({"memory.oom_control": "under_oom 0\noom_kill 3\n", "memory.max_usage_in_bytes": "77"}, 3, 77),
        ({}, 0, None),
    ],
)
def test_counters(tmp_path: Path, files: dict[str, str], kills: int, peak: int | None) -> None:
    fill(tmp_path, files)
    group = cgroup.Group((tmp_path,), frozenset({"memory"}))
    assert (group.oom_kills(), group.peak_bytes()) == (kills, peak)


def test_groups_of_dead_owners_are_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    mine = f"openmle-{os.getpid()}-{cgroup._start_time(os.getpid())}-1"
    reused = f"openmle-{os.getpid()}-1-1"  # the number is in use again, by another process
    for name in (f"openmle-{dead.pid}-5-1", mine, reused, "openmle-x-y-z", "other"):
        (tmp_path / name).mkdir()
    cgroup._sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {mine, "openmle-x-y-z", "other"}


def test_groups_of_this_machine_can_be_made_and_removed() -> None:
    group = cgroup.make(Limits())
    if group is None:
        assert cgroup.sites() == ()
        return
    assert group.controllers <= set(cgroup.CONTROLLERS)
    assert all(path.exists() for path in group.entrances)
    assert group.remove()
    assert not any(folder.exists() for folder in group.folders)
    assert group.remove()
