"""A tiny task pack, a sandbox that runs nothing, and a way to call the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.main import invoke
from openmle_env.sandbox import select
from openmle_env.sandbox.scripted import ScriptedSandbox
from tests.cli.standin import IDS, PACK, RIGHT, ZEROS, Result, script

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's own settings, caches and runs."""
    for name in ("OPENMLE_SANDBOX", "OPENMLE_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENMLE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    root = tmp_path / "odd"
    public, private = root / "data" / "public", root / "data" / "private"
    public.mkdir(parents=True)
    private.mkdir()
    (root / "pack.yaml").write_text(PACK)
    (public / "description.md").write_text("# Odd numbers\n\nTell odd numbers from even ones.\n")
    (public / "train.csv").write_text("id,odd\n101,1\n102,0\n")
    (public / "test.csv").write_text("id\n" + "".join(f"{i}\n" for i in IDS))
    (public / "sample_submission.csv").write_text(ZEROS)
    (private / "test_answer.csv").write_text(RIGHT)
    return root


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> ScriptedSandbox:
    """The scripted sandbox, whatever is asked for."""
    made = ScriptedSandbox(script)

    def create(name: str = "auto", **_: Any) -> ScriptedSandbox:
        return made

    monkeypatch.setattr(select, "create", create)
    return made


@pytest.fixture
def openmle(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    def call(*arguments: object) -> Result:
        capsys.readouterr()
        code = invoke([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Write a program to a file; returns its path."""

    def write_program(text: str) -> Path:
        path = tmp_path / f"program_{len(list(tmp_path.glob('program_*.py')))}.py"
        path.write_text(text)
        return path

    return write_program
