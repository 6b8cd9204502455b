"""The folder of the leases: where it is, and what it has to be."""

from __future__ import annotations

import os
import stat

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox.gpus import places


def test_it_is_open_to_all_whatever_the_umask(folder):
    old = os.umask(0o077)
    try:
        assert places.prepare() == folder
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
    assert places.prepare() == folder


def test_the_first_place_that_is_open_to_all_counts_and_not_to_oneself_only(tmp_path, monkeypatch):
    own, public = tmp_path / "own", tmp_path / "public"
    own.mkdir(mode=0o700)
    public.mkdir()
    public.chmod(0o1777)
    monkeypatch.setattr(places, "PARENTS", (tmp_path / "none", own, public))
    assert places.shared_folder() == public / places.NAME
    monkeypatch.setattr(places, "PARENTS", (own,))
    with pytest.raises(SandboxUnavailableError, match="sudo chmod 1777"):
        places.shared_folder()


@pytest.mark.parametrize("kind", ["link", "file", "closed", "removable"])
def test_another_thing_in_its_place_is_refused(folder, tmp_path, kind, unavailable):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o1777)
    if kind == "link":
        folder.symlink_to(elsewhere)
    elif kind == "file":
        folder.write_text("")
        folder.chmod(0o1777)
    else:
        folder.mkdir()
        folder.chmod(0o755 if kind == "closed" else 0o777)  # not sticky: others could remove one's files
        if os.getuid() != 0:
            unavailable("only root can make a folder of another user")
        os.chown(folder, 1, 1)
    with pytest.raises(SandboxUnavailableError, match="sudo rm -r"):
        places.prepare()
    assert list(elsewhere.iterdir()) == []


def test_an_own_folder_whose_maker_was_killed_too_early_is_opened_to_all(folder):
    folder.mkdir(mode=0o700)
    assert places.prepare() == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777


def test_a_parent_that_is_missing(tmp_path):
    with pytest.raises(SandboxUnavailableError, match="cannot be made"):
        places.prepare(tmp_path / "no" / "such")


def test_a_folder_that_others_keep_locked(folder, monkeypatch):
    places.prepare()
    monkeypatch.setattr(places, "LOCK_SECONDS", 0.05)
    with (
        places.locked(folder),
        pytest.raises(SandboxUnavailableError, match="fuser"),
        places.locked(folder),
    ):
        pass
    with places.locked(folder):
        pass
