"""``openmle list`` with filters, ``openmle pack new`` and ``openmle pack index``."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from openmle_env.commands import tasks
from openmle_env.task_registry import index

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def packs(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the setting names, with one pack."""
    shutil.copytree(pack, tmp_path / "packs" / "odd")
    monkeypatch.setenv("OPENMLE_PACKS", str(tmp_path / "packs"))
    return tmp_path / "packs"


def test_list_says_how_many_of_how_many(openmle, packs) -> None:
    everything = len(index.builtin()) + 1
    result = openmle("list", "--source", packs, "--json")
    (entry,) = json.loads(result.stdout)
    assert (entry["slug"], entry["source"], entry["folder"]) == ("odd", str(packs), str(packs / "odd"))
    assert f"1 of {everything} tasks" in result.stderr
    assert "odd" in openmle("list", "numbers").stdout
    assert f"0 of {everything} tasks" in openmle("list", "--max-size", "1B").stderr


def test_list_takes_no_value_that_no_task_has(openmle) -> None:
    result = openmle("list", "--modality", "tabula", "--json")
    assert (result.code, "Did you mean 'tabular'" in result.stderr) == (2, True)


def test_list_leaves_out_what_is_broken_and_says_so(openmle, packs) -> None:
    (packs / "odd" / "pack.yaml").write_text("titel: x\n")
    result = openmle("list", "--json")
    assert (result.code, "Left out:" in result.stderr, "'titel'" in result.stderr) == (0, True, True)
    assert {entry["source"] for entry in json.loads(result.stdout)} == {"built-in"}


def test_a_long_list_is_printed_line_by_line_and_just_as_whole(openmle, monkeypatch) -> None:
    short = openmle("list").stdout
    monkeypatch.setattr(tasks, "WIDE", 0)
    long = openmle("list").stdout
    assert len(long.splitlines()) == len(index.builtin()) + 1
    for word in ("prepared", "titanic", "accuracy"):
        assert word in short
        assert word in long


def test_a_suite_is_saved_listed_and_its_gaps_are_told(openmle, packs, tmp_path) -> None:
    result = openmle("list", "--tier", "2", "--save-suite", tmp_path / "mine.json", "titanic")
    assert result.code == 0
    assert result.stderr.splitlines()[-1] == f"Suite: {tmp_path / 'mine.json'}"
    content = json.loads((tmp_path / "mine.json").read_text())
    assert content["tasks"][0]["version"] == index.builtin()["titanic"].version
    content["tasks"].append("gone")
    (tmp_path / "mine.json").write_text(json.dumps(content))
    result = openmle("list", "--suite", tmp_path / "mine.json")
    assert "titanic" in result.stdout
    assert "1 of the 2 tasks of the suite 'mine' cannot be had here" in result.stderr
    assert "gone" in result.stderr


def test_new_and_index(openmle, tmp_path) -> None:
    result = openmle("pack", "new", "Odd One", "--to", tmp_path / "mine", "--template", "text")
    assert result.code == 0, result.stderr
    folder = tmp_path / "mine" / "odd-one"
    assert result.stdout.splitlines()[-1] == f"Pack: {folder}"
    assert "made up" in result.stderr
    assert openmle("pack", "new", "Odd One", "--to", tmp_path / "mine").code == 2
    document = json.loads(openmle("pack", "index", tmp_path / "mine", "--json").stdout)
    assert [entry["slug"] for entry in document["tasks"]] == ["odd-one"]
    assert index.read(tmp_path / "mine" / "index.json").keys() == {"odd-one"}
    (folder / "pack.yaml").write_text("nope: pack\n")
    result = openmle("pack", "index", tmp_path / "mine")
    assert (result.code, "'nope'" in result.stderr) == (1, True)
    assert index.read(tmp_path / "mine" / "index.json").keys() == {"odd-one"}
    assert openmle("pack", "index", tmp_path / "nothing").code == 1
