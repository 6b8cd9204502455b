from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.task_registry.edit import replace_scalars
from openmle_env.task_registry.pack import PackConfig
from openmle_env.task_registry.pack_yaml import parse, read

PATH = Path("pets/pack.yaml")


def fault(text: str) -> str:
    with pytest.raises(PackError) as caught:
        parse(text, PATH, default_slug="pets")
    return str(caught.value)


def test_what_is_left_out_has_defaults():
    config = parse("title: Pets\n", PATH, default_slug="pets")
    assert (config.slug, config.metric.name, config.submission, config.split.method) == ("pets", "pack", None, "hash")
    assert config.program_limits().wall_seconds == 120


def test_values_are_read():
    config = parse(
        """
slug: cats-and-dogs
submission:
  id: {name: id, kind: text}
  targets: [{name: kind, kind: label, labels: [cat, dog]}]
limits: {wall_seconds: 9, cpus: 0.5}
rewards: {worst: 3, best: 0}
""",
        PATH,
        default_slug="pets",
    )
    assert config.slug == "cats-and-dogs"
    assert config.submission is not None
    assert config.submission.as_schema().targets[0].labels == ("cat", "dog")
    assert config.program_limits().cpus == 0.5
    assert config.rewards is not None
    assert (config.rewards.worst, config.rewards.best) == (3.0, 0.0)


def test_gpus_of_the_hardware_are_limits_of_a_program_unless_limits_say_another_number():
    stated = {"": 0, "hardware: {gpus: 2}": 2, "hardware: {gpus: 2}\nlimits: {gpus: 1}": 1, "limits: {gpus: 3}": 3}
    for text, gpus in stated.items():
        config = parse(f"title: Pets\n{text}", PATH, default_slug="pets")
        assert config.program_limits().gpus == gpus


def test_a_waiting_box_has_imported_the_modules_unless_another_list_is_stated():
    stated = {"modules: [numpy]": ("numpy",), "modules: [numpy]\nwarm: [torch, PIL.Image]": ("torch", "PIL.Image")}
    for text, modules in (stated | {"warm: []": (), "": ("numpy", "pandas", "sklearn")}).items():
        assert parse(f"title: Pets\n{text}", PATH, default_slug="pets").warm_modules() == modules


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hardware: {gpus: 65}", ["line 1: hardware.gpus", "gpus=65 must be a whole number from 0 to 64"]),
        ("hardware: {gpus: -1}", ["line 1: hardware.gpus", "0"]),
        ("limits: {gpus: 0.5}", ["line 1: limits", "gpus=0.5"]),
        ("warm: [numpy, scikit-learn]", ["line 1: warm[1] 'scikit-learn'", "name of a Python module"]),
        ("warm: ['a,b']", ["warm[0]", "name of a Python module"]),
        ("warm: [a..b]", ["warm[0]", "name of a Python module"]),
        ("warm: [import]", ["warm[0]", "name of a Python module"]),
        ("warm: ['']", ["warm[0]", "name of a Python module"]),
        ("warm: numpy", ["warm is 'numpy'", "list"]),
        ("verion: x", ["line 1", "no key 'verion'", "'version'"]),
        ("title: x\nlimits: {wall_secnds: 3}", ["line 2: limits", "'wall_seconds'"]),
        ("\n\nmetric:\n  nam: x", ["line 4", "metric.nam", "'name'"]),
        ("references:\n  - {name: a, title: b, program: p.py, score: 1}", ["references[0].score", "'test_score'"]),
        ("version: 1.0", ["version is 1.0", "Put it in quotes"]),
        ("budget: {programs: true}", ["budget.programs is True", "integer"]),
        ("budget: {programs: 0}", ["budget.programs is 0", "greater than or equal to 1"]),
        ("budget: {seconds: soon}", ["budget.seconds is 'soon'", "number"]),
        ("limits: {cpus: -1}", ["limits", "cpus=-1", "positive"]),
        ("limits: {cpus: many}", ["limits.cpus 'many'", "should be a number"]),
        ("rewards: {worst: .nan, best: 1}", ["rewards.worst is nan", "finite"]),
        ("rewards: {worst: 1, best: 1.0}", ["rewards", "same score"]),
        ("rewards: {worst: 1}", ["rewards.best is missing"]),
        ("metric: accuracy", ["metric is 'accuracy'", "block"]),
        ("contents: {train.csv: abc}", ["contents.train.csv", "SHA-256"]),
        ("contents: {train.csv: " + 64 * "a" + "}", ["'public/' or 'private/'"]),
        ("contents: {public/../x: " + 64 * "a" + "}", ["inside the pack"]),
        ("description: /etc/passwd", ["description '/etc/passwd'", "inside the pack"]),
        ("description: ../x", ["inside the pack"]),
        ("split: {method: column}", ["line 1: split.column is missing", "Add it."]),
        ("split: {column: part}", ["split", "belongs to the method 'column'", "'hash'"]),
        ("submission: {id: {name: a, kind: number}, targets: []}", ["submission.id.kind", "'integer' or 'text'"]),
        ("submission: {id: {name: a, kind: text, labels: [b]}, targets: []}", ["submission.id.labels", "no key"]),
        ("slug: My Task", ["slug 'My Task'", "lower-case"]),
        ("submission: {id: {name: a, kind: text}, targets: []}", ["submission.targets", "needs an entry"]),
        (
            "submission: {id: {name: a, kind: text}, targets: [{name: b, kind: label, labels: [no]}]}",
            ["labels[0] is False", "Put it in quotes"],
        ),
        (
            "submission: {id: {name: a, kind: text}, targets: [{name: b, kind: label}]}",
            ["submission.targets[0].labels is missing", "lists every allowed value"],
        ),
        ("submission: {id: {name: a, kind: text}, targets: [{name: a, kind: text}]}", ["same name"]),
        ("a: [", ["line 1, column 5", "not valid YAML"]),
        ("title: a\ntitle: b", ["line 2, column 1", "'title' stands twice"]),
        ("title: &a x\nversion: *a", ["line 2", "alias"]),
        ("title: !!python/object/apply:os.system ['true']", ["not valid YAML"]),
        ("title: 2024-99-99", ["not valid YAML"]),
        ("[a]: b", ["single word"]),
        ("title: a\0b", ["not valid YAML"]),
        ("", ["'key: value'"]),
        ("- a", ["'key: value'"]),
        ("{" * 3000, ["not valid YAML"]),
        ("1: x", ["line 1: the key 1 is no text"]),
        ("modules: numpy", ["modules is 'numpy'; it should be a list"]),
        ("metric: {higher_is_better: 1}", ["metric.higher_is_better is 1; it should be true or false."]),
        ("metric:", ["metric is empty; it should be a block"]),
        ("version: ''", ["version is ''; it should not be empty."]),
        ("version: 2024-01-01", ["version is 2024-01-01; it should be text. Put it in quotes."]),
        ('title: "\\ud800"', ["line 1, column 8", "half of a character"]),
        ('"\\ud800": x', ["line 1, column 1", "half of a character"]),
        ('title: "\\e[31m"', ["a control character"]),
        ('modules: [numpy, "\\udcff"]', ["half of a character"]),
        ("title: !!timestamp 5", ["line 1, column 8", "timestamp", "leave it out"]),
        ("title: !!bool z", ["bool", "leave it out"]),
        ("metric: !!map {name: accuracy}", ["map", "leave it out"]),
        (
            "references: [{name: a, title: b, program: p.py, tolerance: .inf}]",
            ["references[0].tolerance is inf", "finite"],
        ),
        ("budget: {seconds: .nan}", ["budget.seconds is nan"]),
        ("split: {validation_fraction: .nan}", ["split.validation_fraction is nan"]),
        ("preparation: {memory_mb: 1}", ["preparation", "memory_mb=1", "must be"]),
        ("preparation: {memory_mb: " + 30 * "9" + "}", ["preparation", "memory_mb=9", "below 1e9"]),
        ("preparation: {disk_mb: " + 30 * "9" + "}", ["preparation.disk_mb", "less than 1000000000"]),
        ("preparation: {disk_mb: " + 5000 * "9" + "}", ["not valid YAML"]),
        ("limits: {memory_mb: 1}", ["limits", "memory_mb=1", "must be"]),
        ("limits: {memory_mb: " + 30 * "9" + "}", ["limits", "below 1e9"]),
        ("rewards: {worst: 0, best: 1e300}", ["rewards.best is '1e300'", "To YAML that is text: write 1.0e+300."]),
        ("rewards: {worst: -1.5E7, best: 1}", ["write -1.5e+7."]),
        ("limits: {cpus: 1e-1}", ["limits.cpus '1e-1': should be a number. To YAML that is text: write 1.0e-1."]),
        (
            "submission: {id: {name: a, kind: text}, targets: [{name: b, kind: label, labels: ['']}]}",
            ["submission.targets[0]", "the label '' is empty"],
        ),
        (
            "submission: {id: {name: a, kind: text}, targets: [{name: b, kind: label, labels: [a, ' b']}]}",
            ["submission.targets[0]", "the label ' b'", "blanks around it"],
        ),
        ("submission: {id: {name: ' a', kind: text}, targets: [{name: b, kind: text}]}", ["submission", "' a'"]),
    ],
)
def test_faults_say_where_and_what(text, expected):
    message = fault(text)
    assert "pets/pack.yaml" in message
    for part in expected:
        assert part in message
    assert "pydantic" not in message
    assert "Traceback" not in message


def test_a_list_whose_entry_is_wrong_is_not_called_empty():
    message = fault("submission: {id: {name: a, kind: text}, targets: [{name: b, kind: nonsense}]}")
    assert "targets[0].kind" in message
    assert "needs an entry" not in message


def test_every_fault_is_listed_in_the_order_of_lines():
    lines = fault("version: 1\nbudget: {programs: x}\ntitel: x\n").splitlines()[1:]
    assert [line.split(":")[0].strip() for line in lines] == ["line 1", "line 2", "line 3"]


@given(st.text(max_size=60) | st.from_regex(r"(?s)[a-z]{1,9}: ?[\[\]{}&*!|>'\"%@`\w\n -]{0,40}", fullmatch=True))
def test_any_text_is_a_pack_or_an_error(text):
    with contextlib.suppress(PackError):
        assert isinstance(parse(text, PATH, default_slug="pets"), PackConfig)


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "pack.yaml"
    path.write_bytes(b"title: \xff")
    with pytest.raises(PackError, match="not UTF-8"):
        read(path, "pets")
    path.write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(PackError, match="larger than"):
        read(path, "pets")
    path.unlink()
    path.mkdir()
    with pytest.raises(PackError, match="a folder where a file should be"):
        read(path, "pets")
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(PackError, match="named pipe"):
        read(path, "pets")


def test_a_byte_order_mark_is_no_fault(tmp_path):
    path = tmp_path / "pack.yaml"
    path.write_bytes(b"\xef\xbb\xbftitle: Pets\n")
    assert read(path, "pets").title == "Pets"


def test_editing_keeps_everything_else():
    text = (
        "# why\nreferences:\n  - name: a  # first\n    test_score: null\n  - {name: b, test_score: 0.5}\n"
        "measured_in: ''\n"
    )
    edited = replace_scalars(
        text,
        {
            ("references", 0, "test_score"): 0.25,
            ("references", 1, "test_score"): None,
            ("measured_in",): 'numpy "2"',
        },
    )
    assert edited == (
        "# why\nreferences:\n  - name: a  # first\n    test_score: 0.25\n  - {name: b, test_score: null}\n"
        'measured_in: "numpy \\"2\\""\n'
    )


@pytest.mark.parametrize("place", [("references",), ("references", 5, "name"), ("nothing",), ("references", 0, "x")])
def test_editing_needs_a_value_to_replace(place):
    with pytest.raises(PackError, match="no single value"):
        replace_scalars("references:\n  - name: a\n", {place: 1.0})
