"""Extra packages for bubblewrap boxes, installed from a folder of wheels."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from openmle_env import scratch
from openmle_env.errors import DiskFullError, SandboxUnavailableError, UsageError
from openmle_env.sandbox import extras, image, packages, pip
from openmle_env.sandbox.pip import Source
from openmle_env.sandbox.requirements import parse
from openmle_env.types import Job
from tests.sandbox.wheels import ANSWER, TINY, make_tiny, make_wheel

if TYPE_CHECKING:
    from pathlib import Path

WANTED = parse(TINY, "the test")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENMLE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Source:
    folder = tmp_path_factory.mktemp("wheels")
    make_tiny(folder)
    make_wheel(folder, "openmle_joblib", files={"joblib/more.py": ""})
    return Source(wheels=folder)


@pytest.fixture(scope="module")
def folder(home, source) -> Path:
    with pytest.raises(SandboxUnavailableError, match=r"openmle_tiny|openmle-tiny.*not installed"):
        extras.find(WANTED)
    before = os.umask(0o077)
    try:
        return extras.ensure(WANTED, source)
    finally:
        os.umask(before)


def whole(home: Path) -> list[str]:
    """What is there, with nothing half-made beside it."""
    assert not list((home / scratch.NAME).iterdir())
    return sorted(path.name for path in (home / extras.NAME).iterdir())


def test_they_stand_in_a_folder_that_is_called_as_the_image_is(folder, home):
    assert folder == extras.find(WANTED)
    assert whole(home) == [image.own_name(WANTED).partition(":")[2]]
    assert sorted(path.name for path in folder.iterdir()) == [extras.MARKER, TINY, f"{TINY}-1.0.dist-info"]
    modes = {path.stat().st_mode & 0o777 for path in folder.rglob("*")} | {folder.stat().st_mode & 0o777}
    assert modes == {0o755, 0o644}


def test_they_are_not_installed_twice(folder, source, monkeypatch):
    monkeypatch.setattr(pip, "run", lambda *_: pytest.fail("installed again"))
    assert extras.ensure(WANTED, source) == folder


def test_boxes_show_them_but_not_their_tests(folder):
    site = packages.SITE_PACKAGES
    with_them, without = packages.view(folder), packages.view()
    added = set(with_them.binds) - set(without.binds)
    assert {place for _, place in added} == {f"{site}/{TINY}", f"{site}/{TINY}-1.0.dist-info"}
    assert set(with_them.masks) - set(without.masks) == {f"{site}/{TINY}/tests"}


@pytest.mark.bubblewrap
def test_a_program_imports_them(folder, bubblewrap, monkeypatch):
    shown = packages.view(folder)
    monkeypatch.setattr(packages, "view", lambda *_: shown)
    program = f"import {TINY}, os, sys\nprint({TINY}.value, os.listdir(os.path.dirname({TINY}.__file__) + '/tests'))\n"
    execution = bubblewrap.run(Job(program=program + "print(hasattr(sys, 'started'))", collect=()))
    assert execution.stdout.split() == [str(ANSWER), "[]", "False"], execution.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("openmle_no_such", "pip download"),
        (f"{TINY}==1.0 --hash=sha256:{'0' * 64}", "hash"),
        (f"{TINY}==1.0\nnumpy<1", "libraries of this environment"),
        ("openmle_joblib", "joblib"),
    ],
)
def test_what_cannot_be_installed_leaves_nothing(folder, source, home, line, told):
    before = whole(home)
    with pytest.raises(UsageError, match=told):
        extras.ensure(parse(line, "the test"), source)
    assert whole(home) == before


@pytest.mark.parametrize("error", [None, OSError(28, "No space left on device")])
def test_a_full_disk_leaves_nothing(folder, source, home, monkeypatch, error):
    def run(command, *_):
        if error:
            raise error
        return subprocess.CompletedProcess(command, 1, "OSError: [Errno 28] No space left on device")

    before = whole(home)
    monkeypatch.setattr(pip, "run", run)
    with pytest.raises(DiskFullError, match="No space is left"):
        extras.ensure(parse("openmle_other", "the test"), source)
    assert whole(home) == before


def test_a_home_that_cannot_be_written_is_named(source, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "file"))
    with pytest.raises(SandboxUnavailableError, match="OPENMLE_HOME"):
        extras.ensure(WANTED, source)


def test_those_that_nobody_used_for_long_are_left_behind_until_they_are_used(folder):
    assert extras.left() == []
    old = time.time() - 40 * 86400
    os.utime(folder / extras.MARKER, (old, old))
    assert extras.left() == [(folder, "it was not used for 40 days")]
    assert extras.find(WANTED) == folder
    assert extras.left() == []
