from __future__ import annotations

import hashlib
import math
import pickle
from dataclasses import FrozenInstanceError

import pytest

from openmle_env.errors import UsageError
from openmle_env.types import (
    Artifact,
    ArtifactState,
    Column,
    Execution,
    Fault,
    FeedbackMode,
    Grade,
    Limits,
    Outcome,
    Part,
    ResultStatus,
    SubmissionSchema,
    program_sha256,
)


def test_the_order_of_statuses_is_part_of_the_observation_space() -> None:
    assert [status.value for status in ResultStatus][:11] == [
        "success",
        "code_missing",
        "code_execution_error",
        "submission_missing",
        "submission_invalid",
        "metric_or_answer_missing",
        "scoring_failed",
        "timeout",
        "out_of_memory",
        "sandbox_unconfirmed",
        "cancelled",
    ]


def test_every_status_has_a_fault_and_a_feedback_mode() -> None:
    faults = {status: status.fault for status in ResultStatus}
    assert [status for status, fault in faults.items() if fault is Fault.NONE] == [ResultStatus.SUCCESS]
    assert {status for status, fault in faults.items() if fault is Fault.TASK} == {
        ResultStatus.METRIC_OR_ANSWER_MISSING,
        ResultStatus.SCORING_FAILED,
    }
    assert {status for status, fault in faults.items() if fault is Fault.INFRASTRUCTURE} == {
        ResultStatus.SANDBOX_UNCONFIRMED,
        ResultStatus.CANCELLED,
    }
    assert {status.feedback_mode for status in ResultStatus} == set(FeedbackMode)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, 1e9, True, "60", None])
def test_limits_are_positive_numbers(value: object) -> None:
    with pytest.raises(UsageError, match="wall_seconds"):
        Limits(wall_seconds=value)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory_mb", 31),
        ("cpus", 0.001),
        ("processes", 0.5),
        ("processes", 1e8),
        ("open_files", 15),
        ("open_files", 1e8),
        ("inodes", 0.9),
        *((name, 0.001) for name in ("file_mb", "work_mb", "output_mb", "shm_mb", "log_kb", "artifact_mb")),
    ],
)
def test_limits_that_no_box_could_keep_are_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=rf"Limit {name}=.* must be from"):
        Limits(**{name: value})  # type: ignore[arg-type]  # a whole number is not needed


def test_the_hash_of_a_program_is_that_of_its_utf8() -> None:
    assert program_sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert program_sha256("print('ü')") == hashlib.sha256("print('ü')".encode()).hexdigest()
    assert program_sha256("\ud800") != program_sha256("\ud801")


def test_an_execution_without_artifacts_has_a_missing_submission() -> None:
    assert Execution(status=ResultStatus.SUCCESS).submission.state is ArtifactState.MISSING
    found = Artifact(name="submission.csv", state=ArtifactState.OK, content=b"id\n")
    assert Execution(status=ResultStatus.SUCCESS, artifacts={"submission.csv": found}).submission is found


def test_columns_stand_in_their_documented_order() -> None:
    schema = SubmissionSchema(
        id=Column(name="id", kind="integer"),
        targets=(Column(name="b", kind="number"), Column(name="a", kind="number")),
    )
    assert schema.columns == ("id", "b", "a")


def test_outcomes_are_frozen_and_survive_pickling() -> None:
    grade = Grade(status=ResultStatus.SUCCESS, part=Part.VALIDATION, score=0.5)
    outcome = Outcome(
        index=1,
        status=ResultStatus.SUCCESS,
        execution=Execution(status=ResultStatus.SUCCESS),
        grade=grade,
        reward=0.5,
        program_sha256="",
        feedback="",
    )
    assert outcome.score == 0.5
    assert grade.valid
    assert pickle.loads(pickle.dumps(outcome)) == outcome  # noqa: S301  ours
    with pytest.raises(FrozenInstanceError):
        outcome.reward = 1.0  # type: ignore[misc]  # that is the test
