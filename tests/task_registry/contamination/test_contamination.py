"""A task that others are measured by is noticed by its name, its text and its data, and no other is."""

from __future__ import annotations

import csv
import json
import random

import pytest

from openmle_env.main import invoke
from openmle_env.task_registry import files
from openmle_env.task_registry.contamination import sketch
from openmle_env.task_registry.contamination.comparing import Kind, compare, excluded
from openmle_env.task_registry.contamination.sketch import KEPT, Column, Sketch, of_folder, of_task, of_text, overlap

TEXT = (
    "Predict how well a molecule dissolves in water. The score is the root mean squared error of the logarithm of the "
    "solubility, in moles per litre, over the molecules of the test file. Each row of the training file has an id, the "
    "structure as a line of text, and the measured value; the test file lacks the last."
)
OTHER = "Which passengers of a ship survived? Accuracy counts. Names, ages, tickets and cabins are given in a table."


def table(seed: int, rows: int, first: int = 0) -> str:
    """Names and measurements; of one seed, row by row the same ones."""
    lines = []
    for number in range(first, first + rows):
        draw = random.Random(f"{seed} {number}")  # noqa: S311
        word = "".join(draw.choices("abcdefghijklmnop", k=12))
        lines.append(f"{number},{word},{draw.random():.6f},{number % 3}\n")
    return "id,name,value,class\n" + "".join(lines)


@pytest.fixture
def folder(tmp_path):
    def make(name: str, train: str, test: str = "id\n1\n"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.csv").write_text(train)
        (tmp_path / name / "test.csv").write_text(test)
        return tmp_path / name

    return make


def kinds(matches):
    return {match.kind: match.excludes for match in matches}


def test_names_of_benchmarks_are_left_out():
    assert kinds(compare(of_text("Spooky_Author.Identification", TEXT), [])) == {Kind.NAME: True}
    assert compare(of_text("titanic", TEXT), []) == []


def test_a_description_is_known_again_in_another_dress():
    dressed = "# " + TEXT.upper().replace(". ", ".\n\n**").replace(",", " ,")
    assert kinds(compare(of_text("b", dressed), [of_text("a", TEXT)])) == {Kind.SAME_TEXT: True}
    longer = f"{TEXT} Submissions have two columns. Good luck to all of you, and read the rules before you start."
    assert kinds(compare(of_text("b", longer), [of_text("a", TEXT)])) == {Kind.NEAR_TEXT: True}
    assert compare(of_text("b", OTHER), [of_text("a", TEXT)]) == []
    assert compare(of_text("b", ""), [of_text("a", "")]) == []
    few = "Predict the price of a house from its size."
    assert compare(of_text("b", f"{few} Good luck!"), [of_text("a", few)]) == []


def test_data_is_known_again_when_it_is_split_otherwise(folder):
    known = of_task("a", TEXT, folder("a", table(1, 900), table(1, 300, 900)))
    other_part = of_task("b", OTHER, folder("b", table(1, 1000, 150).replace("name", "molecule")))
    assert kinds(compare(other_part, [known])) == {Kind.VALUES: True}
    stranger = of_task("c", OTHER, folder("c", table(2, 1000)))
    assert kinds(compare(stranger, [known])) == {Kind.COLUMNS: False}
    assert not excluded(compare(stranger, [known]))


def test_the_estimate_of_a_sample_is_near_the_truth(folder):
    """900 of 1,200 and 1,000 rows are shared: 90 % of the smaller; its standard error with 256 hashes is 2 %."""
    one = of_task("a", "", folder("a", table(3, 1200)))
    other = of_task("b", "", folder("b", table(3, 1000, 300)))
    names = [next(c.sample for c in task.columns if c.name == "name") for task in (one, other)]
    assert len(names[0]) == len(names[1]) == KEPT
    assert overlap(*names) == pytest.approx(0.9, abs=0.1)
    assert overlap(*reversed(names)) == overlap(*names)


def test_long_cells_and_files_without_lines_are_read(folder, monkeypatch):
    page = "word " * 40_000
    long = of_task("a", "", folder("a", f'id,page\n1,"{page}"\n2,"other {page}"\n'))
    assert [len(column.sample) for column in long.columns if column.name == "page"] == [2]
    monkeypatch.setattr(sketch, "MAX_LINE", 1000)
    endless = of_task("b", "", folder("b", "\0" * 5000))
    assert max(len(column.name) for column in endless.columns) <= 1000


def test_one_hash_in_common_is_chance():
    small = Sketch(name="a", description="", runs=(), columns=(Column(name="x", sample=(5, *range(1000, 1030))),))
    large = Sketch(name="b", description="", runs=(), columns=(Column(name="y", sample=tuple(range(5, 5 + KEPT))),))
    assert overlap(small.columns[0].sample, large.columns[0].sample) == 1.0
    assert compare(small, [large]) == []


def test_references_are_read_from_checkouts_packs_and_files(tmp_path, capsys, write_pack, finished):
    pack = write_pack(finished, {"data/public/description.txt": TEXT})
    checkout = tmp_path / "checkout/competitions/molecules"
    checkout.mkdir(parents=True)
    (checkout / "description.md").write_text(TEXT)
    assert [one.name for one in of_folder(tmp_path / "packs")] == ["pets"]
    saved = tmp_path / "sketches.jsonl"
    assert invoke(["pack", "contamination", "--reference", str(tmp_path / "checkout"), "--save", str(saved)]) == 0
    assert "dissolves" not in saved.read_text()
    capsys.readouterr()
    assert invoke(["pack", "contamination", f"{pack}/", "--reference", str(saved), "--json"]) == 1
    (document,) = json.loads(capsys.readouterr().out)
    assert document["excluded"]
    assert [(match["kind"], match["other"]) for match in document["matches"]] == [("same description", "molecules")]
    saved.write_text("no sketch\n")
    assert invoke(["pack", "contamination", f"{pack}/", "--reference", str(saved)]) == 1
    assert "is no file of sketches" in capsys.readouterr().err
    assert invoke(["pack", "contamination"]) == 2
    assert invoke(["pack", "contamination", "titanic", "--save", str(tmp_path / "nowhere/file")]) == 2
    bad = write_pack(finished, {"utils/metric.py": None}, name="bad")
    capsys.readouterr()
    assert invoke(["pack", "contamination", f"{bad}/", "titanic", "--json"]) == 1
    captured = capsys.readouterr()
    assert "Not looked at: bad: " in captured.err
    assert [one["task"] for one in json.loads(captured.out)] == ["titanic"]


def test_the_limit_of_cells_is_given_back():
    before = csv.field_size_limit()
    with files.long_cells(7), pytest.raises(csv.Error, match="field larger"):
        list(csv.reader(["12345678"]))
    assert csv.field_size_limit() == before
