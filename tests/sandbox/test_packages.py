"""What a box sees of the running environment."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import packages


@pytest.fixture(scope="module")
def view() -> packages.View:
    return packages.find()


def test_only_allowed_libraries_are_shown(view: packages.View) -> None:
    shown = {Path(place).name for _, place in view.binds if place.startswith(packages.SITE_PACKAGES)}
    assert {"numpy", "pandas", "sklearn", "scipy", "joblib"} <= shown
    assert not shown & {"openmle_env", "gymnasium", "pytest", "pip", "docker", "yaml", "pydantic", "__pycache__"}
    assert not [name for name in shown if name.endswith(".pth") or name.startswith("__editable__")]


def test_what_was_found_by_other_code_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is covered is written in the code: a stored view of an older version covers less."""
    before = packages._key()
    assert packages._key() == before
    other = tmp_path / "packages.py"
    other.write_text(Path(packages.__file__).read_text() + "# changed\n")
    monkeypatch.setattr(packages, "__file__", str(other))
    assert packages._key() != before


def test_sources_are_narrow(view: packages.View) -> None:
    sources = {source for source, _ in view.binds}
    project = Path(packages.__file__).parents[2]
    forbidden = {"/", "/etc", "/home", "/root", "/opt", "/usr", "/usr/share", "/var", str(Path.home()), str(project)}
    assert not sources & (forbidden | {sys.prefix, sys.base_prefix})


def test_tests_and_data_sets_are_covered(view: packages.View) -> None:
    site = packages.SITE_PACKAGES
    assert {f"{site}/sklearn/datasets/data", f"{site}/sklearn/datasets/tests", f"{site}/pandas/tests"} <= set(
        view.masks
    )
    for mask in view.masks:
        assert not any(mask.startswith(f"{other}/") for other in view.masks), f"{mask} is covered twice"


def test_view_is_stored_and_read_again(view: packages.View, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path))
    read = packages.view.__wrapped__
    assert read() == view
    (file,) = (tmp_path / "sandbox").iterdir()
    monkeypatch.setattr(packages, "find", lambda: pytest.fail("looked again"))
    assert read() == view
    file.write_text("{")
    monkeypatch.setattr(packages, "find", lambda: view)
    assert read() == view
    assert '"binds"' in file.read_text()


def test_a_home_that_cannot_be_written_costs_only_time(
    view: packages.View, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "file"))
    assert packages.view.__wrapped__() == view


def test_a_missing_library_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    with pytest.raises(SandboxUnavailableError, match="pip install"):
        packages.find()
