"""What killed processes left, found and removed: folders, control groups, containers."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import time

import pytest

from openmle_env import scratch
from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import cgroup, engine, extras, image, image_engine, leftovers, reaper
from openmle_env.sandbox.reaper import Leftover
from openmle_env.sandbox.requirements import parse

KILLED = """
import os, signal
from openmle_env import scratch
with scratch.folder() as folder:
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")


@pytest.fixture
def scratch_folder(home):
    """One that a killed process left."""
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    assert done.returncode == -9
    return done.stdout.strip()


def ours(found, *paths):
    return [item for item in found if item.id in paths]


def test_folders_of_the_dead_and_packages_that_nobody_used(home, no_engine, scratch_folder):
    old, new, broken = (home / extras.NAME / name for name in ("old", "new", "broken"))
    for folder in (old, new, broken):
        folder.mkdir(parents=True)
    for folder in (old, new):
        (folder / extras.MARKER).write_text("{}")
    os.utime(old / extras.MARKER, (0, time.time() - 100 * 86400))
    survey = leftovers.survey()
    assert "No Docker engine answers" in survey.engine_trouble
    found = {item.id: item.kind for item in survey.found if item.id.startswith(str(home))}
    assert found == {scratch_folder: "scratch folder", str(old): "packages", str(broken): "packages"}
    gone = leftovers.remove(tuple(item for item in survey.found if item.id in found))
    assert {item.id for item in gone} == set(found)
    assert [path.name for path in (home / extras.NAME).iterdir()] == ["new"]
    assert not ours(leftovers.survey().found, *found)


def test_packages_that_are_half_removed_are_not_used(home, monkeypatch):
    wanted = parse("openmle_tiny", "the test")
    folder = extras.folder(wanted)
    folder.mkdir(parents=True)
    (folder / extras.MARKER).write_text("{}")
    (folder / "module.py").touch()

    def killed(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        leftovers.remove((Leftover(kind="packages", id=str(folder), reason="the test"),))
    with pytest.raises(SandboxUnavailableError, match="not installed"):
        extras.find(wanted)


def test_a_folder_whose_owner_lives_is_no_leftover(home, no_engine):
    with scratch.folder() as folder:
        assert not ours(leftovers.survey().found, str(folder))
        leftovers.remove((Leftover(kind="scratch folder", id=str(folder), reason="a mistake"),))
        assert folder.is_dir()


def test_control_groups_of_the_dead(home, no_engine, unavailable):
    sites = cgroup.sites()
    if not sites:
        unavailable("no control group can be made here")
    place = sites[0].folder
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    dead = place / f"{cgroup.PREFIX}{process.pid}-1-1"
    live = place / f"{cgroup.PREFIX}{os.getpid()}-{cgroup._start_time(os.getpid())}-999999"
    dead.mkdir()
    live.mkdir()
    try:
        found = leftovers.survey().found
        assert [item.kind for item in ours(found, str(dead), str(live))] == ["control group"]
        assert [item.id for item in leftovers.remove(tuple(ours(found, str(dead))))] == [str(dead)]
        assert not dead.exists()
        assert live.exists()
    finally:
        live.rmdir()


@pytest.mark.docker
def test_containers_of_the_dead(home, docker_image):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        own = reaper.owner(process.pid) or reaper.owner(os.getpid()).rpartition(" ")[0] + " 1"
    with engine.connect() as client:
        labels = {**reaper.labels(3600), reaper.OWNER_LABEL: own}
        made = client.api.create_container(docker_image, labels=labels)["Id"]
    try:
        (item,) = ours(leftovers.survey().found, made)
        assert (item.kind, item.reason) == ("container", "its owner is dead")
        leftovers.remove((item,))  # another process's reaper may be faster
        assert not ours(leftovers.survey().found, made)
    finally:
        with engine.connect() as client:
            if any(item["Id"] == made for item in client.api.containers(all=True)):
                client.api.remove_container(made, force=True)


@pytest.mark.docker
def test_images_of_other_environments_count_where_asked_for(home, docker_engine):
    own, other = (f"{image.REPOSITORY}:of-the-tests-{name}" for name in ("own", "other"))
    recipes = {own: image.recipe(), other: "0" * 64}
    with engine.connect() as client:
        for name, recipe in recipes.items():
            changes = [f"LABEL {label}={recipe}" for label in (reaper.RECIPE_LABEL, image.ENVIRONMENT_LABEL)]
            image_engine.import_layer(client, iter([empty_layer()]), name=name, changes=changes)
        try:
            assert not ours(leftovers.survey().found, own, other)
            found = ours(leftovers.survey(images=True).found, own, other)
            assert [item.id for item in found] == [other]
            assert leftovers.remove(tuple(found)) == tuple(found)
            assert image_engine.attributes(client, other) is None
        finally:
            for name in recipes:
                image_engine.remove(client, name)


def empty_layer() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("file"))
    return file.getvalue()
