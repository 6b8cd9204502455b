from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import InfrastructureError, PackError, SandboxUnavailableError
from openmle_env.graders import private_log
from openmle_env.graders.grader import Grader
from openmle_env.graders.pack_metric import PackMetric
from openmle_env.graders.private_log import PrivateLog
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.types import (
    Artifact,
    ArtifactState,
    Column,
    Execution,
    Fault,
    Job,
    Limits,
    Part,
    ResultStatus,
    SubmissionSchema,
)

if TYPE_CHECKING:
    from openmle_env.sandbox.protocol import Sandbox
    from tests.graders.conftest import PlainProcess

METRIC = """
import pandas as pd

class InvalidSubmissionError(Exception):
    pass

class CompetitionMetrics:
    def evaluate(self, y_true, y_pred):
        raise NotImplementedError
    def validate_submission(self, submission, ground_truth):
        raise NotImplementedError

class ToyMetrics(CompetitionMetrics):
    value = "target"
    higher_is_better = {higher}

    def evaluate(self, *, y_true: pd.DataFrame, y_pred: pd.DataFrame) -> float:
        print("the pack may print", {{"score": 1e9}})
        {evaluate}
        both = y_true.merge(y_pred, on="id", suffixes=("_t", "_p"), validate="1:1")
        return (both.target_t == both.target_p).mean()

    def validate_submission(self, submission, ground_truth):
        {validate}
        submission.drop(submission.index, inplace=True)
        return "Submission is valid."
"""
ANSWERS = "id,target,Usage,weight\n1,0,Public,2.5\n2,1,Public,\n3,1,Private,1\n4,0,Private,1\n"
SUBMISSION = b"id,target\n4,1\n3,1\n2,1\n1,no\n"


def write(folder: Path, *, higher: object = True, evaluate: str = "pass", validate: str = "pass") -> Path:
    path = folder / "metric.py"
    path.write_text(METRIC.format(higher=higher, evaluate=evaluate, validate=validate))
    return path


def grader(schema: SubmissionSchema, folder: Path, metric: PackMetric) -> Grader:
    answers = folder / "test_answer.csv"
    answers.write_text(ANSWERS)
    return Grader(schema=schema, metric=metric, answers=answers, split_column="Usage")


def test_a_packs_metric_scores_each_part(survival: SubmissionSchema, tmp_path: Path, process: PlainProcess) -> None:
    code = write(
        tmp_path,
        evaluate="assert list(y_true.columns) == ['id', 'target', 'Usage', 'weight'] and len(y_true) == len(y_pred); "
        "assert list(y_true.dtypes[['id', 'target']]) == ['int64', 'int64'] == list(y_pred.dtypes), y_true.dtypes",
    )
    made = grader(survival, tmp_path, PackMetric(code, process))
    scores = {part: made.grade(SUBMISSION, part).score for part in Part}
    assert scores == {Part.VALIDATION: 1.0, Part.TEST: 0.5, Part.ALL: 0.75}


def test_a_packs_own_check_sees_all_rows_whatever_the_part(
    survival: SubmissionSchema, tmp_path: Path, process: PlainProcess
) -> None:
    # Seeing one part only, it would tell an agent which ids are in it.
    code = write(
        tmp_path,
        validate="assert sorted(submission.id) == sorted(ground_truth.id) == [1, 2, 3, 4]; "
        "assert (submission.target[submission.id == 4] == 0).all()",
    )
    made = grader(survival, tmp_path, PackMetric(code, process))
    assert {made.grade(SUBMISSION, part).status for part in Part} == {ResultStatus.SUBMISSION_INVALID}


def test_the_metric_sees_one_part_and_the_box_nothing_else(
    survival: SubmissionSchema, tmp_path: Path, process: PlainProcess
) -> None:
    code = write(
        tmp_path,
        evaluate="import os; names = sorted(os.listdir(os.environ['DATA_DIR'])); "
        "assert names == ['metric.py', 'prediction.csv', 'request.json', 'truth.csv'], names; "
        "assert y_true.id.tolist() == y_pred.id.tolist() == [3, 4]; return 0.25",
    )
    assert grader(survival, tmp_path, PackMetric(code, process)).grade(SUBMISSION, Part.TEST).score == 0.25
    assert not Path(process.jobs[0].inputs["/data"]).exists()


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ({"validate": "raise InvalidSubmissionError('secret')"}, ResultStatus.SUBMISSION_INVALID),
        ({"validate": "raise ValueError('secret')"}, ResultStatus.SUBMISSION_INVALID),
        ({"validate": "secret_name"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "raise ValueError('secret')"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "return float('nan')"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "return float('inf')"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "return 'secret'"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "return None"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "return '0.5'"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "return True"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "import numpy; return numpy.True_"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "return 1j"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "import os; os._exit(3)"}, ResultStatus.SCORING_FAILED),
        ({"evaluate": "raise SystemExit"}, ResultStatus.SCORING_FAILED),
        ({"higher": "'secret'"}, ResultStatus.METRIC_OR_ANSWER_MISSING),
        ({"higher": "1 / 0"}, ResultStatus.METRIC_OR_ANSWER_MISSING),
    ],
)
def test_each_failure_has_its_status_and_leaks_nothing(
    survival: SubmissionSchema,
    tmp_path: Path,
    process: PlainProcess,
    caplog: pytest.LogCaptureFixture,
    *,
    parts: dict[str, str],
    status: ResultStatus,
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    made = grader(survival, tmp_path, PackMetric(write(tmp_path, **parts), process, details=told.append))
    grade = made.grade(SUBMISSION, Part.ALL)
    assert (grade.status, grade.score) == (status, None)
    assert grade.message
    assert "secret" not in repr(grade)
    assert "metric.py failed at stage" in caplog.text
    assert "secret" not in caplog.text
    assert len(told) == 1
    assert not any("secret" in part for part in parts.values()) or "secret" in told[0]
    assert made.looks[Part.ALL] == 1


@pytest.mark.parametrize(
    ("code", "works"),
    [
        ("class Scorer:\n  higher_is_better = False\n{methods}", True),
        ("class AMetrics:\n  higher_is_better = False\n{methods}\nclass Helper:\n  higher_is_better = True\n", True),
        ("class A:\n  higher_is_better = False\n{methods}\nclass B:\n  higher_is_better = True\n{methods}", False),
        ("class AMetrics:\n  higher_is_better = False\n", False),
        ("from collections import Counter as FakeMetrics", False),
        ("import a_library_that_is_not_there", False),
        ("syntax error", False),
    ],
)
def test_finding_the_class(tmp_path: Path, process: PlainProcess, code: str, works: bool) -> None:
    methods = "  def evaluate(self, y_true, y_pred): return 0.5\n  def validate_submission(self, a, b): return ''"
    path = tmp_path / "metric.py"
    path.write_text(code.format(methods=methods))
    metric = PackMetric(path, process)
    if works:
        assert metric.higher_is_better is False
    else:
        with pytest.raises(PackError, match="cannot be learned"):
            _ = metric.higher_is_better


def test_a_class_of_another_name_is_accepted_with_a_warning(
    survival: SubmissionSchema, tmp_path: Path, process: PlainProcess
) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text().replace("ToyMetrics", "Toy"))
    grade = grader(survival, tmp_path, PackMetric(path, process)).grade(SUBMISSION, Part.ALL)
    assert grade.score == 0.75
    assert "does not end in 'Metrics'" in grade.warnings[0]


def test_a_metric_cannot_warn_in_its_own_words(
    survival: SubmissionSchema, tmp_path: Path, process: PlainProcess
) -> None:
    result = {
        "higher_is_better": True,
        "warnings": ["secret", ["secret"], "class_name"],
        "score": 0.5,
        "error": "secret",
    }
    code = write(
        tmp_path,
        evaluate=f"import os; open(os.environ['OUTPUT_DIR'] + '/result.json', 'w').write({json.dumps(result)!r}); "
        "os._exit(0)",
    )
    grade = grader(survival, tmp_path, PackMetric(code, process)).grade(SUBMISSION, Part.ALL)
    assert (grade.score, grade.warnings) == (0.5, ("The metric's class has a name that does not end in 'Metrics'.",))


@pytest.mark.parametrize("number", ["1", "numpy.float32(1)", "numpy.array([1.0])", "Decimal(1)", "Fraction(1)"])
def test_numbers_of_any_library_are_scores(
    survival: SubmissionSchema, tmp_path: Path, process: PlainProcess, number: str
) -> None:
    code = write(
        tmp_path,
        evaluate=f"import numpy; from decimal import Decimal; from fractions import Fraction; return {number}",
    )
    assert grader(survival, tmp_path, PackMetric(code, process)).grade(SUBMISSION, Part.ALL).score == 1.0


def test_the_direction_is_asked_once(tmp_path: Path, process: PlainProcess) -> None:
    path = write(tmp_path, higher="__import__('numpy').bool_(False)", evaluate="'asked once'")
    assert [PackMetric(path, process).higher_is_better for _ in range(3)] == [False] * 3
    assert len(process.jobs) == 1
    assert PackMetric(path, process, higher_is_better=False).higher_is_better is False


def test_a_stated_direction_must_agree(survival: SubmissionSchema, tmp_path: Path, process: PlainProcess) -> None:
    metric = PackMetric(write(tmp_path, higher=False), process, higher_is_better=True)
    grade = grader(survival, tmp_path, metric).grade(SUBMISSION, Part.ALL)
    assert grade.status is ResultStatus.METRIC_OR_ANSWER_MISSING
    assert "direction" in grade.message


def test_a_metric_file_that_is_not_there(survival: SubmissionSchema, tmp_path: Path, process: PlainProcess) -> None:
    metric = PackMetric(tmp_path / "none.py", process)
    assert (
        grader(survival, tmp_path, metric).grade(SUBMISSION, Part.ALL).status is ResultStatus.METRIC_OR_ANSWER_MISSING
    )
    with pytest.raises(PackError, match="cannot be read"):
        _ = metric.higher_is_better


def test_frames_hold_what_was_submitted(tmp_path: Path, process: PlainProcess) -> None:
    schema = SubmissionSchema(
        id=Column(name="id", kind="text"),
        targets=(
            Column(name="p", kind="probability"),
            Column(name="t", kind="text"),
            Column(name="b", kind="label", labels=("True", "False")),
            Column(name="c", kind="label", labels=("NA", "0", "01")),
        ),
    )
    code = write(
        tmp_path,
        evaluate="assert y_pred.id.tolist() == ['007', '010'] == y_true.id.tolist(); "
        "assert y_pred.t.tolist() == ['nan', 'a,\"b\"\\r\\nc\\rd '] == y_true.t.tolist(), y_pred.t.tolist(); "
        "assert y_pred.b.tolist() == [True, False] and y_pred.b.dtype == bool == y_true.b.dtype; "
        "assert y_pred.c.tolist() == ['NA', '01'] == y_true.c.tolist(); "
        "assert y_true.p.tolist() == [1, 0] and y_true.p.dtype == 'int64'; "
        "return y_pred.p.sum()",
    )
    text = '"a,""b""\r\nc\rd "'
    answers = tmp_path / "a.csv"
    answers.write_bytes(f"id,p,t,b,c\n007,1,nan,True,NA\n010,0,{text},False,01\n".encode())
    made = Grader(schema=schema, metric=PackMetric(code, process), answers=answers, split="none")
    grade = made.grade(f"c,id,p,t,b\n01,010,0.1,{text},0\nNA,007,0.30000000000000004,nan,yes\n".encode(), Part.ALL)
    assert grade.score == 0.1 + 0.30000000000000004


def test_integers_beyond_64_bits(tmp_path: Path, process: PlainProcess) -> None:
    schema = SubmissionSchema(id=Column(name="id", kind="integer"), targets=(Column(name="target", kind="integer"),))
    answers = tmp_path / "a.csv"
    answers.write_text(f"id,target\n{10**30},{2**63 - 1}\n7,{-(2**63)}\n")
    made = Grader(schema=schema, metric=PackMetric(write(tmp_path), process), answers=answers, split="none")
    assert made.grade(answers.read_bytes(), Part.ALL).score == 1.0
    beyond = made.grade(f"id,target\n{10**30},{2**63}\n7,{-(2**63)}\n".encode(), Part.ALL)
    assert [problem.code for problem in beyond.problems] == ["too_large_integer"]


MLEDOJO = """
from typing import Any
import pandas as pd
from mledojo.metrics.base import CompetitionMetrics, InvalidSubmissionError

class ToyCompetitionMetrics(CompetitionMetrics):
    def __init__(self, value: str = "target", higher_is_better: bool = {higher}):
        super().__init__(higher_is_better)
        self.value = value

    def evaluate(self, y_true: pd.DataFrame, y_pred: pd.DataFrame) -> float:
        y_true["id"] = y_true["id"].astype(str)
        return float((y_true[self.value] == y_pred[self.value]).mean())

    def validate_submission(self, submission: Any, ground_truth: Any) -> str:
        if not isinstance(submission, pd.DataFrame):
            raise InvalidSubmissionError("Submission must be a DataFrame.")
        {validate}
        return "Submission is valid."
"""


@pytest.mark.parametrize(
    ("validate", "status"),
    [
        ("pass", ResultStatus.SUCCESS),
        ("return True", ResultStatus.SUCCESS),
        ("return True, 'secret'", ResultStatus.SUCCESS),
        ("raise InvalidSubmissionError('secret')", ResultStatus.SUBMISSION_INVALID),
        ("return False", ResultStatus.SUBMISSION_INVALID),
        ("return False, 'secret'", ResultStatus.SUBMISSION_INVALID),
        ("return (submission.target == ground_truth.target).all(), 'secret'", ResultStatus.SUBMISSION_INVALID),
    ],
)
def test_metrics_of_mledojo(
    survival: SubmissionSchema, tmp_path: Path, process: PlainProcess, validate: str, status: ResultStatus
) -> None:
    code = tmp_path / "metric.py"
    code.write_text(MLEDOJO.format(higher=True, validate=validate))
    made = grader(survival, tmp_path, PackMetric(code, process))
    grade = made.grade(SUBMISSION, Part.ALL)
    assert (grade.status, grade.score) == (status, 0.75 if status is ResultStatus.SUCCESS else None)
    assert "secret" not in repr(grade)


@pytest.mark.parametrize("higher", [True, False])
def test_the_direction_of_a_metric_of_mledojo_is_its_constructors(
    tmp_path: Path, process: PlainProcess, higher: bool
) -> None:
    code = tmp_path / "metric.py"
    code.write_text(MLEDOJO.format(higher=higher, validate="pass"))
    assert PackMetric(code, process).higher_is_better is higher


def test_the_stand_in_for_mledojo_is_a_package_like_any_other(tmp_path: Path, process: PlainProcess) -> None:
    code = tmp_path / "metric.py"
    code.write_text(
        "import mledojo.metrics.base\nimport mledojo.metrics.base as base\nfrom mledojo.metrics import base as same\n"
        "assert mledojo.metrics.base is base is same\n"
        + MLEDOJO.format(higher="1 > 2", validate="pass")
        .replace("CompetitionMetrics,", "CompetitionMetrics as Base,")
        .replace("(CompetitionMetrics)", "(Base)")
    )
    assert PackMetric(code, process).higher_is_better is False


class Scripted:
    """A sandbox that gives one execution, or raises."""

    name = "scripted"

    def __init__(self, result: Execution | Exception) -> None:
        self.result = result
        self.jobs: list[Job] = []

    def run(self, job: Job, *, cancel: object = None) -> Execution:
        self.jobs.append(job)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def wrote(content: bytes) -> Execution:
    artifact = Artifact(name="result.json", state=ArtifactState.OK, content=content)
    return Execution(status=ResultStatus.SUCCESS, artifacts={"result.json": artifact})


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (SandboxUnavailableError("no engine"), ResultStatus.SANDBOX_UNCONFIRMED),
        (OSError(28, "No space left"), ResultStatus.SANDBOX_UNCONFIRMED),
        (Execution(status=ResultStatus.SANDBOX_UNCONFIRMED), ResultStatus.SANDBOX_UNCONFIRMED),
        (Execution(status=ResultStatus.CANCELLED), ResultStatus.CANCELLED),
        (Execution(status=ResultStatus.TIMEOUT), ResultStatus.SCORING_FAILED),
        (Execution(status=ResultStatus.OUT_OF_MEMORY), ResultStatus.SCORING_FAILED),
        (Execution(status=ResultStatus.SUCCESS), ResultStatus.SCORING_FAILED),
        (wrote(b"\xff"), ResultStatus.SCORING_FAILED),
        (wrote(b"[" * 100_000), ResultStatus.SCORING_FAILED),
        (wrote(b'{"higher_is_better": true, "warnings": [], "score": NaN}'), ResultStatus.SCORING_FAILED),
        (wrote(b'{"higher_is_better": true, "warnings": [], "score": true}'), ResultStatus.SCORING_FAILED),
        (wrote(b'{"higher_is_better": 1, "warnings": [], "score": 1.0}'), ResultStatus.SCORING_FAILED),
        (wrote(b'{"failed": ["validate"]}'), ResultStatus.SCORING_FAILED),
        (wrote(b'{"higher_is_better": true, "score": ' + b"9" * 5000 + b"}"), ResultStatus.SCORING_FAILED),
        (wrote(b'{"higher_is_better": true, "warnings": {"class_name": 1}, "score": 0.5}'), ResultStatus.SUCCESS),
        (wrote(b'{"higher_is_better": true, "warnings": [], "score": 0.5}'), ResultStatus.SUCCESS),
    ],
)
def test_what_the_box_reports(
    survival: SubmissionSchema, tmp_path: Path, result: Execution | Exception, status: ResultStatus
) -> None:
    metric = PackMetric(write(tmp_path), Scripted(result))  # type: ignore[arg-type]  # only run is used
    grade = grader(survival, tmp_path, metric).grade(SUBMISSION, Part.ALL)
    assert grade.status is status
    assert grade.score == (0.5 if status is ResultStatus.SUCCESS else None)


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        (ResultStatus.TIMEOUT, "ran longer than its 7.5 seconds (metric.seconds of its pack.yaml)"),
        (ResultStatus.OUT_OF_MEMORY, "needed more memory than its 3,000 MiB (metric.memory_mb of its pack.yaml)"),
        (ResultStatus.CODE_EXECUTION_ERROR, "did not finish (code_execution_error)"),
        (ResultStatus.SUCCESS, "The task's metric ended without a result."),
    ],
)
def test_limits_of_a_metric_are_the_tasks_fault_and_named(
    survival: SubmissionSchema, tmp_path: Path, ended: ResultStatus, told: str
) -> None:
    box = Scripted(Execution(status=ended, reason="secret", stderr="secret"))
    limits = Limits(wall_seconds=7.5, memory_mb=3000)
    metric = PackMetric(write(tmp_path), box, limits=limits)  # type: ignore[arg-type]  # only run is used
    grade = grader(survival, tmp_path, metric).grade(SUBMISSION, Part.ALL)
    assert grade.status is ResultStatus.SCORING_FAILED
    assert grade.status.fault is Fault.TASK
    assert told in grade.message
    assert "secret" not in grade.message
    assert box.jobs[0].limits == limits


def test_a_box_that_fails_tells_no_direction(tmp_path: Path) -> None:
    metric = PackMetric(write(tmp_path, validate="'unasked'"), Scripted(SandboxUnavailableError("no engine")))  # type: ignore[arg-type]  # only run is used
    with pytest.raises(InfrastructureError, match="no engine"):
        _ = metric.higher_is_better


@pytest.mark.bubblewrap
def test_in_a_real_box(survival: SubmissionSchema, tmp_path: Path, bubblewrap: Sandbox) -> None:
    made = grader(survival, tmp_path, PackMetric(write(tmp_path), bubblewrap))
    assert made.higher_is_better is True
    assert made.grade(SUBMISSION, Part.TEST).score == 0.5


def test_cancelling_ends_a_metric_that_runs(survival: SubmissionSchema, tmp_path: Path, process: PlainProcess) -> None:
    started = tmp_path / "started"
    code = write(tmp_path, evaluate=f"import time; open({str(started)!r}, 'w').close(); time.sleep(600)")
    made, cancel, grades = grader(survival, tmp_path, PackMetric(code, process)), CancelToken(), []
    thread = threading.Thread(target=lambda: grades.append(made.grade(SUBMISSION, Part.ALL, cancel=cancel)))
    thread.start()
    while not started.exists():
        thread.join(0.01)
        assert thread.is_alive()
    cancel.cancel()
    thread.join(60)
    assert [grade.status for grade in grades] == [ResultStatus.CANCELLED]


def test_the_private_log_is_bounded_and_never_follows_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(private_log, "MAX_BYTES", 1000)
    log = PrivateLog(tmp_path / "a.log")
    for number in range(30):
        log(f"entry {number} " + "x" * 100)
    assert "entry 29" in (tmp_path / "a.log").read_text()
    assert (tmp_path / "a.log").stat().st_size <= 1000
    os.mkfifo(tmp_path / "pipe")
    PrivateLog(tmp_path / "pipe")("secret")  # nobody reads it, and nobody waits for that
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    PrivateLog(tmp_path / "link")("secret")
    assert not (tmp_path / "elsewhere").exists()
    assert "cannot be written" in caplog.text
    assert "secret" not in caplog.text
