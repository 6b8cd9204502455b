from __future__ import annotations

import json
import logging
import math
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import PackError, UnknownNameError
from openmle_env.graders.grader import Grader
from openmle_env.graders.medals import Leaderboard
from openmle_env.graders.scored import Scored
from openmle_env.types import (
    Artifact,
    ArtifactState,
    Column,
    Fault,
    Part,
    Place,
    Problem,
    ResultStatus,
    SubmissionSchema,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from openmle_env.graders.rows import Rows
    from openmle_env.sandbox.protocol import CancelToken

N = 40
ANSWERS = "id,target,Usage\n" + "".join(f"{i},{i % 2},{'Public' if i < 10 else 'Private'}\n" for i in range(N))


def submission(*wrong: int) -> bytes:
    return ("id,target\n" + "".join(f"{i},{(i + (i in wrong)) % 2}\n" for i in reversed(range(N)))).encode()


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "test_answer.csv"
    path.write_text(ANSWERS)
    return path


def make(schema: SubmissionSchema, answers: Path | None, **options: object) -> Grader:
    return Grader(schema=schema, metric="accuracy", answers=answers, salt="s", **options)  # type: ignore[arg-type]  # tests


def test_parts_are_scored_apart(survival: SubmissionSchema, answers: Path) -> None:
    grader = make(survival, answers, split_column="Usage")
    source = submission(0, 1, 20)
    scores = {part: grader.grade(source, part).score for part in Part}
    assert scores == {Part.VALIDATION: 0.8, Part.TEST: 29 / 30, Part.ALL: 37 / 40}
    assert grader.looks == {Part.VALIDATION: 1, Part.TEST: 1, Part.ALL: 1}
    assert grader.higher_is_better


def test_the_split_by_hash_covers_all_rows_once(survival: SubmissionSchema, answers: Path) -> None:
    grader = make(survival, answers, validation_fraction=0.3)
    positions = grader.load().positions
    assert sorted([*positions[Part.VALIDATION], *positions[Part.TEST]]) == list(positions[Part.ALL]) == list(range(N))
    assert len(positions[Part.VALIDATION]) == 10


def test_no_split(survival: SubmissionSchema, answers: Path) -> None:
    grader = make(survival, answers, split="none")
    assert {grader.grade(submission(0), part).score for part in Part} == {39 / 40}


def test_answers_that_cannot_be_used_are_quoted_to_whoever_is_named_only(
    survival: SubmissionSchema, answers: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    grader = make(survival, answers, split_column="target", details=told.append)  # whose words are the answers
    grade = grader.grade(submission(), Part.TEST)
    assert grade.status is ResultStatus.METRIC_OR_ANSWER_MISSING
    assert "says another word for id '0'" in told[0]
    assert "'0'" not in repr(grade) + caplog.text
    assert "PackError" in caplog.text


def test_all_ids_are_checked_whatever_the_part(survival: SubmissionSchema, answers: Path) -> None:
    grader = make(survival, answers, split_column="Usage")
    grade = grader.grade(b"id,target\n" + b"".join(b"%d,0\n" % i for i in range(10)), Part.VALIDATION)
    assert grade.status is ResultStatus.SUBMISSION_INVALID
    assert grade.problems[0].count == 30
    assert grader.looks[Part.VALIDATION] == 0


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (ArtifactState.OK, ResultStatus.SUCCESS),
        (ArtifactState.MISSING, ResultStatus.SUBMISSION_MISSING),
        (ArtifactState.NOT_A_FILE, ResultStatus.SUBMISSION_INVALID),
        (ArtifactState.TOO_LARGE, ResultStatus.SUBMISSION_INVALID),
    ],
)
def test_artifacts(survival: SubmissionSchema, answers: Path, state: ArtifactState, status: ResultStatus) -> None:
    artifact = Artifact(name="submission.csv", state=state, content=submission(), detail="a directory")
    grade = make(survival, answers).grade(artifact, Part.ALL)
    assert grade.status is status
    assert grade.valid is (status is ResultStatus.SUCCESS)
    assert grade.score == (1.0 if grade.valid else None)
    assert bool(grade.message) is not grade.valid


def test_an_empty_file_is_not_a_missing_one(survival: SubmissionSchema, answers: Path) -> None:
    assert make(survival, answers).grade(b"", Part.ALL).problems[0].code == "empty_file"


@pytest.mark.parametrize(
    "content", [None, "", "id\n1\n", "id,target\n1,yes-secret\n2,0\n", "id,target\n1,1\n1,0\n", "id,target\n1,1\n"]
)
def test_answers_that_cannot_be_used_are_the_tasks_fault(
    survival: SubmissionSchema, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "answers.csv"
    if content is not None:
        path.write_text(content)
    grader = make(survival, path)
    grade = grader.grade(b"id,target\n1,0\n", Part.VALIDATION)
    assert grade.status is ResultStatus.METRIC_OR_ANSWER_MISSING
    assert grade.status.fault is Fault.TASK
    assert "secret" not in grade.message
    with pytest.raises(PackError) as caught:
        grader.load()
    assert "secret" not in str(caught.value)


def test_a_task_without_answers(survival: SubmissionSchema) -> None:
    assert make(survival, None).grade(b"", Part.ALL).status is ResultStatus.METRIC_OR_ANSWER_MISSING


def test_answers_may_be_behind_a_link_and_in_any_dress(survival: SubmissionSchema, answers: Path) -> None:
    answers.write_bytes(b"\xef\xbb\xbf" + ANSWERS.replace("\n", "\r\n").encode())
    link = answers.with_name("link.csv")
    link.symlink_to(answers)
    assert make(survival, link).grade(submission(), Part.ALL).score == 1.0


def test_the_gold_submission_of_words_that_look_missing_scores_one(tmp_path: Path) -> None:
    schema = SubmissionSchema(
        id=Column(name="id", kind="text"),
        targets=(Column(name="y", kind="label", labels=("NA", "None", "null", "Mild")), Column(name="t", kind="text")),
    )
    path = tmp_path / "answers.csv"
    path.write_text("id,y,t\n001,NA,nan\n010,None, x\n100,null,NULL\n1,Mild,#N/A\n")
    assert make(schema, path).grade(path.read_bytes(), Part.ALL).score == 1.0


def test_every_look_is_logged_without_the_score(survival: SubmissionSchema, answers: Path, tmp_path: Path) -> None:
    log = tmp_path / "deep" / "looks.jsonl"
    grader = make(survival, answers, looks_log=log, task="toy")
    grader.grade(submission(), Part.VALIDATION, program_sha256="ab" * 32)
    grader.grade(b"", Part.VALIDATION)
    grader.grade(submission(), Part.TEST)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["part"] for line in lines] == ["validation", "test"]
    assert [line["program_sha256"] for line in lines] == ["ab" * 32, ""]
    assert all(set(line) == {"when", "task", "part", "program_sha256"} for line in lines)
    assert {line["task"] for line in lines} == {"toy"}


def test_no_look_is_taken_that_cannot_be_recorded(survival: SubmissionSchema, answers: Path) -> None:
    grader = make(survival, answers, looks_log=answers / "below" / "looks.jsonl")
    grade = grader.grade(submission(), Part.TEST)
    assert (grade.status, grade.score) == (ResultStatus.SANDBOX_UNCONFIRMED, None)
    assert grader.looks[Part.TEST] == 0


def test_a_pipe_in_place_of_the_log_keeps_nobody_waiting(survival: SubmissionSchema, answers: Path) -> None:
    log = answers.with_name("pipe")
    os.mkfifo(log)
    grade = make(survival, answers, looks_log=log).grade(submission(), Part.TEST)
    assert (grade.status, grade.score) == (ResultStatus.SANDBOX_UNCONFIRMED, None)


def test_many_threads(survival: SubmissionSchema, answers: Path, tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    grader = make(survival, answers, looks_log=log)
    start = threading.Barrier(8)

    def work(wrong: int) -> list[float | None]:
        start.wait()
        return [grader.grade(submission(*range(wrong)), Part.ALL).score for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        scores = list(pool.map(work, range(8)))
    assert scores == [[(N - wrong) / N] * 5 for wrong in range(8)]
    assert grader.looks[Part.ALL] == len(log.read_text().splitlines()) == 40


@dataclass
class Fixed:
    """A scorer that answers the same to anything."""

    answer: Scored
    name: str = "fixed"
    higher_is_better: bool = False

    def accepts(self, schema: SubmissionSchema) -> None:
        pass

    def truth_columns(self, schema: SubmissionSchema) -> tuple[Column, ...]:
        return schema.targets

    def problems(self, predicted: Rows, truth: Rows) -> tuple[Problem, ...]:
        return ()

    def score(
        self, truth: Rows, predicted: Rows, chosen: Sequence[int], *, cancel: CancelToken | None = None
    ) -> Scored:
        assert list(truth.ids) == list(predicted.ids)
        return self.answer


@pytest.mark.parametrize("score", [math.nan, math.inf, None])
def test_a_score_is_finite_or_none(survival: SubmissionSchema, answers: Path, score: float | None) -> None:
    scorer = Fixed(Scored(status=ResultStatus.SUCCESS, score=score))
    grade = Grader(schema=survival, metric=scorer, answers=answers).grade(submission(), Part.ALL)
    assert (grade.status, grade.score) == (ResultStatus.SCORING_FAILED, None)
    assert "fault of the task" in grade.message


def test_only_a_score_on_the_test_part_has_a_place(survival: SubmissionSchema, answers: Path) -> None:
    board = Leaderboard([0.99, 0.97, 0.9, 0.5], higher_is_better=True)
    grader = make(survival, answers, split_column="Usage", leaderboard=board)
    grade = grader.grade(submission(20), Part.TEST)  # 29 of 30
    assert grade.place == Place(rank=3, teams=4, human_rank=0.5, medal=None, above_median=True)
    assert grader.grade(submission(20), Part.VALIDATION).place is None
    assert grader.grade(submission(20), Part.ALL).place is None
    assert grader.grade(b"id,target\n", Part.TEST).place is None
    assert make(survival, answers, split_column="Usage").grade(submission(20), Part.TEST).place is None


def test_what_a_metric_of_ours_said_goes_to_whoever_is_named_only(
    survival: SubmissionSchema, answers: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    scorer = Fixed(Scored(status=ResultStatus.METRIC_OR_ANSWER_MISSING, message="undefined", details="secret"))
    grader = Grader(schema=survival, metric=scorer, answers=answers, details=told.append)
    grade = grader.grade(submission(), Part.ALL)
    assert told == ["secret"]
    assert "secret" not in repr(grade) + caplog.text


def test_a_machine_without_memory_is_infrastructure(survival: SubmissionSchema, answers: Path) -> None:
    class Large(Fixed):
        def score(self, *_: object, **__: object) -> Scored:
            raise MemoryError

    grader = Grader(schema=survival, metric=Large(Scored(status=ResultStatus.SUCCESS)), answers=answers)
    grade = grader.grade(submission(), Part.ALL)
    assert grade.status is ResultStatus.SANDBOX_UNCONFIRMED
    assert grade.status.fault is Fault.INFRASTRUCTURE


def test_a_failed_scorer_gives_no_score(survival: SubmissionSchema, answers: Path) -> None:
    scorer = Fixed(Scored(status=ResultStatus.SCORING_FAILED, score=1.0, message="why", warnings=("w",)))
    grade = Grader(schema=survival, metric=scorer, answers=answers).grade(submission(), Part.ALL)
    assert (grade.status, grade.score, grade.message, grade.warnings) == (
        ResultStatus.SCORING_FAILED,
        None,
        "why",
        ("w",),
    )


def test_a_column_of_the_split_that_is_not_there(survival: SubmissionSchema, answers: Path) -> None:
    with pytest.raises(PackError, match="the column 'Part' that states the split is missing"):
        make(survival, answers, split_column="Part").load()


def test_heavy_libraries_are_not_imported() -> None:
    heavy = ["scipy", "pandas", "sklearn", "sacrebleu", "rapidfuzz", "yaml", "pydantic"]
    code = (
        "import sys, openmle_env.graders.grader, openmle_env.graders.pack_metric, openmle_env.graders.rewards\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_wrong_construction(survival: SubmissionSchema, answers: Path) -> None:
    with pytest.raises(UnknownNameError):
        Grader(schema=survival, metric="acuracy", answers=answers)
    number = SubmissionSchema(id=survival.id, targets=(Column(name="y", kind="number"),))
    with pytest.raises(PackError, match="kind number"):
        Grader(schema=number, metric="accuracy", answers=answers)


def test_a_file_that_may_not_be_read(survival: SubmissionSchema, answers: Path, tmp_path: Path) -> None:
    path = tmp_path / "submission.csv"
    path.write_bytes(submission())
    path.chmod(0)
    grade = make(survival, answers).grade(path, Part.ALL)
    path.chmod(stat.S_IRUSR)
    assert grade.valid or grade.problems[0].code == "unreadable"  # root may read everything


def test_no_refusal_tells_in_which_part_a_row_is(tmp_path: Path) -> None:
    schema = SubmissionSchema(id=Column(name="id", kind="integer"), targets=(Column(name="y", kind="number"),))
    path = tmp_path / "answers.csv"
    path.write_text("id,y\n" + "".join(f"{i},{i}\n" for i in range(N)))
    grader = Grader(schema=schema, metric="rmse", answers=path)
    parts = grader.load().positions
    assert len(parts[Part.VALIDATION])
    assert len(parts[Part.TEST])
    for huge in (int(parts[Part.VALIDATION][0]), int(parts[Part.TEST][0])):
        cells = "".join(f"{i},{'1e200' if i == huge else 0}\n" for i in range(N))  # its square is no float
        grades = [grader.grade(f"id,y\n{cells}".encode(), part) for part in Part]
        assert {grade.status for grade in grades} == {ResultStatus.SUBMISSION_INVALID}
        assert len({grade.message for grade in grades}) == 1


def test_huge_predictions_that_a_metric_can_take_are_scored_by_part(tmp_path: Path) -> None:
    schema = SubmissionSchema(id=Column(name="id", kind="integer"), targets=(Column(name="y", kind="number"),))
    path = tmp_path / "answers.csv"
    path.write_text("id,y,part\n" + "".join(f"{i},{i % 2},{'validation' if i < 8 else 'test'}\n" for i in range(N)))
    grader = Grader(schema=schema, metric="roc_auc", answers=path, split_column="part")
    cells = "".join(
        f"{i},{(i % 2) * 1e300 if i < 8 else 0}\n" for i in range(N)
    )  # right in one part, constant in the other
    assert [grader.grade(f"id,y\n{cells}".encode(), part).score for part in (Part.VALIDATION, Part.TEST)] == [1.0, 0.5]


@pytest.mark.parametrize("kind", ["integer", "text"])
def test_no_message_tells_the_order_of_the_answers(tmp_path: Path, kind: str) -> None:
    """Answers that are sorted by their target are common; which id comes first would then be a hint."""
    ids = [f"{i * 7 % N:02}" if kind == "text" else str(i * 7 % N) for i in range(N)]
    schema = SubmissionSchema(id=Column(name="id", kind=kind), targets=(Column(name="y", kind="number"),))  # type: ignore[arg-type]  # a literal

    def messages(rows: list[str]) -> list[str]:
        path = tmp_path / "answers.csv"
        path.write_text("id,y\n" + "".join(f"{one},{place}\n" for place, one in enumerate(rows)))
        grader = Grader(schema=schema, metric="rmsle", answers=path)
        wrong = [
            f"id,y\n{ids[3]},1\n",
            "id,y\n" + "".join(f"{one},-1\n" for one in ids),
            "id,y\n" + "".join(f"{one},x\n" for one in ids),
        ]
        grades = [grader.grade(text.encode(), Part.VALIDATION) for text in wrong]
        assert {grade.status for grade in grades} == {ResultStatus.SUBMISSION_INVALID}
        return [repr((grade.message, grade.problems)) for grade in grades]

    assert messages(ids) == messages(sorted(ids)) == messages(ids[::-1])
