"""``openmle sandbox``: what a user who builds, checks and cleans meets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openmle_env import scratch
from openmle_env.commands import doctor_report
from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine_facts, extras, image_build, leftovers, pip
from openmle_env.sandbox.gpus import survey as gpu_survey
from openmle_env.sandbox.gpus.devices import Device
from openmle_env.sandbox.protocol import Confinement
from openmle_env.sandbox.reaper import Leftover
from tests.sandbox.wheels import TINY, make_tiny

COMMANDS = ("build", "doctor", "bench", "prune")


@pytest.fixture
def no_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")


@pytest.fixture
def nothing_left(monkeypatch):
    """Whatever other processes left on this machine is not looked for."""
    monkeypatch.setattr(leftovers, "survey", lambda **_: leftovers.Survey(found=()))


@pytest.fixture
def given(tmp_path) -> Path:
    make_tiny(tmp_path / "wheels")
    (tmp_path / "requirements.txt").write_text(f"{TINY}\n")
    return tmp_path


def test_the_group_has_help_and_so_has_each_command(openmle) -> None:
    shown = openmle("sandbox")
    assert (shown.code, shown.stderr) == (0, "")
    assert shown.stdout == openmle("sandbox", "--help").stdout
    for command in COMMANDS:
        assert command in shown.stdout
        assert "--json" in openmle("sandbox", command, "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("biuld",), "Did you mean 'build'"),
        (("build", "--sandbox", "dokcer"), "Did you mean 'docker'"),
        (("build", "--requirements", "no-such.txt"), "cannot be read"),
        (("build", "--wheels", "."), "name them by --requirements"),
        (("build", "--requirements", "{given}/requirements.txt", "--wheels", "no-such"), "no folder"),
        (("build", "--requirements", "{given}/requirements.txt", "--certificates", "{given}/requirements.txt"), "PEM"),
        (("build", "--requirements", "{given}/requirements.txt", "--index", "pypi"), "no address"),
        (("build", "--sandbox", "bubblewrap", "--cuda"), "are for images"),
        (("build", "--name", "Not A Name"), "cannot be the name of an image"),
        (("build", "--base", "Not A Name"), "cannot be the name of an image"),
    ],
)
def test_wrong_use_is_told_before_anything_is_made(openmle, given, no_engine, arguments, told) -> None:
    result = openmle("sandbox", *(item.format(given=given) for item in arguments))
    assert (result.code, result.stdout) == (2, "")
    assert told in result.stderr


def test_a_build_without_an_engine_is_the_machines_failure(openmle, no_engine) -> None:
    result = openmle("sandbox", "build", "--json")
    assert result.code == 3
    assert "No Docker engine answers" in json.loads(result.stdout)["error"]["message"]


def test_a_build_says_what_it_made_and_counts_other_images(openmle, no_engine, monkeypatch) -> None:
    monkeypatch.setattr(image_build, "ensure", lambda *_, **__: "sha256:1")
    monkeypatch.setattr("openmle_env.sandbox.image.made_for_others", lambda: ["a:1", "b:2"])
    result = openmle("sandbox", "build", "--name", "one:1")
    assert (result.code, result.stdout) == (0, "The image is one:1 (sha256:1).\n")
    assert "2 images of other environments" in result.stderr
    document = json.loads(openmle("sandbox", "build", "--name", "one:1", "--json").stdout)
    assert document == {"image": "one:1", "id": "sha256:1", "requirements": [], "others": 2}


def test_an_image_is_there_though_others_cannot_be_listed(openmle, no_engine, monkeypatch) -> None:
    monkeypatch.setattr(image_build, "ensure", lambda *_, **__: "sha256:1")
    assert openmle("sandbox", "build", "--name", "one:1").code == 0


@pytest.mark.parametrize("option", [("--force",), ("--base", "host")])
def test_what_is_asked_for_anew_is_built_anew(openmle, monkeypatch, option) -> None:
    built = []
    monkeypatch.setattr(image_build, "build", lambda name, **given: built.append((name, given["base"])) or "sha256:1")
    monkeypatch.setattr("openmle_env.sandbox.image.made_for_others", list)
    assert openmle("sandbox", "build", "--name", "one:1", *option).code == 0
    assert built == [("one:1", "host" if "host" in option else "auto")]


def test_packages_for_bubblewrap_are_installed_once(openmle, given, monkeypatch) -> None:
    command = ("sandbox", "build", "--sandbox", "bubblewrap", "--requirements", given / "requirements.txt")
    first = openmle(*command, "--wheels", given / "wheels", "--json")
    assert first.code == 0, first.stderr
    folder = Path(json.loads(first.stdout)["folder"])
    assert (folder / TINY / "__init__.py").is_file()
    monkeypatch.setattr(pip, "run", lambda *_: pytest.fail("installed again"))
    assert str(folder) in openmle(*command).stdout


def test_without_extra_packages_bubblewrap_needs_nothing(openmle) -> None:
    result = openmle("sandbox", "build", "--sandbox", "bubblewrap")
    assert result.code == 0
    assert "nothing to build" in result.stdout


def test_doctor_is_the_same_under_both_names(openmle, box, no_engine, nothing_left) -> None:
    documents = [json.loads(openmle(*words, "--json").stdout) for words in (("doctor",), ("sandbox", "doctor"))]
    assert [set(document) for document in documents] == [set(documents[0])] * 2
    assert documents[1]["engine"] is None
    assert documents[1]["leftovers"] == []
    assert documents[1]["settings"]["warm"] == "single"


def engine_with(monkeypatch, free_mb: int) -> None:
    info = {"ServerVersion": "4.3.1", "BuildahVersion": "1", "Rootless": True, "CgroupVersion": "1"}
    found = doctor_report.Engine(
        facts=engine_facts.facts(info), differences=tuple(engine_facts.differences(info)), free_mb=free_mb
    )
    monkeypatch.setattr(doctor_report, "_engine", lambda: found)


def test_doctor_describes_the_engine_and_warns_where_it_has_little_space(
    openmle, box, nothing_left, monkeypatch
) -> None:
    engine_with(monkeypatch, 2047)
    result = openmle("sandbox", "doctor")
    assert result.code == 0
    assert "podman 4.3.1" in result.stdout
    assert "The engine is rootless" in " ".join(result.stdout.split())
    assert "Only 2047 MiB are free" in result.stderr
    document = json.loads(openmle("sandbox", "doctor", "--json").stdout)
    assert (document["engine"]["kind"], document["engine"]["free_mb"]) == ("podman", 2047)
    engine_with(monkeypatch, 2048)
    assert "are free" not in openmle("sandbox", "doctor").stderr


def test_doctor_says_what_bubblewrap_only_watches(openmle, box, no_engine, nothing_left, monkeypatch) -> None:
    details = ("memory watched, not confined by a cgroup",)
    watched = Confinement(memory="watched", cpu=False, inodes=True, network=True, details=details)
    monkeypatch.setattr(type(box), "confinement", lambda _: watched)
    monkeypatch.setattr(type(box), "name", "bubblewrap")
    shown = openmle("sandbox", "doctor").stdout
    assert "Confined by bubblewrap" in shown
    for words in (details[0], "number of files watched", "a short peak can pass", "/usr"):
        assert words in " ".join(shown.split())


def test_doctor_shows_gpus_and_who_has_them(openmle, box, no_engine, nothing_left, monkeypatch) -> None:
    device = Device(uuid="GPU-1", name="A card", memory_mb=1000, kind="gpu", index=0)
    row = gpu_survey.Row(
        device=device, lent=True, used_mb=7, processes=(), holders=("process 1",), waiting=2, quarantine="it leaks"
    )
    monkeypatch.setattr(gpu_survey, "survey", lambda: [row])
    shown = " ".join(openmle("sandbox", "doctor").stdout.split())
    for words in ("GPU-1", "7 MiB", "process 1; 2 requests wait", "it leaks"):
        assert words in shown
    (found,) = json.loads(openmle("sandbox", "doctor", "--json").stdout)["gpus"]
    assert found["quarantine"] == "it leaks"


def test_doctor_says_that_no_gpu_can_be_lent_where_one_is_asked_for(
    openmle, box, no_engine, nothing_left, monkeypatch
) -> None:
    def survey() -> None:
        raise SandboxUnavailableError("No driver.")

    monkeypatch.setattr(gpu_survey, "survey", survey)
    monkeypatch.setenv("OPENMLE_GPUS", "GPU-1")
    assert "No driver." in openmle("sandbox", "doctor").stderr
    monkeypatch.setenv("OPENMLE_GPUS", "none")
    assert "No driver." not in openmle("sandbox", "doctor").stderr


def left_packages() -> Path:
    folder = extras.root() / "old"
    folder.mkdir(parents=True)
    (folder / "half").touch()
    return folder


def test_prune_shows_what_and_why_and_removes_it(openmle, no_engine, monkeypatch) -> None:
    folder = left_packages()
    for option, removed in (("--dry-run", False), ("--json", True)):
        document = json.loads(openmle("sandbox", "prune", option, "--json").stdout)
        (entry,) = (item for item in document["found"] if item["id"] == str(folder))
        assert entry == {"kind": "packages", "id": str(folder), "reason": "it is not whole", "removed": removed}
        assert document["dry_run"] is not removed
        assert "No Docker engine" in document["engine_trouble"]
        assert folder.exists() is not removed


def test_prune_for_people(openmle, nothing_left, monkeypatch) -> None:
    assert "Nothing is left" in openmle("sandbox", "prune").stdout
    found = (Leftover(kind="image", id="some:1", reason="past its time"),)
    monkeypatch.setattr(leftovers, "survey", lambda **_: leftovers.Survey(found=found))
    monkeypatch.setattr(leftovers, "remove", lambda _: ())
    for option, words in (("--dry-run", "would be removed"), ("--images", "in use, or not yours")):
        shown = " ".join(openmle("sandbox", "prune", option).stdout.split())
        assert "image some:1 past its time" in shown
        assert words in shown


def test_prune_of_images_needs_an_engine_and_the_rest_does_not(openmle, no_engine) -> None:
    assert openmle("sandbox", "prune", "--dry-run").code == 0
    result = openmle("sandbox", "prune", "--dry-run", "--images")
    assert result.code == 3
    assert "The engine was not looked through" in result.stderr


def test_doctor_lists_what_is_left(openmle, box, no_engine) -> None:
    folder = left_packages()
    with scratch.folder() as live:
        result = openmle("sandbox", "doctor")
    assert folder.name in result.stdout
    assert live.name not in result.stdout
    assert "openmle sandbox prune" in result.stdout
