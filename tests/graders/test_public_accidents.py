"""Accidents that befell users of other graders, each through ``openmle grade`` as a user meets it.

One case is one accident: what stood in the two files, how they were graded, and what has to come of it. Scores were
worked out by hand; the comment beside a case says how where it is not plain.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.main import invoke

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BOM = b"\xef\xbb\xbf"
MAP5 = "map_at_k --param k=5"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Files, options and outcome; a text is lines separated by ``|``."""

    name: str
    answers: str | bytes
    submission: str | bytes
    metric: str
    score: float | None = None
    """The score; None where there must be none."""
    code: str = ""
    """Of the first problem, where the submission is refused."""
    status: str = ""
    """Where there is no score and no problem."""
    told: str = ""
    """What has to stand in the message or a warning."""


def case(
    name: str, answers: str | bytes, submission: str | bytes, metric: str, score: float | None = None, **rest: str
):
    made = Case(name=name, answers=answers, submission=submission, metric=metric, score=score, **rest)
    return pytest.param(made, id=name.replace(" ", "-"))


def lines(header: str, *cells: object) -> str:
    return "|".join([header, *(f"{row},{cell}" for row, cell in enumerate(cells, 1))])


YN = lines("id,y", 1, 0, 1, 0)
REAL = lines("id,y", 1, 2, 3)
ZOO = lines("id,y", "None", "NA", "null", "nan", "Mild")
TWELVE = ",".join(str(one) for one in range(12))


def twelve(order: list[int]) -> str:
    """One row of class 10, whose probability is a half, the rest spread evenly."""
    cells = ",".join("0.5" if one == 10 else repr(0.5 / 11) for one in order)
    return f"id,{','.join(map(str, order))}|1,{cells}"


READING = [
    case("byte order mark", REAL, BOM + b"id,y\n1,1\n2,2\n3,3\n", "rmse", 0.0),
    case("two byte order marks", REAL, BOM + BOM + b'"id","y"\n1,1\n2,2\n3,3\n', "rmse", 0.0),
    case("byte order mark of the answers", BOM + b"id,y\n1,1\n", "id,y|1,1", "rmse", 0.0),
    case("index as first column", REAL, ",id,y|0,1,1|1,2,2|2,3,3", "rmse", 0.0, told="index=False"),
    case("unnamed column that is no index", REAL, ",id,y|7,1,1|1,2,2|2,3,3", "rmse", code="unnamed_column"),
    case("trailing separator on all rows", REAL, "id,y|1,1,|2,2,|3,3,", "rmse", 0.0),
    case("trailing separator on one row", REAL, "id,y|1,1,|2,2|3,3", "rmse", code="ragged_row"),
    case("classes spelled like missing values", ZOO, ZOO, "accuracy", 1.0),
    case("leading zeros kept", "id,y|007,1|010,2", "id,y|010,2|007,1", "rmse", 0.0),
    case("leading zeros lost", "id,y|007,1|010,2", "id,y|7,1|10,2", "rmse", code="missing_ids", told="eading zeros"),
    case("ids that became floats", REAL, 'id,y|"1",1|2.0,2|3,3', "rmse", 0.0),
    case("ids with a fraction", REAL, "id,y|1.5,1|2,2|3,3", "rmse", code="malformed_ids"),
    case("rows in the order of texts", "id,y|1,1|2,2|10,3|11,4", "id,y|1,1|10,3|11,4|2,2", "rmse", 0.0),
    case("an id twice in the place of another", REAL, "id,y|1,1|2,2|2,3", "rmse", code="missing_ids", told="more than"),
    case("an id twice with equal values", REAL, "id,y|1,1|2,2|3,3|3,3", "rmse", code="duplicate_ids"),
    case("blank predictions", REAL, "id,y|1,|2,|3,3", "rmse", code="blank_values"),
    case("predictions that are no numbers", REAL, "id,y|1,nan|2,2|3,3", "rmse", code="not_finite"),
    case("infinite predictions", REAL, "id,y|1,-Infinity|2,1e400|3,3", "rmse", code="not_finite"),
    case("blanks around headers and numbers", REAL, "id , y|1 , 1| 2, 2|3,3", "rmse", 0.0),
    case("another case of a header", REAL, "id,Y|1,1|2,2|3,3", "rmse", code="wrong_columns", told="'Y'"),
    case("a comma without quotes", lines("id,y", "a", "b"), "id,y|1,a|2,b, c", "accuracy", code="ragged_row"),
    case("line breaks in quotes", b'id,y\n1,"a, ""b""\r\nc"\n', b'id,y\r\n1,"a, ""b""\r\nc"\r\n', "exact_match", 1.0),
    case(
        "spellings of yes and no", lines("id,y", "True", "False", "True"), lines("id,y", "yes", "0", "1.0"), "acc", 1.0
    ),
    case("numbers as labels", lines("id,y", "1.0", "2.0"), lines("id,y", 1, 2), "accuracy", 1.0),
    case("a row with a field too many", "id,y,z|1,1,1", "id,y,z|1,1,1,1", "rmse", code="ragged_row", told="Line 2"),
    case("a row with a field too few", "id,y,z|1,1,1", "id,y,z|1,1", "rmse", code="ragged_row", told="Line 2"),
    case("an empty file", REAL, b"", "rmse", code="empty_file"),
    case("a header only", REAL, "id,y", "rmse", code="header_only"),
    case("a row missing", REAL, "id,y|1,1|2,2", "rmse", code="missing_ids"),
    case("a row too many", REAL, REAL + "|4,4", "rmse", code="unknown_ids"),
    case("a column too many", REAL, "id,y,raw|1,1,9|2,2,9|3,3,9", "rmse", 0.0, told="'raw'"),
    case("a target twice", REAL, "id,y,y|1,1,1|2,2,2|3,3,3", "rmse", code="duplicate_columns"),
    case("a pickle", REAL, b"\x80\x04\x95\x0b\x00\x00\x00", "rmse", code="not_utf8"),
    case("an expression", lines("id,y", 0), lines("id,y", "__import__('os').getpid()*0"), "rmse", code="not_a_number"),
    case("an empty cell for a zero", lines("id,y", 0), lines("id,y", ""), "rmse", code="blank_values"),
]

CLASS = "--param truth_column=c"
SCORING = [
    # -ln(0.5), whichever way the header is sorted.
    case(
        "classes in numeric order",
        "id,c|1,10",
        twelve(list(range(12))),
        f"mlogloss {CLASS} --labels {TWELVE}",
        math.log(2),
    ),
    case(
        "classes in reverse",
        "id,c|1,10",
        twelve(list(range(11, -1, -1))),
        f"mlogloss {CLASS} --labels {TWELVE}",
        math.log(2),
    ),
    case("one class only", lines("id,y", 1, 1), lines("id,y", 0.2, 0.9), "auc", status="metric_or_answer_missing"),
    case(
        "one of the columns has one class",
        "id,a,b|1,1,0|2,0,0",
        "id,a,b|1,1,0|2,0,0",
        "mean_columnwise_auc",
        status="metric_or_answer_missing",
    ),
    # -ln(1e-15) for either row.
    case("certain and wrong", lines("id,y", 0, 1), lines("id,y", "1.0", "0.0"), "logloss", 34.538776394910684),
    case("one class in the truth of log loss", lines("id,y", 1, 1), lines("id,y", 0, 0), "logloss", 34.538776394910684),
    case("negative in rmsle", lines("id,y", 1, 2), lines("id,y", 1, -0.5), "rmsle", code="wrong_form", told="1 of 2"),
    case("kappa of one right label", lines("id,y", 3, 3), lines("id,y", 3, 3), "qwk", 1.0),
    case("kappa of one wrong label", lines("id,y", 3, 3), lines("id,y", 2, 2), "qwk", 0.0),
    case("a right item again and again", lines("id,y", "A"), lines("id,y", "A A A A A"), MAP5, 1.0),
    # 1/3 for the first row, 0 for the second.
    case("divisor of average precision", lines("id,y", "a b c", "d"), lines("id,y", "a x z", "x"), MAP5, 1 / 6),
    # 2 rows, 3 columns, down the columns: the pixel at the top right is the fifth.
    case("last pixels of a mask", "id,y|1,5 2", "id,y|1,5 2", "dice --param shape=2x3", 1.0),
    case("a run beyond the image", "id,y|1,5 2", "id,y|1,6 2", "dice --param shape=2x3", code="wrong_form", told="'1'"),
    case("an odd number of fields", "id,y|1,5 2", "id,y|1,5", "dice --param shape=2x3", code="wrong_form"),
    case("runs that overlap", "id,y|1,5 2", "id,y|1,1 3 2 1", "dice --param shape=2x3", code="wrong_form"),
    case("a run of no pixels", "id,y|1,5 2", "id,y|1,1 0", "dice --param shape=2x3", code="wrong_form"),
    case("empty against empty", "id,y|1,|2,", "id,y|1,|2,1 1", "dice --param shape=2x3", 0.5),
    case("nothing in common in bleu", lines("id,y", "no"), lines("id,y", "yes"), "bleu", 0.0),
    case("an empty hypothesis in bleu", lines("id,y", "one two"), lines("id,y", '""'), "bleu", 0.0),
    case(
        "event and censoring at one time",
        "id,y,e|1,5,1|2,5,0",
        "id,y|1,0.1|2,0.9",
        "cindex --param event=e --param prediction=risk",
        0.0,
    ),
    case(
        "all censored",
        "id,y,e|1,5,0|2,6,0",
        "id,y|1,1|2,2",
        "cindex --param event=e --param prediction=risk",
        status="metric_or_answer_missing",
    ),
    case(
        "which way survival points",
        "id,y,e|1,5,1|2,6,1",
        "id,y|1,1|2,2",
        "cindex --param event=e --param prediction=time",
        1.0,
    ),
    # One of two yes found, no false alarm: 2 * 1 / (2 + 1).
    case("f1 of yes and no", lines("id,y", "yes", "no", "yes"), lines("id,y", "yes", "no", "no"), "f1", 2 / 3),
    case(
        "numbers where words are right", lines("id,y", "a", "b"), lines("id,y", 1, 2), "accuracy", 0.0, told="spelled"
    ),
    case("constant scores", YN, lines("id,y", 7, 7, 7, 7), "auc", 0.5),
]


@pytest.fixture
def grade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[Case], tuple[int, dict[str, Any]]]:
    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else (content.replace("|", "\n") + "\n").encode())
        return str(path)

    def call(one: Case) -> tuple[int, dict[str, Any]]:
        files = write("answers.csv", one.answers), write("submission.csv", one.submission)
        metric, *options = one.metric.split()
        capsys.readouterr()
        code = invoke(["grade", *files, "--metric", metric, "--id", "id", *options, "--json"])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err

        def refuse(name: str) -> None:
            pytest.fail(f"{name} is no JSON")

        return code, json.loads(out, parse_constant=refuse)

    return call


@pytest.mark.parametrize("one", [*READING, *SCORING])
def test_it_does_not_happen_here(grade: Callable[[Case], tuple[int, dict[str, Any]]], one: Case) -> None:
    code, document = grade(one)
    assert "error" not in document, document
    said = " ".join([document["message"], *document["warnings"]])
    assert one.told in said
    if one.score is not None:
        assert (code, document["valid"], document["problems"]) == (0, True, []), document
        assert document["score"] == pytest.approx(one.score, rel=1e-12, abs=1e-12)
        return
    assert (code, document["valid"], document["score"]) == (1, False, None), document
    if one.code:
        assert document["status"] == "submission_invalid"
        assert document["problems"][0]["code"] == one.code
    else:
        assert document["status"] == one.status


@pytest.mark.parametrize(
    "metric", ["auc", "map_at_k", "ndcg_at_k", "grouped_ndcg --param query=q", "cindex --param event=e"]
)
def test_the_order_of_rows_is_worth_nothing(grade: Callable[[Case], tuple[int, dict[str, Any]]], metric: str) -> None:
    truth = ["1,1,a,1", "2,0,a,1", "3,1,b,0", "4,0,b,1"]
    guess = ["1,0.5", "2,0.5", "3,0.1", "4,0.9"]
    options = f"{metric} --target y" + (" --param prediction=risk" if "cindex" in metric else "")
    found = {
        grade(case("", "|".join(["id,y,q,e", *rows]), "|".join(["id,y", *guesses]), options).values[0])[1]["score"]
        for rows in (truth, truth[::-1])
        for guesses in (guess, guess[::-1], guess[2:] + guess[:2])
    }
    assert len(found) == 1
    assert None not in found
