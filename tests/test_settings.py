from __future__ import annotations

import pwd
from pathlib import Path
from typing import NoReturn

import pytest

from openmle_env import settings
from openmle_env.errors import UsageError


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOME", "RUNS", "SANDBOX", "IMAGE"):
        monkeypatch.delenv(f"OPENMLE_{name}", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_defaults_and_nothing_is_made(tmp_path: Path) -> None:
    loaded = settings.load()
    assert loaded.home == tmp_path / "cache" / "openmle_env"
    assert loaded.runs == tmp_path / "openmle_runs"
    assert (loaded.sandbox, loaded.image) == ("auto", "")
    assert not list(tmp_path.iterdir())


def test_variables_stand_above_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENMLE_HOME", "relative")
    monkeypatch.setenv("OPENMLE_RUNS", "~/runs")
    monkeypatch.setenv("OPENMLE_SANDBOX", "docker")
    monkeypatch.setenv("OPENMLE_IMAGE", "")
    loaded = settings.load()
    assert loaded.home == tmp_path / "relative"
    assert loaded.runs == Path.home() / "runs"
    assert loaded.sandbox == "docker"
    assert loaded.image == ""


def test_the_cache_folder_has_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert settings.load().home == Path.home() / ".cache" / "openmle_env"


@pytest.mark.parametrize(("name", "asked"), [("OPENMLE_HOME", "HOME"), ("OPENMLE_RUNS", "RUNS")])
def test_a_home_folder_that_is_not_known_is_wrong_use(monkeypatch: pytest.MonkeyPatch, name: str, asked: str) -> None:
    monkeypatch.setenv(name, "~nosuchuser/x")
    with pytest.raises(UsageError, match=rf"'~nosuchuser/x' begins with is not known. Set OPENMLE_{asked}"):
        settings.load()


def test_a_user_without_a_home_needs_one_only_for_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(uid: int) -> NoReturn:
        raise KeyError(uid)

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(UsageError, match="Set OPENMLE_HOME"):
        settings.load()
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path))
    assert settings.load().home == tmp_path


def test_a_current_folder_that_is_gone_is_wrong_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(UsageError, match="Set OPENMLE_RUNS to a whole path"):
        settings.load()


def test_an_unknown_variable_is_ignored_and_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.unknown() == []
    monkeypatch.setenv("OPENMLE_SANDBX", "docker")
    monkeypatch.setenv("OPENMLE_HOME", "x")
    assert settings.load().sandbox == "auto"
    (told,) = settings.unknown()
    assert "Did you mean 'OPENMLE_SANDBOX'" in told
