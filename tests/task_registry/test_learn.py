from __future__ import annotations

import logging
import stat

import pytest

from openmle_env.errors import InfrastructureError, PackError, SandboxUnavailableError
from openmle_env.task_registry.grading import private_log
from openmle_env.task_registry.lookup import find, load_task
from openmle_env.task_registry.prepare import locate, prepare
from openmle_env.task_registry.spec import build
from openmle_env.types import Execution, Job, Part, ResultStatus
from tests.task_registry.conftest import METRIC


def test_a_plain_folder_becomes_a_task(write_pack, finished, box):
    task = load_task(write_pack(finished), sandbox=box)
    schema = task.spec.submission
    assert (schema.id.name, schema.id.kind) == ("id", "integer")
    assert [(target.name, target.kind, target.labels) for target in schema.targets] == [
        ("kind", "label", ("cat", "dog"))
    ]
    assert task.spec.metric == "pack"
    assert task.spec.higher_is_better
    worst, best = task.spec.reward_bounds
    assert worst < best == 1.0
    sample = (task.public / "sample_submission.csv").read_bytes()
    grade = task.grader(box).grade(sample, Part.VALIDATION)
    assert (grade.status, grade.score) == (ResultStatus.SUCCESS, worst)


def test_a_prepared_plain_folder_has_a_specification_without_a_sandbox(write_pack, finished, box):
    task = load_task(write_pack(finished), sandbox=box)
    pack = find(task.pack.root)
    assert build(pack, locate(pack).manifest) == task.spec


def test_what_was_learned_is_not_asked_again(write_pack, finished, box):
    root = write_pack(finished)
    first = load_task(root, sandbox=box)
    runs = len(box.jobs)
    assert load_task(root, sandbox=box).spec == first.spec
    assert len(box.jobs) == runs


def schema_of(make_pack, finished, box, changes):
    submission = prepare(make_pack(finished, changes), sandbox=box).manifest.submission
    return submission.id.kind, [(target.kind, target.labels) for target in submission.targets]


def table(header: str, *cells: str, start: int = 3) -> str:
    return header + "\n" + "".join(f"{number},{cell}\n" for number, cell in enumerate(cells, start))


TRAIN, SAMPLE, ANSWERS = "data/public/train.csv", "data/public/sample_submission.csv", "data/private/test_answer.csv"


def test_ids_with_leading_zeros_are_text(make_pack, finished, box):
    changes = {name: finished[name].replace("\n", "\n0")[:-1] for name in (SAMPLE, ANSWERS)}
    changes["pack.yaml"] = "split: {method: none}"  # by hash, all dogs fall into one part
    assert schema_of(make_pack, finished, box, changes)[0] == "text"


def test_ids_are_compared_in_their_one_spelling(make_pack, finished, box):
    sample = finished[SAMPLE].replace(",cat", ".0,cat")
    assert schema_of(make_pack, finished, box, {SAMPLE: sample})[0] == "integer"


def test_blanks_around_labels_are_no_part_of_them(make_pack, finished, box):
    changes = {name: finished[name].replace(",cat", ", cat") for name in (TRAIN, ANSWERS)}
    assert schema_of(make_pack, finished, box, changes)[1] == [("label", ("cat", "dog"))]


@pytest.mark.parametrize(
    ("answers", "train", "kind", "labels"),
    [
        (("cat", "dog", "cat", "dog"), "id,kind\n1,dog\n2,cat\n9,eel\n", "label", ("cat", "dog", "eel")),
        (("cat", "dog", "cat", "cow"), "id,kind\n1,dog\n2,cat\n", "text", ()),
        (("cat", "dog", "cat", "dog"), None, "text", ()),
        (("cat", "dog", "cat", "dog"), "id,weight\n1,2\n", "text", ()),
        (("cat", "dog", "1.5", "dog"), None, "text", ()),
    ],
)
def test_kinds_of_words(make_pack, finished, box, *, answers, train, kind, labels):
    changes = {TRAIN: train, SAMPLE: table("id,kind", *["cat"] * 4), ANSWERS: table("id,kind", *answers)}
    assert schema_of(make_pack, finished, box, changes) == ("integer", [(kind, labels)])


def test_numbers_are_left_to_the_metric(make_pack, finished, box):
    changes = {SAMPLE: table("id,kind", "0.5", "0.5", "0.5", "5e-1"), ANSWERS: table("id,kind", "0", "1", "1", "0")}
    assert schema_of(make_pack, finished, box, changes) == ("integer", [("number", ())])


@pytest.mark.parametrize(
    ("metric", "sample", "answers", "found"),
    [
        ("accuracy", ["0"] * 8, ["1", "0", "2", "1"] * 2, ("integer", ())),
        ("roc_auc", ["0"] * 8, ["yes", "no"] * 4, ("number", ())),
        ("log_loss", ["0.5"] * 8, ["yes", "no"] * 4, ("probability", ())),
        ("map_at_k", ["cat"] * 8, ["dog", "cat"] * 4, ("text", ())),
        ("kappa", ["cat"] * 8, ["dog", "cat"] * 4, ("label", ("cat", "dog"))),
    ],
)
def test_a_metric_of_ours_gets_a_kind_that_it_takes(make_pack, finished, box, *, metric, sample, answers, found):
    changes = {
        "pack.yaml": f"metric: {{name: {metric}}}\n",
        SAMPLE: table("id,kind", *sample),
        ANSWERS: table("id,kind", *answers),
    }
    assert schema_of(make_pack, finished, box, changes)[1] == [found]


@pytest.mark.parametrize(
    ("metric", "told"),
    [("qwk", "with 'labels' from first to last"), ("rmse", "looks like none of them. State 'submission' in pack.yaml")],
)
def test_what_cannot_be_inferred_for_a_metric_is_asked_for(make_pack, finished, box, metric, told):
    train = finished[TRAIN] + "99,1,emu\n"
    changes = {"pack.yaml": f"metric: {{name: {metric}}}\n", TRAIN: train}
    with pytest.raises(PackError, match=told):
        prepare(make_pack(finished, changes), sandbox=box)


def test_the_answers_may_have_more_columns(make_pack, finished, box):
    changes = {ANSWERS: "Usage," + finished[ANSWERS].replace("\n", "\nPublic,")[: -len("Public,")]}
    assert schema_of(make_pack, finished, box, changes)[1] == [("label", ("cat", "dog"))]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({SAMPLE: table("id,kind", *["cat"] * 8, start=4)}, "do not hold the same ids: 1 only in the first, 1 only in"),
        ({SAMPLE: table("id,kind", *["cat"] * 7)}, "0 only in the first, 1 only in the second, 7 and 8 rows"),
        ({SAMPLE: table("id,species", *["cat"] * 8)}, "lacks the column 'species'"),
        ({SAMPLE: "id\n3\n"}, "at least one target"),
        ({SAMPLE: ""}, "cannot be read"),
        ({ANSWERS: "id,kind\n3,cat\n3,dog,eel\n"}, "cannot be read: Line 3"),
        ({ANSWERS: "id,kind\n" + "3,dog\n" * 8, SAMPLE: "id,kind\n" + "3,cat\n" * 8}, "twice"),
        ({"pack.yaml": "metric: {higher_is_better: false}"}, "is False in pack.yaml, and the metric itself says True"),
        ({"pack.yaml": "split: {method: column, column: Part}"}, "Part"),
        ({"pack.yaml": "rewards: {worst: 1, best: 0}"}, "worst=1 to best=0 in pack.yaml, though higher is better"),
        (
            {"pack.yaml": "submission: {id: {name: id, kind: integer}, targets: [{name: breed, kind: text}]}"},
            "lacks the column 'breed'",
        ),
        (
            {"pack.yaml": "submission: {id: {name: id, kind: integer}, targets: [{name: kind, kind: number}]}"},
            "kind",
        ),
    ],
)
def test_contradictions_are_found_when_it_is_prepared(make_pack, finished, box, *, changes, message):
    with pytest.raises(PackError, match=message):
        prepare(make_pack(finished, changes), sandbox=box)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("higher_is_better = True", "higher_is_better = False", "though lower is better"),
        (".mean())", ".mean() * 0)", "Check the metric's direction"),
        (".mean())", ".mean() / 0 * 0)", "cannot be graded"),
        ('return "valid"', 'raise ValueError("no")', "cannot be graded"),
        ("def evaluate", "def score", "cannot be"),
    ],
)
def test_a_metric_that_cannot_tell(make_pack, finished, box, *, old, new, message):
    assert old in finished["utils/metric.py"]
    changes = {"utils/metric.py": finished["utils/metric.py"].replace(old, new)}
    with pytest.raises(PackError, match=message):
        prepare(make_pack(finished, changes), sandbox=box)


WORDS = ["validation"] * 4 + ["test"] * 4


@pytest.mark.parametrize(
    ("answers", "addition", "message"),
    [
        ("dog dog cat cat cat cat cat cat", "", "on the test part the answers themselves score 1 and the sample"),
        ("dog dog cat cat dog dog cat cat", "assert 3 in list(y_true['id'])", "cannot be graded on the test part"),
    ],
)
def test_the_test_part_is_tried_too(make_pack, finished, box, *, answers, addition, message):
    rows = [f"{cell},{word}" for cell, word in zip(answers.split(), WORDS, strict=True)]
    changes = {
        ANSWERS: table("id,kind,Part", *rows),
        "pack.yaml": "split: {method: column, column: Part}",
        "utils/metric.py": METRIC.replace("return float", f"{addition}\n        return float"),
    }
    with pytest.raises(PackError, match=message):
        prepare(make_pack(finished, changes), sandbox=box)


def test_a_metric_without_a_machine_is_not_the_packs_fault(make_pack, finished, home):
    class Gone:
        def run(self, job: Job, *, cancel: None = None) -> Execution:
            raise SandboxUnavailableError("the engine went away")

    with pytest.raises(InfrastructureError, match="the engine went away"):
        prepare(make_pack(finished), sandbox=Gone())


def test_a_stated_split_is_used(make_pack, write_pack, finished, box):
    parts = ["validation"] * 2 + ["test"] * 6
    rows = zip(finished[ANSWERS].splitlines(), ["Part", *parts], strict=True)
    changes = {
        ANSWERS: "\n".join(f"{row},{part}" for row, part in rows) + "\n",
        "pack.yaml": "metric: {name: accuracy}\nsplit: {method: column, column: Part}\n",
    }
    task = load_task(write_pack(finished, changes), sandbox=box)
    submission = "id,kind\n3,dog\n4,cat\n" + "".join(f"{number},cat\n" for number in range(5, 11))
    assert task.grader(box).grade(submission.encode(), Part.VALIDATION).score == 1.0
    assert task.grader(box).grade(submission.encode(), Part.TEST).score == pytest.approx(4 / 6)


def test_what_a_metric_is_warned_of_is_told_when_its_pack_is_prepared(make_pack, finished, box):
    named = {"utils/metric.py": METRIC.replace("PetsMetrics", "Pets")}
    warned = prepare(make_pack(finished, named), sandbox=box).warnings
    assert warned == ("The metric's class has a name that does not end in 'Metrics'.",)
    assert prepare(make_pack(finished, {"utils/metric.py": METRIC}), sandbox=box).warnings == ()


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (
            "def evaluate(y_true, y_pred):\n    return 1.0\n",
            "must have a class with evaluate and validate_submission. It has no class.",
        ),
        (
            METRIC.replace("def validate_submission", "def validate"),
            "Its class PetsMetrics lacks validate_submission: add it",
        ),
        (METRIC.replace("def evaluate", "def score"), "Its class PetsMetrics lacks evaluate: add it."),
        (METRIC + METRIC.replace("PetsMetrics", "MoreMetrics"), "it has MoreMetrics, PetsMetrics"),
        ("class Pets: ...\n", "It has Pets."),
        ("def score(y): ...\n", "It has no class."),
        (
            "def score(solution, submission, row_id_column_name): ...\n",
            "It has a function score(solution, submission, ...), as metrics of Kaggle do: call it from the method",
        ),
        (
            (
                "import abc\nclass Half(abc.ABC):\n    evaluate = validate_submission = print\n"
                "    @abc.abstractmethod\n    def more(self): ...\n"
            ),
            "Its class Half is abstract: write more.",
        ),
        (METRIC.replace("    higher_is_better = True\n", ""), "no attribute 'higher_is_better'"),
        (METRIC.replace("higher_is_better = True", "higher_is_better = 'yes'"), "should be True or False; it is 'yes'"),
        (METRIC.replace('y_true["kind"]', 'y_true["prize"]'), "KeyError: 'prize'"),
        (METRIC.replace('return "valid"', 'raise ValueError("no cats")'), "ValueError: no cats"),
        ("import openmle_no_such_library\n", "No module named 'openmle_no_such_library'"),
        (METRIC.replace("return float", "import os; os._exit(7)  #"), "exit code 7"),
    ],
)
def test_the_author_of_a_metric_learns_what_is_wrong_with_it(make_pack, finished, box, metric, expected):
    pack = make_pack(finished, {"utils/metric.py": metric})
    with pytest.raises(PackError) as caught:
        prepare(pack, sandbox=box, show_trace=True)
    assert str(caught.value).startswith("pets: ")
    assert expected in str(caught.value)
    assert str(pack.root) in str(caught.value)


PROBABILITY = """
metric: {name: accuracy}
submission: {id: {name: id, kind: integer}, targets: [{name: kind, kind: probability}]}
"""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"pack.yaml": "split: {method: column, column: prt}"},
            "the column 'prt' that states the split is missing; there are 'id', 'k",
        ),
        ({"pack.yaml": PROBABILITY}, "accuracy takes targets of kind"),
    ],
)
def test_faults_of_the_grader_name_task_and_folder(make_pack, finished, box, changes, expected):
    pack = make_pack(finished, changes)
    with pytest.raises(PackError) as caught:
        prepare(pack, sandbox=box)
    assert str(caught.value).startswith("pets: ")
    assert expected in str(caught.value)
    assert f"The pack is in {pack.root}." in str(caught.value)


def test_a_broken_metric_quotes_no_answers_where_a_run_prepares_the_task(write_pack, finished, box):
    metric = METRIC.replace('return "valid"', 'raise ValueError("secret " + ground_truth.to_csv())')
    pack = write_pack(finished, {"utils/metric.py": metric})
    with pytest.raises(PackError) as caught:
        load_task(pack, sandbox=box)
    assert "secret" not in str(caught.value)
    assert "openmle prepare" in str(caught.value)
    with pytest.raises(PackError, match="secret"):
        prepare(find(pack), sandbox=box, show_trace=True)


def test_what_a_metric_says_in_a_run_goes_to_a_private_file_only(write_pack, finished, box, caplog):
    caplog.set_level(logging.DEBUG)
    check = 'if (submission["kind"] == "dog").all():\n            raise ValueError("secret " + ground_truth.to_csv())'
    metric = METRIC.replace('return "valid"', check)
    task = load_task(write_pack(finished, {"utils/metric.py": metric}), sandbox=box)
    dogs = (task.public / "sample_submission.csv").read_bytes().replace(b"cat", b"dog")
    grade = task.grader(box).grade(dogs, Part.VALIDATION)
    assert grade.status is ResultStatus.SUBMISSION_INVALID
    assert "secret" not in repr(grade)
    assert "secret" not in caplog.text
    assert "'validate': ValueError" in caplog.text
    log = private_log(task.answers)
    assert "ValueError: secret" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
    assert load_task(task.pack.root, sandbox=box).spec == task.spec, "the log is no part of what was prepared"
