"""Index files: what is read, what is refused, and which changes of a pack ask for a new version."""

from __future__ import annotations

import json

import pytest

from openmle_env.errors import InfrastructureError, PackError
from openmle_env.task_registry import index, make_index, versions
from openmle_env.task_registry.folder import open_pack

PACK = """\
version: "1.0.0"
title: Pets
metric: {name: accuracy}
data: {licence: CC0-1.0}
downloads:
  - {registry: pypi, package: pets, version: "1", file: pets.whl, size: 1000, sha256: SHA}
""".replace("SHA", "a" * 64)


@pytest.fixture
def root(write_pack, finished):
    return write_pack(finished, {"pack.yaml": PACK})


def test_an_entry_says_what_the_pack_says(root):
    entry = make_index.entry_of(open_pack(root))
    assert (entry.slug, entry.folder, entry.title, entry.version) == ("pets", "pets", "Pets", "1.0.0")
    assert (entry.metric, entry.higher_is_better, entry.licence) == ("accuracy", True, "CC0-1.0")
    assert (entry.fetched, entry.gpus, entry.tier) == (True, 0, 2)
    carried = sum(path.stat().st_size for path in (root / "data").rglob("*") if path.is_file())
    assert entry.size == carried + 1000


def test_what_is_written_is_read_again(root):
    made = make_index.write(root.parent, root.parent / "index.json")
    assert dict(index.read(root.parent / "index.json")) == {"pets": made[0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-3], "no index of task packs"),
        (lambda text: text.replace('"format": 3', '"format": 1'), "its format is 1"),
        (lambda text: text.replace('"pets", "1.0.0"', '"pets", 1'), "'version' is of type int"),
        (lambda text: text.replace('"1.0.0", ', ""), "another number of values"),
        (lambda text: text.replace(', 0, "", 2]', ', 0, "", true]'), "'tier' is of type bool"),
        (lambda text: text.replace(', true, 0, "", 2]', f'{"0" * 400}, true, 0, "", 2]'), "'size' is out of range"),
        (lambda text: text.replace('"pets", "Pets"', '"../pets", "Pets"'), "not the name of a folder"),
        (lambda _: "[" * 100_000, "no index of task packs"),
        (lambda _: '{"tasks": 3}', "no object with a list"),
        (lambda text: json.dumps({**(all_of := json.loads(text)), "tasks": all_of["tasks"] * 2}), "stands twice"),
    ],
)
def test_a_file_that_is_no_index_is_refused_with_what_to_do(root, *, change, message):
    path = root.parent / "index.json"
    make_index.write(root.parent, path)
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    with pytest.raises(PackError, match=message) as caught:
        index.read(path)
    assert f"openmle pack index {root.parent}" in str(caught.value)


SAME_SCORES = {
    "pack.yaml": [("title: Pets", "title: Cats"), ("CC0-1.0", "MIT"), ("\nmetric", "\ntier: 1\nmetric")],
    "data/public/description.txt": [("Tell", "Please tell")],
}
OTHER_SCORES = {
    "pack.yaml": [
        ("accuracy", "balanced_accuracy"),
        ("\nmetric", "\nsplit: {salt: other}\nmetric"),
        ("\nmetric", "\nlimits: {wall_seconds: 5}\nmetric"),
    ],
    "data/public/train.csv": [("2,9,dog", "2,9,cat")],
    "data/private/test_answer.csv": [("3,dog", "3,cat")],
}


def cases(changes):
    return [(name, old, new) for name, pairs in changes.items() for old, new in pairs]


@pytest.mark.parametrize(("name", "old", "new"), cases(SAME_SCORES))
def test_changes_that_leave_scores_alone_need_no_version(root, *, name, old, new):
    entry = make_index.entry_of(open_pack(root))
    (root / name).write_text((root / name).read_text().replace(old, new))
    pack = open_pack(root)
    assert pack.hash != entry.hash
    assert versions.score_hash(pack) == entry.score_hash
    assert versions.version_bump(entry, pack) is None


@pytest.mark.parametrize(("name", "old", "new"), cases(OTHER_SCORES))
def test_changes_of_scores_need_a_version(root, *, name, old, new):
    entry = make_index.entry_of(open_pack(root))
    assert old in (root / name).read_text()
    (root / name).write_text((root / name).read_text().replace(old, new))
    assert "Raise 'version'" in (versions.version_bump(entry, open_pack(root)) or "")
    text = (root / "pack.yaml").read_text()
    (root / "pack.yaml").write_text(text.replace("1.0.0", "1.1.0"))
    assert versions.version_bump(entry, open_pack(root)) is None
    (root / "pack.yaml").write_text(text.replace("1.0.0", "0.2"))  # a draft
    draft = make_index.entry_of(open_pack(root))
    (root / name).write_text((root / name).read_text().replace(new, old))
    assert versions.version_bump(draft, open_pack(root)) is None


def test_data_that_is_pinned_may_be_made_in_another_way(write_pack, unfinished):
    text = unfinished["pack.yaml"] + f"contents:\n  public/train.csv: {'a' * 64}\n"
    root = write_pack(unfinished, {"pack.yaml": text})
    before = versions.score_hash(open_pack(root))
    (root / "utils" / "prepare.py").write_text("# Faster.\n" + unfinished["utils/prepare.py"])
    assert versions.score_hash(open_pack(root)) == before
    (root / "pack.yaml").write_text(text.replace("a" * 64, "b" * 64))
    assert versions.score_hash(open_pack(root)) != before


def test_data_that_is_not_pinned_is_what_it_is_made_of(write_pack, unfinished, finished):
    hashes = set()
    for number, change in enumerate(("# Other.\n", "raw", "downloads", None)):
        changes = {
            "utils/prepare.py": f"# Other.\n{unfinished['utils/prepare.py']}" if change == "# Other.\n" else None,
            "raw/pets.csv": unfinished["raw/pets.csv"].replace("p1,", "p01,") if change == "raw" else None,
            "pack.yaml": unfinished["pack.yaml"] + PACK[PACK.index("downloads") :] if change == "downloads" else None,
        }
        given = {name: text for name, text in changes.items() if text}
        hashes.add(versions.score_hash(open_pack(write_pack(unfinished, given, name=f"p{number}"))))
    assert len(hashes) == 4


def test_a_metric_of_the_packs_own_counts(write_pack, finished):
    one = versions.score_hash(open_pack(write_pack(finished, name="one")))
    other = {"utils/metric.py": finished["utils/metric.py"].replace("mean()", "sum()")}
    assert versions.score_hash(open_pack(write_pack(finished, other, name="two"))) != one


def test_an_index_that_cannot_be_written_is_told_so(root):
    with pytest.raises(InfrastructureError, match=r"gone/index\.json cannot be written: No such"):
        make_index.write(root.parent, root.parent / "gone" / "index.json")


def test_an_index_is_not_written_over_mixed_scores(root):
    path = root.parent / "index.json"
    make_index.write(root.parent, path)
    before = path.read_bytes()
    (root / "data/public/train.csv").write_text("id,weight,kind\n1,3,dog\n2,9,cat\n")
    with pytest.raises(PackError, match=r"Raise 'version'(?s:.)*--unreleased"):
        make_index.write(root.parent, path)
    assert path.read_bytes() == before
    make_index.write(root.parent, path, released=False)
    assert path.read_bytes() != before
