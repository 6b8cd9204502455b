"""Engines of other kinds and ages, by what they say of themselves. Needs no engine."""

from __future__ import annotations

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine, engine_facts

DOCKER = {
    "ServerVersion": "28.1.0",
    "OSType": "linux",
    "Architecture": "x86_64",
    "SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"],
    "Runtimes": {"runc": {}, "io.containerd.runc.v2": {}},
    "DefaultRuntime": "runc",
    "CgroupVersion": "2",
    "CgroupDriver": "systemd",
    "DockerRootDir": "/var/lib/docker",
}
PODMAN = {
    **DOCKER,
    "ServerVersion": "4.3.1",
    "Architecture": "amd64",
    "BuildahVersion": "1.28.2",
    "Rootless": True,
    "Runtimes": {"crun": {}, "runsc": {}},
}
ROOTLESS = {**DOCKER, "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"]}


@pytest.mark.parametrize("version", ["20.10.24+dfsg1", "20.10.0-rc1", "28.1.0", "v29.0.1", "library-import", "", "dev"])
def test_engines_that_are_new_enough(version):
    engine_facts.check({**DOCKER, "ServerVersion": version})


@pytest.mark.parametrize("version", ["19.03.15", "20.9.0", "1.13.1"])
def test_an_engine_that_is_too_old_is_told_with_both_versions(version):
    with pytest.raises(SandboxUnavailableError, match=rf"version {version}; boxes need 20\.10 or newer"):
        engine_facts.check({**DOCKER, "ServerVersion": version})


def test_podman_has_versions_of_its_own():
    engine_facts.check(PODMAN)
    with pytest.raises(SandboxUnavailableError, match=r"Podman engine is version 3\.4\.4; boxes need 4\.0"):
        engine_facts.check({**PODMAN, "ServerVersion": "3.4.4"})


def test_an_engine_of_another_system_is_refused():
    with pytest.raises(SandboxUnavailableError, match="containers of windows"):
        engine_facts.check({**DOCKER, "OSType": "windows"})


def test_a_runtime_has_to_be_registered():
    engine_facts.check(DOCKER, runtime="runc")
    engine_facts.check(PODMAN, runtime="runsc")
    with pytest.raises(SandboxUnavailableError, match=r"no runtime 'runsc'; registered are .*v2, runc\."):
        engine_facts.check(DOCKER, runtime="runsc")
    with pytest.raises(SandboxUnavailableError, match="registered are none"):
        engine_facts.check_runtime({}, "runsc")


@pytest.mark.parametrize(
    ("machine", "image"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("amd64", "amd64"), ("x86_64", "")]
)
def test_images_for_the_engines_machine(machine, image):
    engine_facts.check_architecture({**DOCKER, "Architecture": machine}, "x:1", {"Architecture": image, "Os": "linux"})


def test_an_image_for_another_machine_is_told_with_both():
    with pytest.raises(SandboxUnavailableError, match=r"'x:1' was made for arm64, and the engine runs on amd64.*build"):
        engine_facts.check_architecture(DOCKER, "x:1", {"Architecture": "arm64", "Os": "linux"})
    with pytest.raises(SandboxUnavailableError, match="made for windows"):
        engine_facts.check_architecture(DOCKER, "x:1", {"Architecture": "amd64", "Os": "windows"})


@pytest.mark.parametrize(("info", "podman", "rootless"), [(DOCKER, 0, 0), (PODMAN, 1, 1), (ROOTLESS, 0, 1)])
def test_kinds_of_engines_are_told_apart(info, podman, rootless):
    assert engine_facts.is_podman(info) == podman
    assert engine_facts.is_rootless(info) == rootless
    facts = engine_facts.facts(info)
    assert (facts.kind == "podman", facts.rootless) == (podman, rootless)
    assert facts.architecture == "amd64"


def test_what_differs_is_said():
    assert engine_facts.differences(DOCKER) == []
    assert any("Podman" in said for said in engine_facts.differences(PODMAN))
    assert any("rootless" in said for said in engine_facts.differences(ROOTLESS))
    assert any("unified" in said for said in engine_facts.differences({**ROOTLESS, "CgroupVersion": "1"}))
    assert any(
        "cgroupfs" in said or "systemd" in said
        for said in engine_facts.differences({**ROOTLESS, "CgroupDriver": "cgroupfs"})
    )
    mapped = {**DOCKER, "SecurityOptions": ["name=userns"], "Warnings": ["WARNING: No swap limit support"]}
    assert [said[:10] for said in engine_facts.differences(mapped)] == ["The engine", "WARNING: N"]
    assert engine_facts.facts(mapped).user_remapping


def test_an_engine_that_says_little_is_no_error():
    engine_facts.check({})
    assert engine_facts.facts({}).version == "unknown"
    assert engine_facts.differences({}) == []


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("write /var/lib/docker/tmp/x: no space left on device", "openmle sandbox prune"),
        ("invalid mount config for type bind: bind source path does not exist: /x", "another machine or container"),
        ("unknown or invalid runtime name: runsc", "OPENMLE_RUNTIME"),
        ("exec /opt/venv/bin/python: exec format error", "another kind of processor"),
    ],
)
def test_what_an_engine_says_comes_with_what_to_do(said, advice):
    assert advice in engine.advice_on(said)
    assert engine.advice_on("something else") == ""
