"""An image with extra packages, built once by the command, as the engine has it; and images that boxes cannot run."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from docker import DockerClient

from openmle_env.errors import SandboxUnavailableError, UsageError
from openmle_env.main import invoke
from openmle_env.sandbox import (
    engine,
    extras,
    image,
    image_build,
    image_engine,
    image_install,
    packages,
    pip,
    reaper,
    requirements,
    select,
)
from openmle_env.sandbox.docker import DockerSandbox
from openmle_env.types import Job
from tests.sandbox.wheels import ANSWER, TINY, make_tiny, make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

pytestmark = pytest.mark.docker

MARK = "QmVsb25ncyB0byB0aGUgYnVpbGQgYWxvbmU"
NAME = "openmle-env-test-extras:1"


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Wheels, a requirements file, one that stands for CUDA's, and certificates."""
    folder = tmp_path_factory.mktemp("given")
    make_tiny(folder / "wheels")
    make_wheel(folder / "wheels", "openmle_cuda", files={"openmle_cuda.py": "torch = 1\n"})
    (folder / "requirements.txt").write_text(f"{TINY} ==1.0  # small\n")
    (folder / "cuda.txt").write_text("openmle_cuda\n")
    (folder / "ca.pem").write_text(f"-----BEGIN CERTIFICATE-----\n{MARK}\n-----END CERTIFICATE-----\n")
    return folder


def arguments(given):
    return ["--requirements", given / "requirements.txt", "--wheels", given / "wheels"]


@pytest.fixture(scope="module")
def built(docker_image, given):
    """The document of the build of an image for GPUs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image, "CUDA", given / "cuda.txt")
        wanted = image.for_gpus(requirements.read(given / "requirements.txt"))
        out = io.StringIO()
        patch.setattr("sys.stdout", out)
        command = ["sandbox", "build", "--cuda", "--name", NAME, "--certificates", given / "ca.pem", *arguments(given)]
        code = invoke([str(item) for item in [*command, "--json"]])
    assert code == 0, out.getvalue()
    yield json.loads(out.getvalue()) | {"wanted": wanted}
    with engine.connect() as client:
        image_engine.remove(client, NAME)


def test_a_program_imports_what_was_added(built):
    sandbox = DockerSandbox(NAME)
    program = f"""
import {TINY} as tiny, numpy, openmle_cuda, os, sys
print(tiny.value, openmle_cuda.torch, os.listdir(os.path.dirname(tiny.__file__) + "/tests"), os.listdir("/tmp"))
print([os.path.exists(module.__spec__.cached) for module in (tiny, numpy)], hasattr(sys, "started"))
"""
    execution = sandbox.run(Job(program=program, collect=()))
    sandbox.close()
    assert execution.stdout.splitlines() == [f"{ANSWER} 1 [] []", "[True, True] False"], execution.stderr


def test_it_is_one_layer_with_a_recipe_of_its_own(built):
    with engine.connect() as client:
        attributes = client.images.get(NAME).attrs
    assert attributes["Id"] == built["id"]
    assert len(attributes["RootFS"]["Layers"]) == 1
    assert attributes["Config"]["User"] == "10001:10001"
    labels = attributes["Config"]["Labels"]
    assert labels[reaper.RECIPE_LABEL].startswith(image.own_name(built["wanted"]).partition(":")[2])
    assert labels[image.ENVIRONMENT_LABEL] == image.recipe()
    assert not {image_install.BUILD_LABEL, reaper.OWNER_LABEL, reaper.EXPIRES_LABEL} & set(labels)


def test_neither_certificates_nor_pip_nor_names_of_the_build_are_anywhere_in_it(built):
    with engine.connect() as client:
        data = b"".join(client.images.get(NAME).save())
    assert b"openmle_tiny" in data
    for trace in (MARK.encode(), b"openmle-build", b"pip.conf", b"pip/_internal"):
        assert trace not in data, trace


def test_all_of_that_is_in_the_context_of_the_build(given):
    file = io.BytesIO()
    source = pip.Source(wheels=given / "wheels", certificates=given / "ca.pem")
    image_install.context(file, requirements.read(given / "requirements.txt"), source)
    assert MARK.encode() in file.getvalue()
    with tarfile.open(fileobj=file) as tar:
        names = {Path(info.name).name for info in tar}
    assert {"Dockerfile", "pip.zip", "pip.conf", "constraints.txt", "requirements.txt", "certificates.pem"} < names


def test_nothing_of_the_build_is_left(built):
    with engine.connect() as client:
        assert not client.api.images(filters={"label": image_install.BUILD_LABEL}, all=True, quiet=True)


def test_it_is_not_built_again(built, given, monkeypatch):
    monkeypatch.setattr(image, "CUDA", given / "cuda.txt")
    monkeypatch.setattr(image_build, "build", lambda *_, **__: pytest.fail("built again"))
    read = requirements.read(given / "requirements.txt")
    assert image_build.ensure(NAME, requirements=read, cuda=True) == built["id"]


def test_packages_that_cannot_be_had_leave_nothing(docker_image, given):
    source = pip.Source(wheels=given / "wheels", certificates=given / "ca.pem")
    name = "openmle-env-test-extras:broken"
    with pytest.raises(UsageError, match="pip download"):
        image_build.build(name, requirements=requirements.parse("openmle_no_such", "the test"), source=source)
    with engine.connect() as client:
        assert image_engine.attributes(client, name) is None
        own = {"label": f"{reaper.OWNER_LABEL}={reaper.owner(os.getpid())}"}
        assert not client.api.images(filters=own, all=True, quiet=True)


def command_line(buildkit: str, unavailable: Callable[[str], NoReturn]) -> str:
    """A docker command with this builder: from version 23 on, BuildKit is a plugin that may be missing."""
    found = [Path(folder, "docker") for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for path in [str(path) for path in found if os.access(path, os.X_OK)]:
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        old = re.search(r"version (\d+)", version)
        plugin = subprocess.run([path, "buildx", "version"], capture_output=True, check=False).returncode == 0
        if buildkit == "0" or plugin or (old and int(old[1]) < 23):
            return path
    return unavailable("there is no docker command with this builder")


@pytest.mark.parametrize("buildkit", ["0", "1"])
def test_the_dockerfile_works_with_both_builders(docker_image, given, tmp_path, buildkit, unavailable):
    docker = command_line(buildkit, unavailable)
    with (tmp_path / "context.tar").open("w+b") as file:
        wanted = requirements.read(given / "requirements.txt")
        image_install.context(file, wanted, pip.Source(wheels=given / "wheels"))
    tag = f"openmle-env-test-extras:buildkit{buildkit}"
    given_arguments = image_install.arguments(docker_image, f"test{buildkit}", cuda=False)
    options = [item for name, value in given_arguments.items() for item in ("--build-arg", f"{name}={value}")]
    with (tmp_path / "context.tar").open("rb") as file:
        done = subprocess.run(
            [docker, "build", "--network", "none", "--tag", tag, *options, "-"],
            stdin=file, capture_output=True, text=True, check=False, env={**os.environ, "DOCKER_BUILDKIT": buildkit},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with engine.connect() as client:
        image_engine.remove(client, tag)


def test_the_dockerfile_needs_no_buildkit():
    lines = [line for line in image_install.recipes.text("Dockerfile").splitlines() if not line.startswith("#")]
    assert not [line for line in lines if "--mount" in line or "<<" in line]
    assert not image_install.recipes.text("Dockerfile").startswith("# syntax")


# --- images that boxes cannot run -------------------------------------------------------------------------------------


def empty_layer() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("file"))
    return file.getvalue()


@pytest.fixture
def imported(docker_engine):
    """Makes a tiny image with these labels; removes all of them."""
    made = []

    def make(*changes: str) -> str:
        name = f"openmle-env-test-extras:imported{len(made)}"
        with engine.connect() as client:
            image_engine.import_layer(client, iter([empty_layer()]), name=name, changes=changes)
        made.append(name)
        return name

    yield make
    with engine.connect() as client:
        for name in made:
            image_engine.remove(client, name)


def test_an_image_that_an_engine_called_latest_gets_its_own_name(imported):
    """Podman 4 does so."""
    name = imported().partition(":")[0]
    with engine.connect() as client:
        made = image_engine.import_layer(client, iter([empty_layer()]), name=f"{name}:latest", changes=["LABEL a=b"])
        image_engine._see_name(client, made, f"{name}:own")
        try:
            assert client.images.get(f"{name}:own").id == made
            assert image_engine.attributes(client, f"{name}:latest") is None
        finally:
            image_engine.remove(client, f"{name}:own")


def check(name):
    with engine.connect() as client:
        image.check(client, name, client.info())


def test_the_own_image_is_good_and_looked_into_once(docker_image, monkeypatch):
    monkeypatch.setattr(image, "_probe", lambda *_: pytest.fail("started"))
    check(docker_image)


def test_an_image_that_was_not_made_here_is_asked_once(docker_image, monkeypatch):
    monkeypatch.setattr(image, "PYTHON_LABEL", "another")
    monkeypatch.setattr(image, "_good", set())
    probe, asked = image._probe, []
    monkeypatch.setattr(image, "_probe", lambda *given: asked.append(1) or probe(*given))
    check(docker_image)
    check(docker_image)
    assert asked == [1]


def test_images_that_boxes_cannot_run_are_told_before_anything_runs(imported):
    with pytest.raises(SandboxUnavailableError, match=r"has no image 'openmle-env-no-such:1'\. Build it"):
        check("openmle-env-no-such:1")
    with pytest.raises(SandboxUnavailableError, match=f"no Python that works at {packages.VENV}"):
        check(imported())
    with pytest.raises(SandboxUnavailableError, match=r"has Python 2\.7 at .* and this environment is of Python"):
        check(imported(f"LABEL {image.PYTHON_LABEL}=2.7"))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"ServerVersion": "19.03.15"}, "boxes need 20.10 or newer"),
        ({"Architecture": "aarch64"}, "the engine runs on arm64"),
        ({"Runtimes": {"runc": {}}}, "The engine has no runtime 'runsc'"),
    ],
)
def test_an_engine_that_cannot_run_boxes_is_not_chosen(docker_image, monkeypatch, facts, told):
    info = DockerClient.info
    monkeypatch.setattr(DockerClient, "info", lambda client: {**info(client), **facts})
    monkeypatch.setenv("OPENMLE_RUNTIME", "runsc" if "Runtimes" in facts else "")
    report = select.docker_report(docker_image)
    assert not report.usable
    assert told in f"{report.reason} {report.remedy}"


def test_a_registry_that_cannot_be_reached_takes_no_minutes(docker_engine):
    began = time.monotonic()
    with pytest.raises(SandboxUnavailableError, match="--base host"):
        image_build.build(NAME, base="127.0.0.1:1/none:1")
    assert time.monotonic() - began < image_engine.PULL_SECONDS * 2


@pytest.mark.parametrize("base", ["Upper", "a b", "--x"])
def test_a_base_that_no_image_can_be_called(base):
    with pytest.raises(UsageError, match="by --base"):
        image_build.build(NAME, base=base)


@pytest.mark.parametrize(("backend", "warm"), [("docker", "off"), ("bubblewrap", "forked")])
def test_a_job_names_what_it_needs(docker_image, given, backend, warm):
    """Told what to do where it was not installed; then with it, and without it as before."""
    program = f"try:\n    import {TINY} as tiny\n    print(tiny.value)\nexcept ImportError:\n    print('none')"
    job = Job(program=program, collect=(), modules=(), session="one")
    asking = replace(job, requirements=f"{TINY} ==1.0  # small\n")
    sandbox = select.create(backend, warm=warm)
    try:
        wanted = requirements.of(asking)
        remove_extras(wanted)
        with pytest.raises(SandboxUnavailableError, match=r"openmle sandbox build .*--requirements FILE"):
            sandbox.run(asking)
        assert invoke([str(item) for item in ["sandbox", "build", "--sandbox", backend, *arguments(given)]]) == 0
        said = [sandbox.run(each).stdout.strip() for each in (asking, job, asking)]
        assert said == [str(ANSWER), "none", str(ANSWER)]
    finally:
        sandbox.close()
        remove_extras(wanted)


def remove_extras(wanted):
    shutil.rmtree(extras.folder(wanted), ignore_errors=True)
    with engine.connect() as client:
        image_engine.remove(client, image.own_name(wanted))
