"""The scripts of the checkout, as far as they can be tried without installing anything."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [ROOT / "scripts" / "quickstart", ROOT / "scripts" / "test", ROOT / ".ci" / "run"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts alone, with no virtual environment beside them."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    return tmp_path


def run(checkout: Path, script: str, *, python: str) -> subprocess.CompletedProcess[str]:
    """Run a script where every Python is the given shell script."""
    folder = checkout / "bin"
    folder.mkdir()
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        (folder / name).write_text(f"#!/bin/sh\n{python}\n")
        (folder / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    environment.pop("PYTHON", None)
    return subprocess.run(
        ["bash", str(checkout / "scripts" / script)], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_executable_and_strict(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in script.read_text()
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


@pytest.mark.parametrize("script", ["quickstart", "test"])
def test_old_python_is_told(checkout: Path, script: str) -> None:
    done = run(checkout, script, python='[ "$1" = --version ] && echo Python 3.9.2; exit 1')
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed; found: Python 3.9.2" in done.stderr


@pytest.mark.parametrize("script", ["quickstart", "test"])
def test_python_without_venv_is_told(checkout: Path, script: str) -> None:
    done = run(
        checkout, script, python='case "$*" in *ensurepip*) exit 1;; --version) echo Python 3.12.1;; esac; exit 0'
    )
    assert done.returncode != 0
    assert "Python 3.12.1 has no venv module. Install it: apt install python3-venv" in done.stderr


def test_unknown_stage_is_wrong_use() -> None:
    done = subprocess.run(["bash", SCRIPTS[1], "tets"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "There is no stage 'tets'. Stages: install engine" in done.stderr
