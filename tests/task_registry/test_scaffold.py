"""New packs: whole at once, from made-up data and from tables; nothing half-made where something is wrong."""

from __future__ import annotations

import re

import pytest

from openmle_env.errors import UsageError
from openmle_env.task_registry import references
from openmle_env.task_registry.lookup import load_task
from openmle_env.task_registry.scaffold import samples
from openmle_env.task_registry.scaffold.guess import guess
from openmle_env.task_registry.scaffold.new import KINDS, new
from openmle_env.types import Part, ResultStatus

LABELS = ("007", "NA", "b: c,😀", "Ä")
ODD = '\ufeff"Row ID";"pri|ce";text;"kind: ""x"""\r\n' + "".join(
    f'{n};{n * 7 % 50};"said ""hi"", the {n}th time";{LABELS[n % 4]}\r\n' for n in range(160)
)
"""With a byte-order mark, another delimiter, quotes, labels that are no plain text, and a column that numbers rows."""


def check(root, box):
    """Prepare a pack, and see that its programs do what is said of them."""
    task = load_task(root, sandbox=box)
    trivial, model = references.measure(task, box)
    grader = task.grader(box)
    oracle = references.run_program(task, box, task.oracle_program()).submission
    for part in (Part.VALIDATION, Part.TEST):
        assert grader.grade(oracle, part).score == (1.0 if task.spec.higher_is_better else 0.0)
    broken = references.run_program(task, box, task.broken_program()).submission
    assert grader.grade(broken, Part.VALIDATION).status is task.pack.config.broken.status
    assert task.pack.config.broken.status is ResultStatus.SUBMISSION_INVALID
    return task, trivial, model


@pytest.mark.parametrize("template", KINDS)
def test_a_template_is_a_whole_pack_at_once(template, tmp_path, box):
    made = new("My Pets", tmp_path, template=template, licence="MIT")
    assert made.folder == tmp_path / "my-pets"
    assert "'my-pets'" in made.said[0]
    task, trivial, model = check(made.folder, box)
    assert task.spec.modality == template
    assert (task.pack.config.data.licence, task.pack.config.data.source[:7]) == ("MIT", "made up")
    sign = 1 if task.spec.higher_is_better else -1
    best = task.spec.reward_bounds[1]
    assert sign * trivial.test_score < sign * model.test_score < sign * best


def test_a_table_becomes_a_pack(tmp_path, box):
    (tmp_path / "odd.csv").write_text(ODD, encoding="utf-8", newline="")
    made = new("odd", tmp_path, csv_file=tmp_path / "odd.csv", target='kind: "x"', licence="MIT", source="a {test}")
    task, *_ = check(made.folder, box)
    (target,) = task.spec.submission.targets
    assert target.labels == LABELS
    assert '\nid,"kind: ""x"""\n3,007\n' in task.spec.description
    assert task.pack.config.data.source == "a {test}"
    train = (task.public / "train.csv").read_text(encoding="utf-8").splitlines()
    assert train[0] == 'id,pri|ce,text,"kind: ""x"""'
    rows = [line for name in ("train", "test") for line in (task.public / f"{name}.csv").read_text().splitlines()[1:]]
    assert len(rows) == 160
    assert "Row ID: different in every row" in " ".join(made.said)
    assert "TODO" in task.spec.description


def test_rows_that_are_alike_stay_together(tmp_path, box):
    rows = "".join(f"{n % 40},n/a,{n % 13}.5\n" for n in range(400))
    (tmp_path / "t.csv").write_text(f"x,nothing,y\n{rows}")
    task = load_task(new("t", tmp_path, csv_file=tmp_path / "t.csv", target="y").folder, sandbox=box)
    cells = {
        name: {line.split(",")[1] for line in (task.public / name).read_text().splitlines()[1:]}
        for name in ("train.csv", "test.csv")
    }
    assert cells["train.csv"]
    assert cells["test.csv"]
    assert not cells["train.csv"] & cells["test.csv"]
    references.measure(task, box)  # the model can do without what is missing in every row


@pytest.mark.parametrize(
    ("cells", "task_type", "metric", "said"),
    [
        (["1.5", "2"] * 30, "regression", "rmse", "a number with 2 different values"),
        ([str(n) for n in range(60)], "regression", "rmse", "60 different values"),
        (["0", "1"] * 30, "binary classification", "accuracy", "2 classes"),
        (["a", "b", ""] * 20, "binary classification", "accuracy", "20 rows without a value"),
        (["a"] * 45 + ["b"] * 8 + ["c"] * 7, "multiclass classification", "balanced_accuracy", "(b, c)"),
    ],
)
def test_what_a_table_says_of_its_task(tmp_path, *, cells, task_type, metric, said):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(cells)))
    found = guess(tmp_path / "t.csv", "y")
    assert (found.task_type, found.metric) == (task_type, metric)
    assert said in " ".join(found.said)


ALL_DIFFER = "x,y\n" + "".join(f"{n},{n % 2}\n" for n in range(60))
TABLE = "x,y\n" + "".join(f"{n % 5},{n % 2}\n" for n in range(60))


@pytest.mark.parametrize(
    ("table", "target", "message"),
    [
        (TABLE, "z", "no column 'z'"),
        (TABLE[:40], "y", "9 rows with a value in 'y', and 40 are needed"),
        (TABLE + "1\n", "y", "line 62: 1 cells, and the header has 2"),
        (TABLE.replace("x", "y", 1), "y", "column 'y' twice"),
        (re.sub(r",\d", ",1", ALL_DIFFER), "y", "same value in every row"),
        ("y\n" + "1\n0\n" * 30, "y", "no column from which"),
        (ALL_DIFFER.replace(",1", ",1\x7f"), "y", r"'1\\x7f' in .* control character"),
        (TABLE, "y", "5 different rows beside 'y'"),
        (TABLE.replace("y", "id"), "id", "'id' of .* cannot be the target"),
        ("x,y\n" + "".join(f"{n},word{n}\n" for n in range(1001)), "y", "1,001 different texts"),
        (TABLE.encode("utf-16"), "y", "not UTF-8"),
        (TABLE + '1,"0\n', "y", "no CSV file"),
        ("", "y", "no column 'y'"),
        (None, "y", "cannot be read"),
    ],
)
def test_a_table_that_makes_no_task_leaves_nothing(tmp_path, *, table, target, message):
    path = tmp_path / "t.csv"
    if table is not None:
        path.write_bytes(table if isinstance(table, bytes) else table.encode())
    with pytest.raises(UsageError, match=message):
        new("t", tmp_path / "packs", csv_file=path, target=target)
    assert not (tmp_path / "packs").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"template": "imag"}, "Did you mean 'image'"),
        ({"target": "y"}, "belong together"),
        ({"csv_file": "t.csv"}, "belong together"),
        ({"csv_file": "t.csv", "target": "y", "template": "text"}, "leave out"),
    ],
)
def test_arguments_that_contradict_each_other(tmp_path, *, given, message):
    with pytest.raises(UsageError, match=message):
        new("t", tmp_path, **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "none of a-z"), ("北京", "none of a-z"), ("a\x7f", "no character"), ("\udcff", "no char")],
)
def test_what_no_task_can_be_called(tmp_path, name, message):
    with pytest.raises(UsageError, match=message):
        new(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_place_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file/\.t\..* cannot be written: Not a directory"):
        new("t", tmp_path / "file")


def test_what_is_there_is_never_overwritten(tmp_path):
    (tmp_path / "t").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        new("t", tmp_path)
    assert (tmp_path / "t").read_text() == "mine"


def test_made_up_data_is_the_same_everywhere(tmp_path):
    samples.write_table(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == "103.8,0.74,1953,gas,92.03"
