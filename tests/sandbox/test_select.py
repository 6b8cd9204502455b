"""Choosing a backend, and saying what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import SandboxUnavailableError, UnknownNameError, UsageError
from openmle_env.sandbox import engine, select
from openmle_env.sandbox.checks import check_job
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
    monkeypatch.setattr(select, "_make", lambda name, image, _warm: f"{name} {image}")
    return state


def test_auto_prefers_docker(machine: dict[str, bool]) -> None:
    assert select.create(image="mine") == "docker mine"
    machine["docker"] = False
    assert select.create() == "bubblewrap None"


@pytest.mark.parametrize("setting", ["OPENMLE_RUNTIME", "OPENMLE_IMAGE"])
def test_who_asks_for_what_docker_has_gets_nothing_else(machine: dict[str, bool], monkeypatch, setting: str) -> None:
    monkeypatch.setenv(setting, "mine")
    machine["docker"] = False
    with pytest.raises(SandboxUnavailableError, match=rf"{setting} is set.* docker was looked at\. Do this\."):
        select.create()
    assert select.create("bubblewrap") == "bubblewrap None"


@pytest.mark.parametrize("value", ["on", "", True])
def test_a_way_that_does_not_exist(value: object) -> None:
    with pytest.raises(UnknownNameError, match="Known: forked, off, single"):
        select.create("bubblewrap", warm=value)  # type: ignore[arg-type]  # that is the test


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


def test_ubuntu_is_told_the_less_invasive_ways_first(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "apparmor_restrict_unprivileged_userns").write_text("1\n")
    remedy = select.namespace_remedy(tmp_path)
    assert remedy.index("Docker") < remedy.index("AppArmor profile") < remedy.index("sysctl")


@pytest.mark.parametrize("container", [True, False])
def test_a_missing_bubblewrap_is_not_blamed_on_the_container(monkeypatch: pytest.MonkeyPatch, container: bool) -> None:
    def missing() -> str:
        raise SandboxUnavailableError("Bubblewrap is missing: no bwrap was found. Install it: so.")

    monkeypatch.setattr("openmle_env.sandbox.bubblewrap.find_binary", missing)
    monkeypatch.setattr(select, "namespace_remedy", lambda switches: "Start it with --privileged." if container else "")
    report = select.bubblewrap_report.__wrapped__()
    assert (report.usable, report.reason) == (False, "Bubblewrap is missing: no bwrap was found.")
    assert report.remedy == "Install it: so."


def test_a_missing_library_is_not_blamed_on_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise SandboxUnavailableError("Programs need pandas, which is not installed in /x. Install it: so.")

    monkeypatch.setattr("openmle_env.sandbox.bubblewrap.find_binary", lambda: "/bin/bwrap")
    monkeypatch.setattr("openmle_env.sandbox.packages.view", missing)
    monkeypatch.setattr(select, "namespace_remedy", lambda switches: "Start it with --privileged.")
    assert select.bubblewrap_report.__wrapped__().remedy == "Install it: so."


def test_an_image_name_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMLE_IMAGE", "Bad Name")
    report = select.docker_report(None)
    assert not report.usable
    assert "'Bad Name'" in report.reason
    assert "OPENMLE_IMAGE" in report.remedy


@pytest.mark.docker
def test_a_missing_image_is_named(docker_engine: None) -> None:
    report = select.docker_report("openmle-env-no-such-image:1")
    assert not report.usable
    assert "openmle-env-no-such-image:1" in report.reason
    assert "--name openmle-env-no-such-image:1" in report.remedy


@pytest.mark.docker
def test_one_connection_answers_for_docker(docker_image: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, calls = engine.connect, []
    monkeypatch.setattr(engine, "connect", lambda *given: calls.append(given) or connect(*given))
    assert select.docker_report(None).usable
    assert len(calls) == 1


def test_survey_reports_both_real_backends() -> None:
    reports = {found.name: found for found in select.survey()}
    assert reports.keys() == {"docker", "bubblewrap"}
    assert all(found.reason for found in reports.values())


@pytest.mark.parametrize(
    "place", ["data", "/", "/.", "/./", "/etc/x", "/data/../etc", "/work", "/output", "/usr", "/opt/venv", "//data"]
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
