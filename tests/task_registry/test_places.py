"""Folders of packs: those of a setting, those of other packages, and names that stand in several of them."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import PackError, UnknownNameError, UsageError
from openmle_env.task_registry import catalogue, index, make_index, places
from openmle_env.task_registry.lookup import find

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def folder(write_pack: Callable[..., Path], finished, monkeypatch) -> Path:
    """A folder that the setting names, with two packs."""
    for name in ("AI4Code", "pets"):
        write_pack(finished, name=name)
    root = write_pack(finished, name="pets").parent
    monkeypatch.setenv("OPENMLE_PACKS", str(root))
    return root


@pytest.mark.parametrize("indexed", [False, True])
def test_packs_of_a_folder_have_names(folder, *, indexed):
    if indexed:
        make_index.write(folder, folder / "index.json")
    assert find("pets").root == folder / "pets"
    assert find("ai4code") == find("AI4Code") == find("OpenMLE/ai4code-v0")
    assert find("titanic").root == index.PACKS.resolve() / "titanic"
    with pytest.raises(UnknownNameError, match="Did you mean 'ai4code'"):
        find("ai4cod")
    found = {task.entry.slug: task for task in catalogue.known()}
    assert (found["ai4code"].source, found["ai4code"].folder) == (str(folder), folder / "AI4Code")
    assert found["titanic"].source == "built-in"


def test_nothing_is_opened_for_a_name_but_its_own_pack(folder):
    (folder / "broken").mkdir()
    (folder / "broken" / "pack.yaml").write_text("no: pack")
    (folder / "_drafts").mkdir()
    assert find("pets").slug == "pets"
    faults: list[str] = []
    assert "pets" in {task.entry.slug for task in catalogue.known(faults.append)}
    assert len(faults) == 1
    assert "broken" in faults[0]
    with pytest.raises(PackError, match="broken"):
        catalogue.known()


def test_a_folder_of_thousands_is_searched_once(folder, monkeypatch):
    searched = []
    real = places.pack_folders
    for module in (places, catalogue):
        monkeypatch.setattr(module, "pack_folders", lambda where: searched.append(where) or real(where))
    assert len(catalogue.known()) == len(index.builtin()) + 2
    assert searched == [folder]


def test_a_pack_that_may_not_be_looked_into_is_told_of(folder, monkeypatch):
    real = Path.lstat

    def refuse(path):
        if path.parent == folder / "pets":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path)

    monkeypatch.setattr(Path, "lstat", refuse)
    assert "pets" in places.pack_folders(folder)


def test_a_name_of_two_different_packs_is_refused_with_both_places(folder, write_pack, finished):
    write_pack(finished, name="titanic")
    with pytest.raises(UsageError) as caught:
        find("titanic")
    for said in ("built-in", str(index.PACKS.resolve() / "titanic"), str(folder / "titanic"), "Give the folder"):
        assert said in str(caught.value)
    assert find(folder / "titanic").slug == "titanic"


def test_the_same_pack_in_two_places_is_one(folder, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    (other / "pets").symlink_to(folder / "pets")
    monkeypatch.setenv("OPENMLE_PACKS", f"{folder}:{other}:{folder}")
    assert find("pets").root == folder / "pets"
    assert len(places.places()) == 3


def test_a_folder_with_another_name_than_its_task_is_refused(folder, write_pack, finished):
    write_pack(finished, {"pack.yaml": "slug: cats\n"}, name="dogs")
    with pytest.raises(PackError, match="holds the task 'cats'"):
        find("dogs")
    write_pack({"pack.yaml": "titel: x\n"}, name="empty")
    with pytest.raises(PackError, match=r"holds the task 'cats'(?s:.)*titel"):
        make_index.write(folder, folder / "index.json")
    assert not (folder / "index.json").exists()


def test_an_index_that_gives_a_pack_another_name_is_refused(folder):
    (entry, *_) = make_index.write(folder, folder / "index.json")
    (folder / "index.json").write_text(index.text_of([entry._replace(slug="wine")]))
    with pytest.raises(PackError, match=r"holds the task 'wine', and it holds 'ai4code'.*openmle pack index"):
        find("wine")


def test_two_folders_of_one_name_are_refused(folder, write_pack, finished):
    write_pack(finished, name="Pets")
    with pytest.raises(PackError, match=r"Pets and .*pets are both the task 'pets'"):
        find("ai4code")


@pytest.mark.parametrize(
    ("name", "message"), [("nothing", "no folder .*nothing.*Correct OPENMLE_PACKS"), ("pets", "is a task pack itself")]
)
def test_a_setting_that_names_no_folder_of_packs(folder, write_pack, finished, monkeypatch, *, name, message):
    write_pack(finished, {"pack.yaml": "title: Pets\n"}, name="pets")
    monkeypatch.setenv("OPENMLE_PACKS", str(folder / name))
    with pytest.raises(PackError, match=message):
        find("titanic")


@pytest.fixture
def site(tmp_path, monkeypatch, write_pack, finished) -> Path:
    """A folder of ``sys.path`` with a package that offers packs; importing it fails."""
    root = tmp_path / "site"
    inner = root / "our_tasks" / "inner"
    inner.mkdir(parents=True)
    (root / "our_tasks" / "__init__.py").write_text("raise RuntimeError('imported')")
    (inner / "__init__.py").write_text("raise RuntimeError('imported')")
    write_pack(finished, name="pets").rename(inner / "pets")
    info = root / "our_tasks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: our-tasks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[console_scripts]\nours = our_tasks:main\n\n"
        "[openmle_env.packs]\n# our own\nours = our_tasks.inner\ngone = no_such\nfrozen = os\n"
    )
    (root / "other-2.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(root))
    return root


def test_packs_of_another_package_are_found_without_importing_it(site):
    assert find("pets").root == site / "our_tasks" / "inner" / "pets"
    assert [place.name for place in places.places()] == ["built-in", "ours"]
    assert "our_tasks" not in sys.modules


def test_a_package_that_is_broken_keeps_no_other_task_from_being_found(site):
    (site / "our_tasks" / "inner" / "index.json").write_text("{")
    assert find("titanic").slug == "titanic"
    with pytest.raises(UnknownNameError, match=r"no task 'pets'.*Left out: .*index\.json is no index"):
        find("pets")


def test_our_look_at_entry_points_sees_what_the_standard_library_sees(site):
    from importlib import metadata

    theirs = {(point.name, point.module) for point in metadata.entry_points(group=places.GROUP)}
    assert theirs == {("ours", "our_tasks.inner"), ("gone", "no_such"), ("frozen", "os")}
    assert {pair for folder in sys.path for pair in places._entry_points(folder)} == theirs
