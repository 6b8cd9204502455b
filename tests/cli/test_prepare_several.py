"""``openmle prepare`` with several tasks, a suite, or nothing but what has to be fetched."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest


@pytest.fixture
def broken(pack, tmp_path):
    """The same pack with answers that are none."""
    root = tmp_path / "broken"
    shutil.copytree(pack, root)
    (root / "data" / "private" / "test_answer.csv").write_text("id\n1\n")
    return root


def test_one_task_that_fails_keeps_no_other_from_being_made(openmle, pack, broken, tmp_path):
    empty, same = tmp_path / "empty", tmp_path / "more" / "broken"
    empty.mkdir()
    shutil.copytree(broken, same)
    result = openmle("prepare", empty, broken, same, pack)
    assert result.code == 1
    assert "odd prepared. Public files:" in result.stdout
    summary = result.stderr.partition("3 of 4 failed:\n")[2]
    assert f"  {empty}: {empty} is no task pack" in summary
    assert summary.count("  broken: ") == 2
    document = json.loads(openmle("prepare", empty, broken, pack, "--json").stdout)
    assert [entry["task"] for entry in document] == ["odd", str(empty), "broken"]
    assert [entry.get("error", {}).get("fault") for entry in document] == [None, "task", "task"]


def test_a_misspelt_name_ends_it_before_anything_is_made(openmle, pack, tmp_path):
    assert openmle("prepare", pack, "titanci").code == 2
    assert not (tmp_path / "home" / "data").exists()


def test_a_suite_is_prepared_without_the_members_that_are_not_here_as_it_states_them(openmle, pack, broken, tmp_path):
    suite = tmp_path / "mine.json"
    tasks = [{"task": str(broken), "version": "7"}, str(pack), "no-such-task"]
    suite.write_text(json.dumps({"suite": "mine", "tasks": tasks}))
    result = openmle("prepare", "--suite", suite)
    assert (result.code, "odd prepared" in result.stdout) == (1, True)
    assert "2 of 3 failed:" in result.stderr
    assert "version 7" in result.stderr
    assert "There is no task 'no-such-task'" in result.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "Name the tasks, or a suite"),
        (["titanic", "--all"], "one of the three"),
        (["--all", "--suite", "smoke"], "one of the three"),
        (["--suite", "smok"], "Did you mean 'smoke'"),
        (["titanic", "--fetch-only", "--force"], "Leave one of the two out"),
    ],
)
def test_what_cannot_be_meant_is_wrong_use(openmle, more, message):
    result = openmle("prepare", *more)
    assert (result.code, message in result.stderr) == (2, True)


def test_fetching_only_makes_nothing_and_says_where_the_files_are(openmle, pack, tmp_path):
    content = b"raw data"
    (tmp_path / "raw.bin").write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    address = (tmp_path / "raw.bin").as_uri()
    download = f"{{registry: url, url: '{address}', file: a.bin, size: {len(content)}, sha256: {sha256}}}"
    with (pack / "pack.yaml").open("a") as file:
        file.write(f"downloads: [{download}]\n")
    place = tmp_path / "home" / "downloads" / sha256
    (document,) = json.loads(openmle("prepare", pack, "--fetch-only", "--json").stdout)
    assert document["fetched"] == [{"file": "a.bin", "sha256": sha256, "size": 8, "path": str(place)}]
    assert place.read_bytes() == content
    assert not (tmp_path / "home" / "data").exists()
    (tmp_path / "raw.bin").unlink()
    assert openmle("prepare", pack, "--fetch-only").stdout == "odd: 1 file is here, 0.0 MB.\n"
