"""What a program left in the folders of its box goes before the next program comes."""

from __future__ import annotations

import os
import socket
import struct
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from openmle_env.sandbox.inside import sweep, watch
from openmle_env.sandbox.inside.processes import Ended, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "work"
    place.mkdir(mode=0o755)
    yield place
    place.chmod(0o755)


def empty(folder: Path, mode: int = 0o40755) -> bool:
    return sweep.empty([str(folder)], {str(folder): mode})


def test_all_kinds_of_files(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (folder / "link").symlink_to(outside)
    (folder / "nowhere").symlink_to("missing")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket"))
    (folder / "closed").mkdir()
    (folder / "closed" / "inner").mkdir()
    (folder / "closed" / "inner" / "file").touch(mode=0o000)
    (folder / "closed" / "inner").chmod(0o000)
    (folder / "closed").chmod(0o000)
    (folder / os.fsdecode(b"\xff\xfe")).mkdir()
    (folder / os.fsdecode(b"\xff\xfe") / os.fsdecode(b"\xff0-1")).mkdir()
    (folder / ("n" * 255)).touch()
    assert empty(folder)
    assert list(folder.iterdir()) == []
    assert (outside / "kept").exists()


def test_folders_deeper_than_any_path(folder: Path) -> None:
    start = os.open(folder, os.O_RDONLY)
    here = start
    for _ in range(3000):
        os.mkdir("d" * 50, dir_fd=here)
        inner = os.open("d" * 50, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    assert empty(folder)
    assert list(folder.iterdir()) == []


def test_the_folder_itself_is_as_it_was(folder: Path) -> None:
    folder.chmod(0o700)
    assert empty(folder)
    assert folder.stat().st_mode == 0o40755


def test_permissions_that_new_files_are_given_go(folder: Path, unavailable: Callable[[str], NoReturn]) -> None:
    entries = [(1, 0, -1), (2, 7, 12345), (4, 0, -1), (16, 7, -1), (32, 0, -1)]  # tag, permissions, user
    said = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(folder, "system.posix_acl_default", said)
    except OSError as error:
        unavailable(f"not on this file system: {error}")
    assert empty(folder)
    assert os.listxattr(folder) == []


def test_what_cannot_be_removed_is_told(folder: Path) -> None:
    """Two that come to the same name by being moved up: the box is then not used again."""
    (folder / "a" / "inner").mkdir(parents=True)
    (folder / os.fsdecode(b"\xff%d-1" % os.getpid()) / "full").mkdir(parents=True)
    (folder / os.fsdecode(b"\xff%d-1" % os.getpid()) / "full" / "file").touch()
    emptied = empty(folder)
    assert emptied == (list(folder.iterdir()) == [])


def a_run(notices: int) -> watch.Run:
    """Of a program, process 7, forked from process 5."""
    waiting: Any = SimpleNamespace(spare=5, notices=notices)
    waiting.read_notice = lambda: Ended(*map(int, os.read(notices, 64).split()))
    program = Program(7, *(os.open(os.devnull, os.O_RDONLY) for _ in range(3)))
    job = {"memory_bytes": 1, "socket_bytes": 1, "files": 1, "locks": 1, "log_bytes": 1}
    return watch.Run(program, job, [], waiting, None)


@pytest.mark.parametrize("living", [[], [8]])
def test_a_box_with_processes_that_do_not_end_is_not_used_again(living: list[int], monkeypatch) -> None:
    """Nor where the end of the program itself is told only later: after the next program has begun."""
    monkeypatch.setattr(watch, "END_SECONDS", 0.5)
    monkeypatch.setattr(watch, "others", lambda _: living)
    for name in ("_kill", "_wake_spare"):
        monkeypatch.setattr(watch.Run, name, lambda _: None)
    monkeypatch.setattr(watch.Run, "_reap", lambda _: True)
    notices, notify = os.pipe()
    run = a_run(notices)
    late = threading.Timer(0.2, os.write, (notify, b"7 9 0 0"))
    late.start()
    run._kill_everything()
    late.join()
    run.close()
    os.close(notify)
    os.close(notices)
    assert run.exit_code == -9
    assert run.remains == bool(living)


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    assert not empty(tmp_path / "missing")
