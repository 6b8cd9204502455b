"""Which status a run gets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.sandbox.channel import Final, Report
from openmle_env.sandbox.verdict import Aftermath, judge, refuse
from openmle_env.types import SUBMISSION_NAME, Artifact, ArtifactState, Job, Limits, ResultStatus

JOB = Job(program="pass", limits=Limits(wall_seconds=30, memory_mb=512))
GOOD = {SUBMISSION_NAME: Artifact(name=SUBMISSION_NAME, state=ArtifactState.OK, content=b"a\n")}


def final(**changes: Any) -> Final:
    values: dict[str, Any] = {
        "end": "exit",
        "exit_code": 0,
        "wall_seconds": 1.5,
        "cpu_seconds": 1.0,
        "peak_bytes": 3 << 20,
        "oom_kills": 0,
        "memory_error": False,
        "processes_killed": 0,
        "stdout_bytes": 0,
        "stderr_bytes": 0,
    }
    return Final(**(values | changes))


def outcome(report: Report, after: Aftermath | None = None, job: Job = JOB) -> tuple[ResultStatus, str]:
    run = judge(job, report, after or Aftermath(), backend="test", total_seconds=2.0)
    return run.status, run.reason


def test_success() -> None:
    run = judge(JOB, Report(final=final(), artifacts=GOOD), Aftermath(), backend="test", total_seconds=2.0)
    assert (run.status, run.reason, run.exit_code, run.notes) == (ResultStatus.SUCCESS, "", 0, ())
    assert (run.wall_seconds, run.total_seconds, run.cpu_seconds, run.peak_memory_mb) == (1.5, 2.0, 1.0, 3.0)
    assert run.submission.content == b"a\n"


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"exit_code": 3}, ResultStatus.CODE_EXECUTION_ERROR, "The program ended with exit code 3."),
        ({"exit_code": -11}, ResultStatus.CODE_EXECUTION_ERROR, "The program was ended by signal 11 (SIGSEGV)."),
        ({"exit_code": -9}, ResultStatus.CODE_EXECUTION_ERROR, "The program was ended by signal 9 (SIGKILL)."),
        ({"exit_code": 137}, ResultStatus.CODE_EXECUTION_ERROR, "The program ended with exit code 137."),
        ({"exit_code": 1, "oom_kills": 1}, ResultStatus.CODE_EXECUTION_ERROR, "The program ended with exit code 1."),
        (
            {"exit_code": -9, "oom_kills": 1},
            ResultStatus.OUT_OF_MEMORY,
            "The program used more than its limit of 512 MiB of memory.",
        ),
        (
            {"end": "memory", "exit_code": -9},
            ResultStatus.OUT_OF_MEMORY,
            "The program used more than its limit of 512 MiB of memory.",
        ),
        (
            {"end": "locks", "exit_code": -9},
            ResultStatus.CODE_EXECUTION_ERROR,
            "The program held more than 2,000 locks on files.",
        ),
        (
            {"end": "files", "exit_code": -9},
            ResultStatus.CODE_EXECUTION_ERROR,
            "The program made more files than its limit of 20,000 in one folder.",
        ),
        (
            {"end": "timeout", "exit_code": -9},
            ResultStatus.TIMEOUT,
            "The program ran longer than its limit of 30 s.",
        ),
        (
            {},
            ResultStatus.SUBMISSION_MISSING,
            "The program ended without writing /output/submission.csv.",
        ),
    ],
)
def test_statuses(changes: dict[str, Any], status: ResultStatus, reason: str) -> None:
    assert outcome(Report(final=final(**changes))) == (status, reason)


def test_reason_is_the_exception_itself() -> None:
    error = b"Traceback (most recent call last):\n  File ...\nValueError: no column 'Fare'\n  its second line\n"
    status, reason = outcome(Report(final=final(exit_code=1, stderr_bytes=len(error)), stderr=bytearray(error)))
    assert status is ResultStatus.CODE_EXECUTION_ERROR
    assert reason == "The program ended with exit code 1: ValueError: no column 'Fare'"


def test_what_lies_on_disk_and_what_it_ran_in() -> None:
    counted = Report(final=final(disk_bytes=(5 << 20) + 100, files=7), artifacts=GOOD)
    run = judge(JOB, counted, Aftermath(), backend="test", total_seconds=2.0)
    assert (run.disk_mb, run.files) == (5.0, 7)
    run = judge(JOB, Report(final=final(), artifacts=GOOD), Aftermath(), backend="test", total_seconds=2.0)
    assert (run.disk_mb, run.files) == (None, None)
    run = judge(JOB, Report(failure="The box ended."), Aftermath(), backend="test", total_seconds=2.0)
    assert (run.disk_mb, run.files) == (None, None)


def test_no_reason_steers_a_terminal_and_logs_stay_as_they_were() -> None:
    error = b"ValueError: \x1b]0;owned\x07\n"
    report = Report(final=final(exit_code=1, stderr_bytes=len(error)), stderr=bytearray(error))
    run = judge(JOB, report, Aftermath(), backend="test", total_seconds=2.0)
    assert run.reason == r"The program ended with exit code 1: ValueError: \x1b]0;owned\x07"
    assert run.stderr == error.decode()


def test_memory_error_is_out_of_memory_only_when_the_program_failed() -> None:
    assert outcome(Report(final=final(exit_code=1, memory_error=True)))[0] is ResultStatus.OUT_OF_MEMORY
    assert outcome(Report(final=final(memory_error=True), artifacts=GOOD))[0] is ResultStatus.SUCCESS


def test_a_box_without_its_last_word() -> None:
    assert outcome(Report(failure="The box ended."))[0] is ResultStatus.SANDBOX_UNCONFIRMED
    assert outcome(Report(failure="The box ended."), Aftermath(oom_kills=1))[0] is ResultStatus.OUT_OF_MEMORY
    assert outcome(Report(failure="deadline"))[0] is ResultStatus.TIMEOUT


@pytest.mark.parametrize("failure", ["deadline", "The box ended."])
def test_an_engine_that_does_not_answer_is_no_fault_of_the_program(failure: str) -> None:
    status, reason = outcome(Report(failure=failure), Aftermath(unreachable=True))
    assert status is ResultStatus.SANDBOX_UNCONFIRMED
    assert "the engine does not answer" in reason


def test_success_without_a_submission_where_none_is_collected() -> None:
    job = Job(program="pass", collect=("scores.json",))
    assert outcome(Report(final=final()), job=job) == (ResultStatus.SUCCESS, "")


def test_submission_that_is_no_file() -> None:
    link = Artifact(name=SUBMISSION_NAME, state=ArtifactState.NOT_A_FILE, detail="a symbolic link")
    status, reason = outcome(Report(final=final(), artifacts={SUBMISSION_NAME: link}))
    assert status is ResultStatus.SUBMISSION_INVALID
    assert reason == "/output/submission.csv is not a plain file but a symbolic link."


def test_logs_are_joined_and_what_was_cut_is_noted() -> None:
    report = Report(
        final=final(stdout_bytes=1000, stderr_bytes=8),
        stdout=bytearray(b"first \xff"),
        stdout_tail=bytearray(b"last"),
        stderr=bytearray(b"head"),
        stderr_tail=bytearray(b"tail"),
        artifacts=GOOD,
    )
    run = judge(JOB, report, Aftermath(notes=("watched",)), backend="test", total_seconds=2.0)
    assert run.stdout == "first \ufffd\n... [989 bytes cut] ...\nlast"
    assert run.stderr == "headtail"
    assert run.notes == ("watched", "989 of 1,000 bytes of stdout were cut from its middle")


@pytest.mark.parametrize("program", ["", " \n\t\n", "# a comment\n\n   # another"])
def test_programs_without_code(program: str) -> None:
    refused = refuse(Job(program=program), backend="test")
    assert refused is not None
    assert refused.status is ResultStatus.CODE_MISSING


@pytest.mark.parametrize(
    ("program", "reason"),
    [("x" * 200_001, "200,001 characters"), ("x = '\ud800'", "character 5"), ("x\0", "NUL")],
)
def test_programs_that_cannot_be_run(program: str, reason: str) -> None:
    refused = refuse(Job(program=program), backend="test")
    assert refused is not None
    assert refused.status is ResultStatus.CODE_EXECUTION_ERROR
    assert reason in refused.reason


@given(st.text(max_size=50))
def test_what_is_not_refused_is_encodable(program: str) -> None:
    if refuse(Job(program=program), backend="test") is None:
        program.encode()
        assert program.strip()
