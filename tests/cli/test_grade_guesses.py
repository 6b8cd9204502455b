"""``openmle grade`` by people who guess: what they write by habit works, or they are told what to write."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from openmle_env.sandbox import select
from openmle_env.sandbox.protocol import Confinement
from openmle_env.types import Artifact, ArtifactState, Execution, Job, ResultStatus
from tests.cli.standin import RIGHT, csv

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def grade(openmle, tmp_path):
    """Grades two files, given as lines separated by blanks, and gives code, document and message."""

    def call(answers: str, submission: str, metric: str, *options: str):
        paths = tmp_path / "answers.csv", tmp_path / "submission.csv"
        for path, lines in zip(paths, (answers, submission), strict=True):
            path.write_text(lines.replace(" ", "\n") + "\n")
        result = openmle("grade", *paths, "--metric", metric, "--id", "id", *options, "--json")
        document = json.loads(result.stdout)
        return result.code, document, result.stderr

    return call


@pytest.mark.parametrize("predicted", ["id,y 1,1 2,2 3,2", "id,y 1,1.0 2,2.0 3,2.0", "id,y 1.0,1 2.0,2 3.0,2"])
@pytest.mark.parametrize("answers", ["id,y 1,1 2,2 3,1", "id,y 1,1.0 2,2.0 3,1.0", "id,y 1.0,1. 2.0,2 3.0,1"])
@pytest.mark.parametrize("kind", [(), ("--kind", "label"), ("--kind", "integer")])
def test_integers_that_a_table_took_for_floats(grade, answers, predicted, kind):
    code, document, _ = grade(answers, predicted, "accuracy", *kind)
    assert (code, document["score"], document["warnings"]) == (0, 2 / 3, [])


def test_numbers_that_are_no_integers_stay_apart(grade):
    # Read as the texts that they are: 1.5 is neither 1 nor 2.
    code, document, _ = grade("id,y 1,1.5 2,2.0", "id,y 1,1.5 2,2.0", "accuracy")
    assert (code, document["score"]) == (0, 1.0)
    code, document, _ = grade("id,y 007,1 08,2", "id,y 7,1 8,2", "rmse")
    assert (code, document["problems"][0]["code"]) == (1, "missing_ids")


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ("id,y 1,M 2,F 3,M", "column 'y' holds 'M'"),
        ("id,y 1,1 2,-1", "column 'y' holds '-1'"),
        ("id,y 1,cat 2,dog", "column 'y' holds 'cat', 'dog'"),
    ],
)
def test_answers_that_are_no_yes_and_no_are_named(grade, answers, told):
    code, document, stderr = grade(answers, "id,y 1,0.5 2,0.1 3,0.2", "auc")
    assert (code, document["error"]["kind"]) == (2, "UsageError")
    assert told in stderr
    assert "Write 1 and 0" in stderr


def test_the_class_in_one_column_is_hinted_at(grade):
    code, _, stderr = grade("id,y 1,a 2,b", "id,a,b 1,0.5,0.5 2,0.1,0.9", "mlogloss", "--target", "y")
    assert (code, "--param truth_column=COLUMN" in stderr) == (2, True)


def test_columns_that_the_metric_does_not_take_are_to_be_named(grade):
    code, _, stderr = grade(
        "id,time,event 1,5,1 2,6,1", "id,risk 1,1 2,2", "cindex", "--param", "event=event", "--param", "prediction=time"
    )
    assert (code, "none of the answers" in stderr or "with --target" in stderr) == (1, False)
    code, document, _ = grade("id,y,w 1,3,1 2,4,5", "id,y 1,3 2,5", "mae")
    assert code == 1
    assert document["warnings"][0] == "Compared columns, taken from the answers: y, w. Choose with --target."
    assert grade("id,y,w 1,3,1 2,4,5", "id,y 1,3 2,5", "mae", "--target", "y")[1]["score"] == 0.5


def test_the_usage_column_of_a_solution_file(grade):
    answers, submission = "id,y,Usage 1,3,Public 2,4,Private", "id,y 1,3 2,5"
    code, _, stderr = grade(answers, submission, "mae")
    assert (code, "taken from the answers: y, Usage. Choose with --target." in stderr) == (1, True)
    for condition, score in (("Usage = Public", 0.0), ("Usage != Public", 1.0)):
        code, document, _ = grade(answers, submission, "mae", "--where", condition)
        assert (code, document["score"], document["warnings"]) == (0, score, [])


def test_a_condition_in_the_way_of_another_language(grade):
    answers, submission = "id,y,Usage 1,3,Public 2,4,Ignored", "id,y 1,3 2,5"
    assert grade(answers, submission, "mae", "--where", "Usage == Public")[0] == 2
    code, document, _ = grade(answers, submission, "mae", "--where", "Usage != 'Ignored'")
    assert (code, document["score"]) == (0, 0.5)
    assert document["warnings"] == ["Every row is scored: \"Usage != 'Ignored'\" holds for all of them."]


def test_a_column_that_a_parameter_names_and_the_answers_lack(grade):
    code, _, stderr = grade("id,m 1,2", "id,m 1,2", "dice", "--param", "height=4", "--param", "width=4")
    assert code == 2
    assert "--param height names the column '4', and answers.csv has none of that name; it has id, m." in stderr


def test_a_size_that_is_not_given_is_asked_for(grade):
    code, document, stderr = grade("id,m 1,2", "id,m 1,2", "dice")
    assert (code, document["error"]["kind"]) == (2, "UsageError")
    assert "shape=101x101" in stderr
    assert "fault of the task" not in stderr


def test_a_long_list_of_columns_is_cut(grade):
    names = ",".join(f"c{i}" for i in range(500))
    code, _, stderr = grade(f"id,{names}", "id,y 1,2", "rmse", "--target", "y")
    assert code == 2
    assert "461 more" in stderr  # of 501, 40 are listed
    assert len(stderr) < 1000


@pytest.mark.parametrize(
    ("written", "name"), [("RMSLE", "rmsle"), ("Mean Absolute-Error", "mae"), ("R2", "r2"), ("MAP@5", "map_at_k")]
)
def test_other_spellings_of_a_name_are_that_name(grade, written, name):
    code, document, _ = grade("id,y 1,2 2,3", "id,y 1,2 2,3", written)
    assert (code, document["metric"], document["score"]) == (0, name, 0.0 if name in {"rmsle", "mae"} else 1.0)


def test_answers_are_read_twice_and_a_pipe_only_once(openmle, tmp_path):
    submission = tmp_path / "submission.csv"
    submission.write_text("id,y\n1,2\n")
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", "/dev/null"):
        result = openmle("grade", name, submission, "--metric", "rmse", "--id", "id")
        assert (result.code, "Write the answers to a plain file" in result.stderr) == (2, True)
    (tmp_path / "huge.csv").touch()
    os.truncate(tmp_path / "huge.csv", 1 << 40)
    result = openmle("grade", tmp_path / "huge.csv", submission, "--metric", "rmse", "--id", "id")
    assert result.code == 2
    assert "The file is too large" in result.stderr
    assert "submission" not in result.stderr


@dataclass
class Accuracy:
    """A box for packs' metrics: it tells that higher is better, and the share of equal rows."""

    jobs: list[Job] = field(default_factory=list)
    name: str = "accuracy"

    def confinement(self) -> Confinement:
        return Confinement(memory="none", cpu=False, inodes=False, network=False)

    def run(self, job: Job, **_: object) -> Execution:
        self.jobs.append(job)
        data = job.inputs["/data"]
        result: dict[str, object] = {"higher_is_better": True, "warnings": []}
        request = json.loads((data / "request.json").read_text())
        if request["score"]:
            rows = [(data / f"{name}.csv").read_text().splitlines()[1:] for name in ("truth", "prediction")]
            equal = [true == found for true, found in zip(*rows, strict=True)]
            result["score"] = sum(equal[row] for row in request["chosen"]) / len(request["chosen"])
        content = json.dumps(result).encode()
        made = Artifact(name="result.json", state=ArtifactState.OK, content=content)
        return Execution(status=ResultStatus.SUCCESS, artifacts={"result.json": made})

    def close(self) -> None:
        pass


def test_the_place_is_told_where_the_metric_is_the_packs_own(openmle, pack: Path, tmp_path, monkeypatch):
    box = Accuracy()
    monkeypatch.setattr(select, "create", lambda *_, **__: box)
    text = (pack / "pack.yaml").read_text().replace("metric: {name: accuracy}", "leaderboard: {file: board.csv}")
    (pack / "pack.yaml").write_text(text)
    (pack / "board.csv").write_text("score\n" + "".join(f"{i / 10}\n" for i in range(10)))
    (pack / "utils").mkdir()
    (pack / "utils/metric.py").write_text("class OddMetrics: ...\n")
    right, wrong = tmp_path / "right.csv", tmp_path / "wrong.csv"
    right.write_text(RIGHT)
    wrong.write_text(csv(lambda i: 1 - i % 2))
    for submission, rank, medal in ((right, 1, "gold"), (wrong, 10, None)):
        place = json.loads(openmle("grade", pack, submission, "--part", "test", "--json").stdout)["place"]
        assert (place["rank"], place["teams"], place["medal"]) == (rank, 10, medal)
    assert "On the leaderboard: rank 1 of 10" in openmle("grade", pack, right, "--part", "test").stdout
    assert json.loads(openmle("grade", pack, right, "--json").stdout)["place"] is None


ONE_HOT, SHARES = "id,a,b\n1,1,0\n2,0,1\n", "id,a,b\n1,0.8,0.2\n2,0.4,0.6\n"


@pytest.mark.parametrize(("name", "meant"), [("log_loss", "multiclass_log_loss"), ("brier", "multiclass_brier")])
def test_classes_of_one_question_are_told_from_questions_of_their_own(openmle, tmp_path, name, meant):
    answers, submission = tmp_path / "answers.csv", tmp_path / "submission.csv"
    answers.write_text(ONE_HOT)
    submission.write_text(SHARES)
    told = json.loads(openmle("grade", answers, submission, "--metric", name, "--id", "id", "--json").stdout)
    assert f"{meant} is meant" in " ".join(told["warnings"])
    answers.write_text(ONE_HOT.replace("2,0,1", "2,1,1"))
    told = json.loads(openmle("grade", answers, submission, "--metric", name, "--id", "id", "--json").stdout)
    assert not told["warnings"]


@pytest.mark.parametrize("name", ["log_loss", "brier"])
def test_weights_are_no_class(grade, name):
    # A row of class 0 weighs 1, so that each row has one 1 among its target and its weight.
    _, document, _ = grade("id,y,w 1,1,5 2,0,1", "id,y 1,0.9 2,0.1", name, "--param", "weight=w")
    assert (document["valid"], document["warnings"]) == (True, [])


def test_digits_without_end_are_a_text(grade):
    # More than Python turns into an integer.
    code, document, _ = grade(f"id,y 1,{'1' * 5000} 2,2", f"id,y 1,{'1' * 5000} 2,3", "accuracy")
    assert (code, document["score"]) == (0, 0.5)


def test_a_condition_on_the_target_itself(grade):
    answers, submission = "id,y 1,3 2,-1", "id,y 1,3 2,5"
    code, document, _ = grade(answers, submission, "mae", "--target", "y", "--where", "y != -1")
    assert (code, document["score"]) == (0, 0.0)
    code, _, stderr = grade(answers, submission, "mae", "--target", "y", "--where", "y = 7")
    assert (code, "That column holds '-1', '3'." in stderr) == (2, True)
