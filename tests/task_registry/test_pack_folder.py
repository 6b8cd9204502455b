from __future__ import annotations

import os
from pathlib import Path

import pytest

from openmle_env.errors import PackError
from openmle_env.task_registry.folder import default_slug, open_pack
from openmle_env.task_registry.spec import build


def test_a_plain_folder_is_a_pack(make_pack, finished):
    pack = make_pack(finished)
    assert (pack.slug, pack.version, pack.is_finished, pack.config.metric.name) == ("pets", "0", True, "pack")
    assert pack.description == "Tell cats from dogs."


def test_a_pack_with_a_script_need_not_be_finished(make_pack, unfinished):
    pack = make_pack(unfinished)
    assert (pack.slug, pack.version, pack.is_finished) == ("pets", "3", False)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"data/private/test_answer.csv": None}, "has no answers: data/private/test_answer.csv is missing"),
        ({"data/public/sample_submission.csv": None}, "is no task pack"),
        ({"data/public/description.txt": None}, "no description"),
        ({"utils/metric.py": None}, "no metric.*openmle metrics"),
        ({"pack.yaml": "metric: {name: acuracy}"}, "Did you mean 'accuracy'"),
        (
            {"pack.yaml": "metric: {name: accuracy, higher_is_better: false}"},
            "line 1: metric.higher_is_better False: of 'accuracy' it is true",
        ),
        ({"pack.yaml": "description: about.md"}, "description is said to be about.md"),
        ({"pack.yaml": "broken: {program: references/x.py, status: timeout}"}, "broken program is said to be"),
        ({"pack.yaml": "references: [{name: a, title: b, program: references/x.py}]"}, "reference 'a' is said to be"),
    ],
)
def test_what_a_pack_must_hold(write_pack, finished, changes, expected):
    root = write_pack(finished, changes)
    with pytest.raises(PackError, match=expected):
        open_pack(root)


def test_a_script_needs_something_to_read(write_pack, unfinished):
    with pytest.raises(PackError, match="no raw/"):
        open_pack(write_pack(unfinished, {"raw/pets.csv": None}))


def test_an_empty_folder_is_told_what_a_pack_is(tmp_path):
    with pytest.raises(PackError, match=r"is no task pack.*data/private/test_answer\.csv"):
        open_pack(tmp_path)


def test_a_file_is_no_pack(tmp_path):
    (tmp_path / "pack.zip").write_bytes(b"")
    with pytest.raises(PackError, match="is not a folder"):
        open_pack(tmp_path / "pack.zip")


@pytest.mark.parametrize("place", ["raw/link.csv", "utils/link.py", "raw/deep/link.csv"])
def test_links_are_refused(write_pack, unfinished, tmp_path, place):
    root = write_pack(unfinished)
    (tmp_path / "secret").write_text("x")
    (root / place).parent.mkdir(exist_ok=True)
    (root / place).symlink_to(tmp_path / "secret")
    with pytest.raises(PackError, match=r"symbolic link.*copy it in"):
        open_pack(root)


@pytest.mark.parametrize("part", ["raw", "pack.yaml"])
def test_a_part_may_not_be_a_link(write_pack, unfinished, tmp_path, part):
    root = write_pack(unfinished)
    (root / part).rename(tmp_path / "elsewhere")
    (root / part).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PackError, match="symbolic link"):
        open_pack(root)


def test_a_linked_description_is_not_followed(write_pack, unfinished, tmp_path):
    root = write_pack(unfinished)
    (root / "about.md").unlink()
    (root / "about.md").symlink_to("/etc/hostname")
    with pytest.raises(PackError, match="symbolic link"):
        open_pack(root)


def test_a_long_folder_name_still_gives_a_pack(write_pack, unfinished):
    assert (
        open_pack(
            write_pack(
                unfinished,
                {"pack.yaml": None, "data/public/description.md": "x"} | {"utils/metric.py": "x = 1"},
                name="x" * 101,
            )
        ).slug
        == "x" * 100
    )


def test_a_name_that_is_no_utf8_is_refused(write_pack, unfinished):
    root = write_pack(unfinished)
    (root / os.fsdecode(b"utils/\xff.py")).write_text("")
    with pytest.raises(PackError, match="is not UTF-8"):
        open_pack(root)


def test_a_loop_of_links_is_no_folder(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(PackError, match="is not a folder"):
        open_pack(tmp_path / "loop")


def test_a_pipe_as_pack_yaml_is_refused(write_pack, unfinished):
    root = write_pack(unfinished, {"pack.yaml": None})
    os.mkfifo(root / "pack.yaml")
    with pytest.raises(PackError, match="named pipe"):
        open_pack(root)


def test_pipes_are_refused(write_pack, unfinished):
    root = write_pack(unfinished)
    os.mkfifo(root / "raw/pipe")
    with pytest.raises(PackError, match="named pipe"):
        open_pack(root)


def test_the_hash_covers_content_and_names_and_nothing_else(write_pack, unfinished):
    root = write_pack(unfinished)
    first = open_pack(root).hash
    (root / "utils/__pycache__").mkdir()
    (root / "utils/__pycache__/prepare.pyc").write_bytes(b"x")
    (root / "raw/.DS_Store").write_bytes(b"x")
    (root / "README.md").write_text("not a part of the pack")
    assert open_pack(root).hash == first
    (root / "raw/pets.csv").rename(root / "raw/animals.csv")
    renamed = open_pack(root).hash
    (root / "raw/animals.csv").write_text("id\n")
    assert len({first, renamed, open_pack(root).hash}) == 3


def test_the_hash_is_the_same_in_any_place(write_pack, unfinished):
    other = {**unfinished, "pack.yaml": unfinished["pack.yaml"]}
    assert open_pack(write_pack(unfinished, name="a")).hash == open_pack(write_pack(other, name="b")).hash


@pytest.mark.parametrize(
    ("folder", "slug"),
    [
        ("My Task (2)", "my-task-2"),
        ("titanic", "titanic"),
        ("???", "task"),
        ("x" * 99 + "-y", "x" * 99),
        ("x" * 255, "x" * 100),
    ],
)
def test_a_folder_gives_a_name(folder, slug):
    assert default_slug(Path("/packs") / folder) == slug


def test_an_unprepared_plain_pack_has_no_specification_yet(make_pack, finished, home):
    with pytest.raises(PackError, match="openmle prepare"):
        build(make_pack(finished), None)
