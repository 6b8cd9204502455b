from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from openmle_env import scratch

OWNER = """
import sys
from openmle_env import scratch
with scratch.folder() as folder:
    (folder / "answers.csv").write_text("secret")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_folder_is_private_and_goes_away(home: Path) -> None:
    with scratch.folder() as folder:
        assert folder.parent == home / scratch.NAME
        assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)} == {0o700}
        (folder / "a").write_text("x")
    assert list((home / scratch.NAME).iterdir()) == []


@pytest.mark.parametrize("by_making", [False, True])
def test_what_a_killed_process_left_is_removed_and_what_others_use_is_not(home: Path, *, by_making: bool) -> None:
    with scratch.folder() as own:
        with subprocess.Popen(
            [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as owner:
            assert owner.stdout
            theirs = Path(owner.stdout.readline().strip())
            with scratch.folder():
                assert (theirs / "answers.csv").exists()
            scratch.sweep()
            assert (theirs / "answers.csv").exists()
            owner.send_signal(signal.SIGKILL)
        assert theirs.exists()
        if by_making:
            with scratch.folder():
                pass
        else:
            scratch.sweep()
        assert not theirs.exists()
        assert own.exists()


def test_sweeping_makes_nothing(home: Path) -> None:
    scratch.sweep()
    assert not home.exists()


def test_a_fork_keeps_nobody_waiting(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children, made = [], []

    def fork(root: Path) -> None:
        if not children:
            with warnings.catch_warnings(action="ignore"):  # newer Pythons warn of forks beside threads
                children.append(os.fork())
            if children[0] == 0:
                signal.pause()

    def make() -> None:
        with scratch.folder() as folder:
            made.append(folder)

    monkeypatch.setattr(scratch, "_remove_left", fork)
    make()
    try:
        thread = threading.Thread(target=make, daemon=True)
        thread.start()
        thread.join(60)
        assert len(made) == 2
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)


def test_what_another_machine_made_is_left_alone_for_a_day(home: Path) -> None:
    new, old = home / "scratch" / "another-1", home / "scratch" / "another-2"
    for folder in (new, old):
        folder.mkdir(parents=True)
    long_ago = time.time() - scratch.FOREIGN_SECONDS - 60
    os.utime(old, (long_ago, long_ago))
    scratch.sweep()
    assert new.exists()
    assert not old.exists()
