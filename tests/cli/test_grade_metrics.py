"""``openmle grade`` with any metric and its parameters against a file of answers; ``openmle metrics``."""

from __future__ import annotations

import csv
import itertools
import json
import re
import shlex

import pytest

from openmle_env.commands import answer_columns
from openmle_env.graders import metrics
from openmle_env.graders.metric_columns import replaces_targets
from openmle_env.graders.metric_example import MAX_ROWS, as_csv, example
from openmle_env.graders.metric_words import value
from openmle_env.graders.rows import Rows


def write(path, columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def by_column(values):
    rows = [one if isinstance(one, tuple) else (one,) for one in values]
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("name", metrics.names())
def test_every_worked_example_scores_the_same_from_files(openmle, tmp_path, name):
    for golden in metrics.get(name).golden:
        truth, predicted = by_column(golden.truth), by_column(golden.predicted)
        names = golden.names or tuple(f"y{i}" for i in range(len(predicted)))
        used = metrics.get(name, golden.parameters)
        ids = {"id": [f"r{i}" for i in range(len(golden.predicted))]}
        held = {} if replaces_targets(used) else dict(zip(names[: used.answered], truth, strict=False))
        answers = write(tmp_path / "answers.csv", {**ids, **held, **golden.answers})
        submission = write(tmp_path / "submission.csv", {**ids, **dict(zip(names, predicted, strict=True))})
        options = ["--metric", name, "--id", "id"]
        options += [part for one in names for part in ("--target", one)]
        options += [part for key, one in golden.parameters.items() for part in ("--param", f"{key}={_text(one)}")]
        options += ["--labels", ",".join(golden.labels)] if golden.labels else []
        options += ["--kind", golden.kind] if golden.kind and not golden.labels else []
        result = openmle("grade", answers, submission, *options, "--json")
        document = json.loads(result.stdout)
        assert result.code == 0, (golden, document)
        assert document["score"] == pytest.approx(golden.score, rel=1e-9, abs=1e-12), golden
        assert document["metric"] == name
        assert document["higher_is_better"] is used.higher_is_better


def _text(given):
    return "" if given == "" else value(given)


@pytest.fixture
def table(tmp_path):
    """Writes a file of lines, and gives its path."""
    numbers = itertools.count()

    def make(*lines):
        path = tmp_path / f"table{next(numbers)}.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    return make


def score(openmle, *arguments):
    result = openmle("grade", *arguments, "--json")
    assert result.code == 0, result.stdout
    return json.loads(result.stdout)["score"]


def test_columns_of_parameters_and_of_the_condition_are_no_targets(openmle, table):
    # Row 3 is not scored, and its answer is blank; |1 - 1.5| * 1 / (1 + 3) = 0.125.
    answers = table("id,y,u_out,w", "1,1.0,0,1", "2,2.0,0,3", "3,,1,1")
    submission = table("id,y", "3,9", "1,1.5", "2,2.0")
    options = ("--metric", "mae", "--id", "id", "--param", "weight=w")
    assert score(openmle, answers, submission, *options, "--where", "u_out = 0") == 0.125
    assert score(openmle, answers, submission, *options, "--where", "u_out != 1") == 0.125
    refused = openmle("grade", answers, submission, *options, "--where", "u_out = 7")
    assert (refused.code, "No row is scored" in refused.stderr) == (2, True)
    assert "u_out = 7. That column holds '0', '1'." in refused.stderr


def test_classes_in_one_column_are_the_target_columns(openmle, table):
    answers = table("id,cls", "1,cat", "2,dog")
    submission = table("id,dog,cat,emu", "1,0.5,0.5,0", "2,1,0,0")
    options = ("--metric", "multiclass_log_loss", "--id", "id", "--param", "truth_column=cls")
    half = 0.34657359027997264  # ln(2) / 2: half of the mass on the right class in one of two rows
    assert score(openmle, answers, submission, *options) == pytest.approx(half)
    assert score(openmle, answers, submission, *options, "--labels", "dog,cat,emu") == pytest.approx(half)
    result = openmle("grade", answers, submission, *options, "--target", "dog", "--target", "emu")
    assert (result.code, "1 are none of its labels" in result.stderr) == (1, True)


def test_columns_that_the_answers_lack_have_to_be_named(openmle, table):
    answers = table("id,value", "1,2.0")
    submission = table("id,value,confidence", "1,2.0,100")
    options = ("--metric", "laplace_log_likelihood", "--id", "id")
    refused = openmle("grade", answers, submission, *options)
    assert refused.code == 2
    assert "with --target" in refused.stderr
    named = ("--target", "value", "--target", "confidence")
    assert score(openmle, answers, submission, *options, *named) == pytest.approx(
        -4.9517437762682
    )  # -ln(sqrt(2) * 100)


def test_a_parameter_that_has_to_be_given_is_asked_for_with_its_choices(openmle, table):
    answers, submission = table("id,y,event", "1,5,1", "2,6,0"), table("id,y", "1,4", "2,9")
    options = ("--metric", "concordance_index", "--id", "id", "--param", "event=event")
    refused = openmle("grade", answers, submission, *options)
    assert (refused.code, refused.stdout) == (2, "")
    assert "needs the parameter prediction, one of 'risk', 'time'." in refused.stderr
    assert "Parameters of concordance_index:" in refused.stderr
    assert "taken from the answers" not in refused.stderr
    assert score(openmle, answers, submission, *options, "--param", "prediction=time") == 1.0


def test_all_that_a_metric_needs_is_asked_for_at_once(openmle, table):
    answers, submission = table("id,time,event", "1,5,1", "2,6,0"), table("id,risk", "1,4", "2,3")
    options = ("--metric", "concordance_index", "--id", "id")
    refused = openmle("grade", answers, submission, *options)
    assert (refused.code, refused.stdout) == (2, "")
    for part in (
        "needs the parameters event, the name of a column of the answers; and prediction, one of 'risk', 'time'.",
        "A submission has the id and one column, named as in the answers.",
        "openmle metrics concordance_index",
    ):
        assert part in refused.stderr
    needed = ("--param", "event=event", "--param", "prediction=risk")
    refused = openmle("grade", answers, submission, *options, *needed)
    assert refused.code == 1
    assert "another column than 'time': --param time=time --target risk" in refused.stderr
    assert score(openmle, answers, submission, *options, *needed, "--param", "time=time", "--target", "risk") == 1.0
    # Where there are several others, nobody can say which.
    several = openmle("grade", answers, table("id,a,b", "1,4,1", "2,3,1"), *options, *needed)
    assert "--param time=time --target COLUMN" in several.stderr


def test_a_weight_is_not_taken_for_the_truth_of_a_metric_that_has_no_such_parameter(openmle, table):
    answers, submission = table("id,time", "1,5", "2,6"), table("id,risk", "1,4", "2,3")
    refused = openmle("grade", answers, submission, "--metric", "mae", "--id", "id")
    assert (refused.code, "--param" in refused.stderr) == (1, False)


@pytest.mark.parametrize(
    ("metric", "cells", "options", "told"),
    [
        # Pixel 30 lies in no image of 2 x 2.
        ("dice", ("1 4", "30 2"), ("--param", "shape=2x2"), "cannot be read by dice with shape=2x2"),
        ("dice", ("1 4", "3 2"), ("--param", "shape=big"), "is not HEIGHTxWIDTH"),
        ("dice", ("1 4", "3 2"), (), "such as shape=101x101"),
        ("map_iou", ("1 4", "3"), ("--param", "shape=9x9"), "an odd number"),
        ("rmsle", ("1", "-3"), (), "negative"),
    ],
)
def test_answers_and_parameters_that_contradict_each_other_are_not_blamed_on_a_submission(
    openmle, table, *, metric, cells, options, told
):
    answers = table("id,y", *(f"{row},{cell}" for row, cell in enumerate(cells)))
    submission = table("id,y", "0,1 1", "1,2 1") if metric != "rmsle" else table("id,y", "0,1", "1,2")
    refused = openmle("grade", answers, submission, "--metric", metric, "--id", "id", *options)
    assert (refused.code, refused.stdout) == (2, "")
    for part in (told, f"Parameters of {metric}:\n  "):
        assert part in refused.stderr
    assert "submission_invalid" not in refused.stderr


@pytest.mark.parametrize(
    ("labels", "code", "told"),
    [
        ("dog,dog", 2, "should name each class once"),
        ("emu", 2, "Parameters of box_map:"),
        ("dog", 1, "has no value on these answers"),
        ("cat", 1, "no class of this task: 'dog'"),
        ("cat,dog", 0, ""),
    ],
)
def test_boxes_whose_answers_have_another_form_than_predictions(openmle, table, labels, code, told):
    answers, submission = table("id,b", "1,cat 0 0 1 1"), table("id,b", "1,dog 0.5 0 0 1 1")
    result = openmle("grade", answers, submission, "--metric", "box_map", "--id", "id", "--param", f"labels={labels}")
    assert (result.code, told in result.stdout + result.stderr) == (code, True)
    assert ("submission_invalid" in result.stdout) is (labels == "cat")


def test_a_submission_that_breaks_the_shape_is_still_to_blame(openmle, table):
    answers, submission = table("id,y", "1,1 4"), table("id,y", "1,30 2")
    refused = openmle("grade", answers, submission, "--metric", "dice", "--id", "id", "--param", "shape=2x2", "--json")
    assert (refused.code, json.loads(refused.stdout)["status"]) == (1, "submission_invalid")


def test_answers_of_rows_that_are_not_scored_may_have_any_form(openmle, table):
    answers = table("id,y,use", "1,1 4,yes", "2,none,no")
    submission = table("id,y", "1,1 4", "2,1 1")
    options = ("--metric", "dice", "--id", "id", "--param", "shape=2x2", "--where", "use = yes")
    assert score(openmle, answers, submission, *options) == 1.0


@pytest.mark.parametrize("name", metrics.names())
def test_the_answers_of_worked_examples_have_the_form_of_predictions_or_are_known_not_to(name):
    metric = metrics.get(name)
    for golden in metric.golden:
        used, truth, predicted = metric.example(golden)
        columns = predicted.columns
        if not metric.alike or any(one not in truth.columns for one in columns):
            continue
        own = Rows(truth.id, truth.ids, columns, {one: truth.values[one] for one in columns})
        assert not used.problems(own, truth), golden


def test_the_order_of_classes_is_told_where_it_counts(openmle, table):
    lines = ["1,mid", "2,low", "3,high", "4,low"]
    submission = table("id,y", "1,low", "2,low", "3,high", "4,mid")
    options = ("--metric", "qwk", "--id", "id")
    # By the told order two squared errors of 1 in 4 rows; over all 16 pairs of truth and prediction they add up to 22.
    told = {
        score(openmle, table("id,y", *order), submission, *options, "--labels", "low, mid, high")
        for order in itertools.permutations(lines)
    }
    assert [*told] == [pytest.approx(1 - (2 / 4) / (22 / 16))]
    for kind in ((), ("--kind", "label")):
        refused = openmle("grade", table("id,y", *lines), submission, *options, *kind)
        assert (refused.code, "--labels low,mid,high" in refused.stderr) == (2, True)
    # Numbers have an order. One squared error of 1 in 4 rows; of all 16 pairs, 8 differ by 1.
    numbers = table("id,y", "1,1", "2,1", "3,2", "4,2")
    guesses = table("id,y", "1,1", "2,2", "3,2", "4,2")
    assert score(openmle, numbers, guesses, *options, "--kind", "label") == 0.5
    # Two classes are equally far apart in either order.
    assert score(openmle, table("id,y", "1,a", "2,b"), table("id,y", "1,a", "2,b"), *options) == 1.0
    # Without weights, classes are equal or not.
    plain = ("--metric", "kappa", "--id", "id")
    assert score(openmle, table("id,y", *lines), table("id,y", *lines), *plain) == 1.0


def test_a_column_of_texts_may_be_blank_where_texts_are_what_the_metric_is_for(openmle, table):
    answers, submission = table("id,items", "1,a b", "2,"), table("id,items", "1,", "2,")
    assert score(openmle, answers, submission, "--metric", "map_at_k", "--id", "id", "--param", "empty=match") == 0.5
    words = table("id,y", "1,a", "2,b")
    blank = openmle("grade", words, table("id,y", "1,a", "2,"), "--metric", "accuracy", "--id", "id", "--json")
    assert json.loads(blank.stdout)["problems"][0]["code"] == "blank_values"


def test_how_targets_were_read_is_told_where_it_may_be_why_they_are_refused(openmle, table):
    answers, submission = table("id,y", "1,0", "2,1"), table("id,y", "1,0", "2,2")
    options = ("--metric", "accuracy", "--id", "id", "--json")
    (warning,) = json.loads(openmle("grade", answers, submission, *options).stdout)["warnings"]
    assert "read as label" in warning
    assert score(openmle, answers, submission, *options, "--labels", "0,1,2") == 0.5


def test_why_a_metric_is_undefined_is_told_to_the_owner_of_the_answers(openmle, table):
    answers, submission = table("id,y", "1,1", "2,1"), table("id,y", "1,0.5", "2,1")
    result = openmle("grade", answers, submission, "--metric", "roc_auc", "--id", "id", "--json")
    document = json.loads(result.stdout)
    assert (result.code, document["status"], document["score"]) == (1, "metric_or_answer_missing", None)
    assert "one class only" in document["message"]
    assert "fault of the task" not in document["message"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--metric", "map_at_k", "--param", "kk=5"), ["Did you mean 'k'", "\n  k: ", "whole number", "default: 5"]),
        (("--metric", "map_at_k", "--param", "k=0"), ["k='0' should be", "at least 1", "\n  k: "]),
        (("--metric", "map_at_k", "--param", "k=1e999"), ["should be a whole number"]),
        (("--metric", "map_at_k", "--param", "k"), ["NAME=VALUE"]),
        (("--metric", "map_at_k", "--param", "=5"), ["NAME=VALUE"]),
        (("--metric", "map_at_k", "--param", "k=1", "--param", "k=2"), ["given twice"]),
        (("--metric", "exact_match", "--labels", "a,b"), ["--labels"]),
        (("--metric", "accuracy", "--labels", "a,,b"), ["each class once"]),
        (("--metric", "accuracy", "--labels", "a,a"), ["each class once"]),
        (("--metric", "accuracy", "--labels", ""), ["each class once"]),
        (("--metric", "accuracy", "--where", "y"), ["COLUMN = VALUE"]),
        (("--metric", "accuracy", "--where", "z = 1"), ["no column 'z'", "id, y"]),
        (("--metric", "accuracy", "--param", "weight=z"), ["--param weight names the column 'z'", "id, y"]),
        (("--metric", "accuracy", "--where", "y = 1"), ["no column to compare"]),
        (("--metric", "acuracy"), ["Did you mean 'accuracy'"]),
        (("--metric", "auprc"), ["Did you mean 'average_precision'"]),
        (("--metric", "mAP"), ["Did you mean 'box_map' or 'map_at_k'"]),
        (
            ("--metric", "map_at_5", "--param", "k=3"),
            ["'map_at_5' stands for map_at_k with k=5, and k=3 was given", "\n  k: "],
        ),
        (("--param", "k=5"), ["go with --metric"]),
        (("--where", "y = 1"), ["go with --metric"]),
        (("--labels", "a,b"), ["go with --metric"]),
    ],
)
def test_wrong_options_are_explained(openmle, table, options, told):
    answers = table("id,y", "1,a", "2,b")
    identity = ("--id", "id") if "--metric" in options else ()
    result = openmle("grade", answers, answers, *options, *identity)
    assert result.code == 2
    for part in told:
        assert part in result.stderr


def test_metrics_are_listed(openmle):
    documents = json.loads(openmle("metrics", "--json").stdout)
    assert [one["name"] for one in documents] == list(metrics.names())
    shown = openmle("metrics").stdout
    assert all(name in shown for name in metrics.names())


@pytest.mark.parametrize("name", [*metrics.names(), "qwk"])
def test_a_metric_is_shown_with_all_that_is_said_of_it(openmle, name):
    metric = metrics.get(name)
    document = json.loads(openmle("metrics", name, "--json").stdout)
    assert (document["name"], document["higher_is_better"]) == (metric.name, metric.higher_is_better)
    text = openmle("metrics", name).stdout
    for part in (metric.description, *(f"  {one.name}: " for one in metric.parameters), *metric.aliases):
        assert part in text


@pytest.mark.parametrize("name", [*metrics.names(), "qwk", "f2", "map_at_3"])
def test_the_example_that_is_shown_can_be_copied(openmle, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    lines = openmle("metrics", name).stdout.splitlines()
    start = next(row for row, line in enumerate(lines) if line.startswith("An example, which scores "))
    stated = re.match(r"An example, which scores ([-+.\de]+?)(?::|$)", lines[start])[1]
    whole = example(metrics.get(name))
    files = {"answers.csv": whole.answers, "submission.csv": whole.submission}
    places = {file: lines.index(f"  {file}", start) for file in files}
    for file, columns in files.items():
        shown = itertools.takewhile(lambda line: line.startswith("    "), lines[places[file] + 1 :])
        text = "".join(f"{line[4:]}\n" for line in shown)
        if "rows in all" not in text:
            assert text == as_csv(columns)
        (tmp_path / file).write_text(as_csv(columns))
    assert lines[-1] == f"  {whole.command}"
    program, *arguments = shlex.split(lines[-1])
    assert program == "openmle"
    assert score(openmle, *arguments[1:]) == pytest.approx(float(stated), rel=1e-12)


def test_examples_say_something():
    poor = {name for name in metrics.names() if example(metrics.get(name)).score in {0, 1}}
    assert not poor
    assert {name for name in metrics.names() if example(metrics.get(name)).rows > MAX_ROWS} == {"ssim"}


def test_a_word_lists_the_metrics_that_have_it(openmle):
    shown = openmle("metrics", "matthews")
    assert (shown.code, "mcc" in shown.stdout, "accuracy" in shown.stdout) == (0, True, False)
    # By another name, in a description, in any spelling.
    for word, name in (("quantile", "pinball"), ("Run Lengths", "dice"), ("HARRELL", "concordance_index")):
        found = [one["name"] for one in json.loads(openmle("metrics", word, "--json").stdout)]
        assert name in found, (word, found)
        assert len(found) < 10


def test_other_names_are_listed(openmle):
    shown = openmle("metrics").stdout
    assert all(alias in shown for alias in ("qwk", "cindex", "macro_f1"))


def test_an_unknown_metric_is_wrong_use(openmle):
    result = openmle("metrics", "acuracy")
    assert (result.code, "Did you mean 'accuracy'" in result.stderr) == (2, True)


def test_clusters_may_have_any_names(openmle, table):
    answers, submission = table("id,y", "1,a", "2,b", "3,a"), table("id,y", "1,x", "2,y", "3,x")
    for name, warned in (("adjusted_rand", False), ("accuracy", True)):
        result = openmle("grade", answers, submission, "--metric", name, "--id", "id", "--json")
        assert bool(json.loads(result.stdout)["warnings"]) is warned


def test_a_column_of_too_many_values_holds_no_classes(openmle, table, monkeypatch):
    monkeypatch.setattr("openmle_env.commands.answer_cells.MAX_CLASSES", 2)
    answers = table("id,y", "1,a", "2,b", "3,c")
    refused = openmle("grade", answers, answers, "--metric", "accuracy", "--id", "id", "--kind", "label")
    assert (refused.code, "more than 2 different classes" in refused.stderr) == (2, True)
    assert score(openmle, answers, answers, "--metric", "accuracy", "--id", "id") == 1.0


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", "3"], "integer"),
        (["01", "2", "3"], "text"),
        (["1.0", "2", "3"], "integer"),
        (["1.5", "2", "3"], "text"),
        (["yes", "no", "no"], "label"),
        (["1", "0", "1"], "label"),
        (["a", "b", "a"], "text"),
    ],
)
def test_the_kind_is_the_first_of_the_metric_that_the_answers_fit(tmp_path, cells, kind):
    path = write(tmp_path / "answers.csv", {"id": ["x", "y", "z"], "y": cells})
    found = answer_columns.schema(metrics.get("accuracy"), path, answer_columns.Told(id="id"))
    assert [(column.name, column.kind) for column in (found.id, *found.targets)] == [("id", "text"), ("y", kind)]


def test_unscored_rows_do_not_tell_the_kind(tmp_path):
    columns = {"id": ["1", "2"], "y": ["0.25", "unknown"], "use": ["yes", "no"]}
    path = write(tmp_path / "answers.csv", columns)
    told = answer_columns.Told(id="id", rows="use = yes")
    found = answer_columns.schema(metrics.get("accuracy"), path, told)
    assert found.targets[0].kind == "text"
    assert answer_columns.schema(metrics.get("mae"), path, told).targets[0].kind == "number"
