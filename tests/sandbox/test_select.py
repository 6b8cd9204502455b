"""Choosing a backend, and saying what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import SandboxUnavailableError, UnknownNameError, UsageError
from openmle_env.sandbox import select
from openmle_env.sandbox.box import check_job
from openmle_env.sandbox.select import BackendReport
from openmle_env.types import Job

if TYPE_CHECKING:
    from pathlib import Path


def report(name: str, usable: bool) -> BackendReport:
    return BackendReport(name=name, usable=usable, reason=f"{name} was looked at.", remedy="" if usable else "Do this.")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    state = {"docker": True, "bubblewrap": True}
    monkeypatch.setattr(select, "docker_report", lambda image: report("docker", state["docker"]))
    monkeypatch.setattr(select, "bubblewrap_report", lambda: report("bubblewrap", state["bubblewrap"]))
    monkeypatch.setattr(select, "_make", lambda name, image: f"{name} {image}")
    return state


def test_auto_prefers_docker(machine: dict[str, bool]) -> None:
    assert select.create(image="mine") == "docker mine"
    machine["docker"] = False
    assert select.create() == "bubblewrap None"


def test_no_backend_names_every_remedy(machine: dict[str, bool]) -> None:
    machine.update(docker=False, bubblewrap=False)
    with pytest.raises(SandboxUnavailableError, match=r"docker was looked at. Do this.\nbubblewrap: bubblewrap was"):
        select.create()
    with pytest.raises(SandboxUnavailableError, match=r"docker: docker was looked at\. Do this\."):
        select.create("docker")


def test_scripted_needs_nothing(machine: dict[str, bool]) -> None:
    machine.update(docker=False, bubblewrap=False)
    assert select.create("scripted") == "scripted None"


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'bubblewrap'"):
        select.create("bublewrap")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
    ],
)
def test_switches_that_forbid_namespaces(tmp_path: Path, name: str, value: str, expected: str) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(f"{value}\n")
    assert select.namespace_remedy(tmp_path).endswith(f"sudo sysctl -w {expected}")


def test_survey_reports_both_real_backends() -> None:
    reports = {found.name: found for found in select.survey()}
    assert reports.keys() == {"docker", "bubblewrap"}
    assert all(found.reason for found in reports.values())


@pytest.mark.parametrize(
    "place", ["data", "/", "/etc/x", "/data/../etc", "/work", "/output", "/usr", "/opt/venv", "//data"]
)
def test_impossible_input_paths(place: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not possible"):
        check_job(Job(program="x", inputs={place: tmp_path}))


@pytest.mark.parametrize("name", ["", "/", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a\0b"])
def test_impossible_artifacts(name: str) -> None:
    with pytest.raises(UsageError, match="Cannot collect"):
        check_job(Job(program="x", collect=(name,)))


def test_impossible_variables() -> None:
    with pytest.raises(UsageError, match="variable 'A=B'"):
        check_job(Job(program="x", environment={"A=B": "c"}))
