"""The scripts of the checkout, as far as they can be tried without installing anything."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [
    ROOT / "scripts" / "quickstart",
    ROOT / "scripts" / "test",
    ROOT / "scripts" / "install-docker",
    ROOT / ".ci" / "run",
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts alone, with no virtual environment beside them."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    return tmp_path


def stub(checkout: Path, name: str, text: str) -> None:
    """Put a shell script in front of the machine's command of that name."""
    path = checkout / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run(
    checkout: Path, script: str, *arguments: str, python: str = "exit 1", user: int = 1000, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a script where every Python is the given shell script, for a user who is not root by default."""
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        stub(checkout, name, python)
    stub(checkout, "id", f"echo {user}")
    environment = {**os.environ, "PATH": f"{checkout / 'bin'}:{os.environ['PATH']}", **variables}
    for name in {"PYTHON", "DOCKER_HOST", "CI"} - variables.keys():
        environment.pop(name, None)
    command = ["bash", str(checkout / "scripts" / script), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


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


@pytest.mark.parametrize("script", ["quickstart", "test", "install-docker"])
def test_help_comes_before_anything_is_done(checkout: Path, script: str) -> None:
    done = run(checkout, script, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") > 2
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("code", [0, 1])
def test_quickstart_says_what_comes_next_and_keeps_the_exit_code(checkout: Path, code: int) -> None:
    for name, text in (("python", "exit 0"), ("openmle", f'echo "openmle $*"; case "$1" in run) exit {code} ;; esac')):
        stub(checkout, name, text)
    (checkout / "bin").rename(checkout / "commands")
    (checkout / ".venv").mkdir()
    (checkout / "commands").rename(checkout / ".venv" / "bin")
    for name in ("setup.cfg", "pyproject.toml"):
        (checkout / name).touch()
    done = run(checkout, "quickstart", "--seed", "3", "--json")
    assert done.returncode == code
    assert done.stdout == "openmle run titanic --agent grammar --programs 8 --seed 0 --seed 3 --json\n"
    assert done.stderr.splitlines()[-1].startswith("Next: source .venv/bin/activate")


def test_pip_never_asks() -> None:
    lines = [line for path in (ROOT / "scripts").iterdir() if path.is_file() for line in path.read_text().splitlines()]
    calls = [line for line in lines if "pip install" in line and not line.lstrip().startswith("#")]
    assert calls
    assert all("--no-input" in line for line in calls)


# --- a bare machine: what apt is asked for --------------------------------------------------------------------------

NO_VENV = """case "$*" in
    *ensurepip*) [ -e "$MADE" ] ;;
    *"-m venv"*) echo "venv was made"; exit 9 ;;
    --version) echo Python 3.12.1 ;;
esac"""
APT = """echo "apt $*" >> "$LOG"
case "$*" in
    *update) exit ${UPDATE:-0} ;;
    *install*) touch "$MADE"; ;;
esac"""


@pytest.mark.parametrize("update", ["0", "100"])
def test_root_gets_the_venv_module_though_a_source_cannot_be_reached(checkout: Path, update: str) -> None:
    stub(checkout, "apt-get", APT)
    log, made = checkout / "log", checkout / "made"
    done = run(checkout, "test", python=NO_VENV, user=0, LOG=str(log), MADE=str(made), UPDATE=update)
    assert "-y --no-install-recommends python3 python3-venv" in log.read_text()
    assert "venv was made" in done.stdout
    assert ("apt-get update failed" in done.stderr) == (update != "0")


def test_quickstart_asks_rather_than_installs(checkout: Path) -> None:
    stub(checkout, "apt-get", APT)
    log = checkout / "log"
    done = run(checkout, "quickstart", python=NO_VENV, user=0, LOG=str(log), MADE=str(checkout / "made"))
    assert done.returncode == 3
    assert "Install it: apt install python3-venv" in done.stderr
    assert not log.exists()


def test_apt_that_fails_ends_with_its_message(checkout: Path) -> None:
    stub(checkout, "apt-get", "case \"$*\" in *install*) echo 'E: Unable to locate package' >&2; exit 100;; esac")
    done = run(checkout, "test", python=NO_VENV, user=0, MADE=str(checkout / "made"))
    assert done.returncode != 0
    assert "E: Unable to locate package" in done.stderr
    assert "apt-get could not install python3 python3-venv" in done.stderr


# --- the engine: only what was launched here is stopped ---------------------------------------------------------------


@pytest.mark.parametrize("host", ["tcp://127.0.0.1:2375", "ssh://somebody@somewhere", "unix:///elsewhere/docker.sock"])
def test_no_engine_is_installed_or_launched_beside_one_elsewhere(checkout: Path, host: str) -> None:
    for name in ("apt-get", "dockerd", "systemctl"):
        stub(checkout, name, f'touch "{checkout}/called"')
    done = run(checkout, "install-docker", user=0, DOCKER_HOST=host)
    assert done.returncode == 3
    assert f"DOCKER_HOST is '{host}'" in done.stderr
    assert not (checkout / "called").exists()


@pytest.fixture
def engine_stage(checkout: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run the stage ``engine`` where no engine answers, with the given text in place of scripts/install-docker."""
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)

    def stage(install: str) -> subprocess.CompletedProcess[str]:
        (checkout / "scripts" / "install-docker").write_text(f"#!/bin/bash\n{install}\n")
        return run(checkout, "test", "engine", user=0)

    return stage


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Start a process of a given name."""
    started = []

    def start(name: str) -> subprocess.Popen[bytes]:
        # A script, not a copy of `sleep`, which on some systems is one binary of many names and goes by its own.
        (tmp_path / name).write_text("#!/bin/sh\nread -r _\n")
        (tmp_path / name).chmod(0o755)
        started.append(subprocess.Popen([str(tmp_path / name)], stdin=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_engine_that_was_launched_is_stopped(engine_stage, sleeper) -> None:
    launched = sleeper("dockerd")
    done = engine_stage(f'[ "$1" = --pid-file ] && echo {launched.pid} > "$2"')
    assert "stopping the Docker engine" in done.stderr
    assert launched.wait(timeout=60) == -signal.SIGTERM


@pytest.mark.parametrize("name", ["dockerd", "something"])
def test_no_other_process_is_stopped(engine_stage, sleeper, checkout: Path, name: str) -> None:
    """Neither an engine that came up meanwhile or was noted by an earlier run, nor what has its number by now."""
    other = sleeper(name)
    (checkout / ".venv" / "dockerd.pid").write_text(f"{other.pid}\n")
    done = engine_stage("exit 0" if name == "dockerd" else f'echo {other.pid} > "$2"')
    assert done.returncode == 0
    assert "stopping" not in done.stderr
    assert other.poll() is None


@pytest.mark.parametrize("script", ["measure_references.py", "measure_grammar.py"])
def test_measuring_scripts_have_help_and_refuse_what_they_do_not_know(script: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / script)]
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=False)
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "usage:" in helped.stdout
    assert subprocess.run([*command, "--nonsense"], capture_output=True, check=False).returncode == 2


def test_measuring_an_unknown_task_is_wrong_use() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "measure_references.py"), "titanc"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Did you mean 'titanic'?" in done.stderr
