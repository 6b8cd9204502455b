"""The built-in task: who is in which half, that nothing gives the answers away, and what its programs score."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import PackError, PreparationError
from openmle_env.graders.rewards import normalized
from openmle_env.task_registry.lookup import load_task
from openmle_env.task_registry.prepare import prepare
from openmle_env.task_registry.references import deviations, measure, versions
from openmle_env.types import Job, Part, ResultStatus

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.task_registry.task import Task


@pytest.fixture
def task(box):
    return load_task("titanic", sandbox=box)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def tables(task):
    names = ("train.csv", "test.csv", "sample_submission.csv")
    return {name: rows(task.public / name) for name in names} | {"answers": rows(task.answers)}


def test_every_passenger_is_there_once(task, tables):
    assert (len(tables["train.csv"]), len(tables["test.csv"]), len(tables["answers"])) == (891, 418, 418)
    numbers = [int(row["PassengerId"]) for name in ("train.csv", "test.csv") for row in tables[name]]
    assert sorted(numbers) == list(range(1, 1310))
    known = [(row["name"], row["ticket"], row["age_years"]) for row in rows(task.pack.root / "raw/passengers.csv")]
    found = [(r["Name"], r["Ticket"], r["Age"]) for name in ("train.csv", "test.csv") for r in tables[name]]
    assert sorted(found) == sorted(known)


def test_the_answers_are_the_facts(task, tables):
    facts = {
        (r["name"], r["ticket"], r["age_years"]): r["survived"] for r in rows(task.pack.root / "raw/passengers.csv")
    }
    answers = {row["PassengerId"]: row["Survived"] for row in tables["answers"]}
    answers |= {row["PassengerId"]: row["Survived"] for row in tables["train.csv"]}
    for name in ("train.csv", "test.csv"):
        for row in tables[name]:
            assert answers[row["PassengerId"]] == facts[row["Name"], row["Ticket"], row["Age"]]
    assert sum(row["Survived"] == "1" for row in tables["train.csv"]) == 340
    assert sum(row["Survived"] == "1" for row in tables["answers"]) == 160


def test_public_files_do_not_tell(tables):
    expected = ["PassengerId", "Pclass", "Name", "Sex", "Age", "SibSp", "Parch", "Ticket", "Fare", "Cabin", "Embarked"]
    assert list(tables["test.csv"][0]) == expected
    assert {row["Survived"] for row in tables["sample_submission.csv"]} == {"0"}


def test_neither_number_nor_place_tells(tables):
    """The mean number of survivors is that of the others, within two standard errors of a random order."""
    numbers = {"0": [], "1": []}
    for row in (*tables["train.csv"], *tables["answers"]):
        numbers[row["Survived"]].append(int(row["PassengerId"]))
    difference = sum(numbers["1"]) / 500 - sum(numbers["0"]) / 809
    assert abs(difference) < 2 * (1309**2 / 12 * (1 / 500 + 1 / 809)) ** 0.5
    for name in ("train.csv", "test.csv", "sample_submission.csv", "answers"):
        order = [int(row["PassengerId"]) for row in tables[name]]
        assert order == sorted(order)


def test_the_two_hidden_parts_are_alike(task, tables, box):
    sexes = {row["PassengerId"]: row["Sex"] for row in tables["test.csv"]}
    answers = task.grader(box).load()
    ids = [str(one) for one in answers.rows.ids]
    fates = {row["PassengerId"]: row["Survived"] for row in tables["answers"]}
    counts = [
        Counter((sexes[ids[at]], fates[ids[at]]) for at in answers.positions[part])
        for part in (Part.VALIDATION, Part.TEST)
    ]
    assert counts[0] == counts[1] == {("male", "0"): 108, ("female", "1"): 58, ("male", "1"): 22, ("female", "0"): 21}


def run(task: Task, sandbox, program: str):
    execution = sandbox.run(Job(program=program, inputs={"/data": task.public}, limits=task.spec.limits))
    return task.grader(sandbox).grade(execution.submission, Part.ALL)


def test_the_oracle_is_right_and_the_broken_program_is_noticed(task, box):
    grade = run(task, box, task.oracle_program())
    assert (grade.status, grade.score) == (ResultStatus.SUCCESS, 1.0)
    broken = task.pack.config.broken
    assert broken is not None
    assert run(task, box, task.broken_program()).status is broken.status is ResultStatus.SUBMISSION_INVALID


def test_the_trivial_submission_is_worth_nothing(task, box):
    sample = (task.public / "sample_submission.csv").read_bytes()
    grade = task.grader(box).grade(sample, Part.VALIDATION)
    assert grade.score == task.spec.reward_bounds[0]
    assert normalized(grade.score, task.spec.reward_bounds) == 0.0


def check_references(task: Task, sandbox) -> None:
    results = measure(task, sandbox)
    recorded = {reference.name: reference for reference in task.pack.config.references}
    assert [result.name for result in results] == list(recorded)
    assert deviations(recorded, results) == []
    test_scores = [result.test_score for result in results]
    assert test_scores == sorted(test_scores), "the references go from trivial to good"


def test_references_score_what_is_recorded(task, box):
    check_references(task, box)
    assert versions(task, box).startswith("Python 3")


@pytest.mark.bubblewrap
def test_references_score_what_is_recorded_in_a_real_box(home, bubblewrap):
    task = load_task("titanic", sandbox=bubblewrap)
    check_references(task, bubblewrap)
    assert run(task, bubblewrap, task.oracle_program()).score == 1.0
    assert run(task, bubblewrap, task.broken_program()).status is ResultStatus.SUBMISSION_INVALID


def test_a_wrong_record_is_noticed(task):
    recorded = {reference.name: reference for reference in task.pack.config.references}
    rule = recorded["sex-rule"]
    assert deviations({"sex-rule": rule.model_copy(update={"test_score": 0.9})}, [_result(rule)]) == [
        "sex-rule: test score 0.7943, recorded 0.9000 ± 0"
    ]
    assert (
        "no test score is recorded"
        in deviations({"sex-rule": rule.model_copy(update={"test_score": None})}, [_result(rule)])[0]
    )


def _result(reference):
    from openmle_env.task_registry.references import ReferenceResult

    return ReferenceResult(
        name=reference.name,
        title=reference.title,
        validation_score=reference.validation_score,
        test_score=reference.test_score,
        wall_seconds=1.0,
    )


def test_a_reference_that_fails_is_named(write_pack, finished, box):
    changes = {
        "pack.yaml": "metric: {name: accuracy}\nreferences: [{name: bad, title: Bad, program: references/bad.py}]\n",
        "references/bad.py": "raise SystemExit(3)\n",
    }
    task = load_task(write_pack(finished, changes), sandbox=box)
    with pytest.raises(PackError, match="bad failed"):
        measure(task, box)
    (task.pack.root / "references/bad.py").write_text("print('nothing written')\n")
    with pytest.raises(PackError, match="'bad' is not valid"):
        measure(task, box)


def test_a_pack_without_a_broken_program_has_one(write_pack, finished, box):
    task = load_task(write_pack(finished, {"pack.yaml": "metric: {name: accuracy}"}), sandbox=box)
    assert run(task, box, task.broken_program()).status is ResultStatus.SUBMISSION_INVALID
    assert run(task, box, task.oracle_program()).score == 1.0


@pytest.mark.bubblewrap
def test_a_script_that_leaves_links_is_refused_by_a_real_box(make_pack, unfinished, bubblewrap):
    script = unfinished["utils/prepare.py"] + "    (public / 'link.csv').symlink_to('/etc/hostname')\n"
    with pytest.raises(PreparationError, match=r"left public/link\.csv, which is a symbolic link"):
        prepare(make_pack(unfinished, {"utils/prepare.py": script}), sandbox=bubblewrap)


@pytest.mark.bubblewrap
def test_a_plain_pack_works_in_a_real_box(write_pack, finished, bubblewrap):
    task = load_task(write_pack(finished), sandbox=bubblewrap)
    assert task.spec.reward_bounds[1] == 1.0
    assert run(task, bubblewrap, task.oracle_program()).score == 1.0
