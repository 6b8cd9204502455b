"""What is built is what is in the tree: nothing lost behind a link, nothing of the tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("agents", "baselines", "envs", "graders", "leaderboards", "task_registry")
IGNORED = shutil.ignore_patterns(
    ".git", ".venv*", "__pycache__", "*.pyc", ".*_cache", ".hypothesis", "*.egg-info", "build", "dist", "openmle_runs"
)


def build(source: Path, target: Path, kind: str) -> Path:
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


def members(wheel: Path) -> dict[str, bytes]:
    """Contents by name, without the metadata, whose RECORD and paths of licences differ by way of building."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("source") / "openmle_env"
    shutil.copytree(ROOT, target, symlinks=True, ignore=IGNORED)
    for folder in ("openmle_env", "graders"):  # what a used checkout has; none of it may be packed
        (target / folder / "__pycache__").mkdir()
        (target / folder / "__pycache__" / "left.cpython-311.pyc").write_bytes(b"left over")
    return target


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return members(build(source, tmp_path_factory.mktemp("wheel"), "wheel"))


def test_wheel_holds_exactly_the_files_of_the_package(source: Path, wheel: dict[str, bytes]) -> None:
    expected = {path.relative_to(source).as_posix() for path in (source / "openmle_env").glob("**/*") if path.is_file()}
    for folder in FOLDERS:
        inside = (path for path in (source / folder).rglob("*") if path.is_file())
        expected |= {f"openmle_env/{path.relative_to(source).as_posix()}" for path in inside}
    assert set(wheel) == {name for name in expected if "__pycache__" not in name}
    for name in ("py.typed", "types.py", "main.py", "sandbox/protocol.py", "leaderboards/__init__.py"):
        assert f"openmle_env/{name}" in wheel


def test_source_distribution_builds_the_same_wheel(source: Path, wheel: dict[str, bytes], tmp_path: Path) -> None:
    archive = build(source, tmp_path / "sdist", "sdist")
    (tmp_path / "unpacked").mkdir()
    # The command, since Python 3.11.2 lacks the argument that later versions warn about when it is left out.
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path / "unpacked"], check=True)
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert members(build(unpacked, tmp_path / "wheel", "wheel")) == wheel
