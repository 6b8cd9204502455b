"""``openmle grade`` against a file of answers: how its columns are read, and what is wrong use."""

from __future__ import annotations

import json

import pytest

NAMES = ("--metric", "accuracy", "--id", "id")


@pytest.fixture
def files(tmp_path):
    def write(answers: list[str], predicted: list[str]):
        paths = tmp_path / "answers.csv", tmp_path / "submission.csv"
        for path, cells in zip(paths, (answers, predicted), strict=True):
            path.write_text("id,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))
        return paths

    return write


@pytest.mark.parametrize("answers", [["True", "False", "True"], ["yes", "no", "yes"], ["1", "0", "1"], ["T", "F", "T"]])
def test_a_yes_and_a_no_are_read_in_any_spelling(openmle, files, answers):
    for predicted in (["TRUE", "0", " True"], ["1.0", "false", "y"]):
        result = openmle("grade", *files(answers, predicted), *NAMES, "--json")
        assert result.code == 0, result.stdout
        document = json.loads(result.stdout)
        assert (document["score"], document["warnings"]) == (1.0, [])


def test_other_pairs_stay_texts_and_may_be_joined_by_a_third(openmle, files):
    result = openmle("grade", *files(["M", "F", "M"], ["M", "X", "M"]), *NAMES, "--json")
    assert json.loads(result.stdout)["score"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(("answers", "predicted"), [(["a", "b"], ["A", "B"]), (["1", "2"], ["3", "4"])])
def test_predictions_that_are_strangers_to_the_answers_are_warned_of(openmle, files, answers, predicted):
    paths = files(answers, predicted)
    result = openmle("grade", *paths, *NAMES, "--json")
    assert result.code == 0
    document = json.loads(result.stdout)
    assert document["score"] == 0.0
    assert "No value predicted for 'y' occurs among the answers" in document["warnings"][0]
    assert "Warning" in (plain := openmle("grade", *paths, *NAMES)).stdout + plain.stderr


def test_what_a_submission_holds_cannot_steer_the_terminal(openmle, files):
    answers, submission = files(["0.5", "0.25"], ["\x1b]0;owned\x07", "1"])
    result = openmle("grade", answers, submission, "--metric", "mae", "--id", "id")
    assert result.code == 1
    assert r"\x1b]0;owned\x07" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


def test_one_known_value_is_no_reason_to_warn(openmle, files):
    result = openmle("grade", *files(["a", "b"], ["b", "x"]), *NAMES, "--json")
    assert json.loads(result.stdout)["warnings"] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*NAMES, "--target", "y", "--target", "y"), "'y' is named twice"),
        ((*NAMES, "--target", "id"), "'id' is named twice"),
        (("--metric", ""), "--metric is empty"),
        ((*NAMES, "--kind", ""), "--kind ''"),
        (("--id", ""), "go with --metric"),
    ],
)
def test_wrong_options(openmle, files, arguments, told):
    result = openmle("grade", *files(["a", "b"], ["a", "b"]), *arguments)
    assert result.code == 2
    assert told in result.stderr


@pytest.mark.parametrize(("name", "told"), [("", "folder"), ("x" * 300, "name too long"), ("none.csv", "no file")])
def test_paths_that_are_no_files(openmle, pack, files, name, told):
    answers, submission = files(["a", "b"], ["a", "b"])
    for arguments in ((pack, name), (answers, name, *NAMES), (name, submission, *NAMES)):
        result = openmle("grade", *arguments)
        assert result.code == 2
        assert told in result.stderr.lower()
