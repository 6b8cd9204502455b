"""`openmle run` with a sandbox that runs nothing: order, exit codes, tables, JSON, what is recorded."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from openmle_env.commands import console
from openmle_env.sandbox import select
from openmle_env.sandbox.scripted import ScriptedSandbox
from tests.cli.standin import GONE, INTERRUPT, RIGHT, ZEROS, program


def test_given_programs_are_run_in_order_and_the_best_is_selected(openmle, pack, box, write) -> None:
    result = openmle("run", pack, write(program(ZEROS)), write(program(RIGHT)), "--json")
    assert result.code == 0, result.stderr
    document = json.loads(result.stdout)
    assert [item["status"] for item in document["programs"]] == ["success", "success"]
    assert document["programs"][1]["validation_score"] == 1.0
    assert (document["selected"], document["test_score"]) == (2, 1.0)
    assert document["sandbox"] == "scripted"
    recorded = Path(document["recorded"])
    assert json.loads((recorded / "final.json").read_text())["selected"] == 2
    assert len((recorded / "steps.jsonl").read_text().splitlines()) == 2


def test_an_unknown_users_home_is_wrong_use(openmle, pack, box, write) -> None:
    result = openmle("run", pack, write(program(RIGHT)), "--runs", "~nosuchuser/x")
    assert result.code == console.WRONG_USE
    assert "Give --runs a whole path" in result.stderr


def test_table_for_people_shows_status_scores_reason_and_folder(openmle, pack, box, write) -> None:
    result = openmle("run", pack, write(program(RIGHT)), write(program(status="timeout")))
    assert result.code == 1
    for shown in ("success", "1.0000", "timeout", "Scripted: timeout.", "program 1, selected", "Recorded in"):
        assert shown in result.stdout
    assert "2/2 timeout -, best 1.0000" in result.stderr  # progress, where it is no terminal


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (program(status="code_execution_error"), "code_execution_error"),
        (program("id,even\n1,0\n"), "submission_invalid"),
        ("", "code_missing"),
        ("x = 1\n" * 50_000, "code_execution_error"),
    ],
)
def test_failed_program_exits_with_1_and_says_why(openmle, pack, write, text: str, status: str) -> None:
    result = openmle("run", pack, write(text), "--sandbox", "scripted", "--json")
    assert result.code == 1
    (found,) = json.loads(result.stdout)["programs"]
    assert found["status"] == status
    assert found["reason"]


def test_infrastructure_fault_exits_with_3(openmle, pack, box, write, monkeypatch) -> None:
    from openmle_env.envs import runner

    monkeypatch.setattr(runner, "RETRY_PAUSES", ())
    result = openmle("run", pack, write(GONE), "--json")
    assert result.code == 3
    document = json.loads(result.stdout)
    assert document["fault"] == "infrastructure"
    assert document["programs"][0]["status"] == "sandbox_unconfirmed"


def test_a_failed_final_grade_is_not_called_an_early_end(openmle, pack, box, write, monkeypatch) -> None:
    from openmle_env.envs import runner
    from openmle_env.types import Grade, Part, ResultStatus

    grade = runner.grade

    def broken_test_part(grader, submission, part, **arguments):
        if part is Part.TEST:
            return Grade(status=ResultStatus.SCORING_FAILED, part=part, message="The task's metric failed.")
        return grade(grader, submission, part, **arguments)

    monkeypatch.setattr(runner, "grade", broken_test_part)
    result = openmle("run", pack, write(program(RIGHT)))
    assert result.code == 1
    assert "The final grade could not be made (scoring_failed)" in result.stderr
    assert "The task's metric failed." in result.stderr
    assert "ended early" not in result.stderr


def test_program_of_ten_megabytes_has_a_status(openmle, pack, box, write) -> None:
    result = openmle("run", pack, write("x = 1\n" * 1_750_000))
    assert result.code == 1
    assert "10,500,000 characters" in result.stdout


def test_program_that_is_not_utf8_is_wrong_use_and_nothing_starts(openmle, pack, box, tmp_path) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes(b"name = '\xe9'\n")
    result = openmle("run", pack, path, "--json")
    assert result.code == 2
    assert "byte 8 is 0xe9" in result.stderr
    assert json.loads(result.stdout)["error"]["kind"] == "UsageError"


@pytest.mark.parametrize("name", ["missing.py", "."])
def test_program_that_is_no_file_is_wrong_use(openmle, pack, box, tmp_path, name: str) -> None:
    result = openmle("run", pack, tmp_path / name)
    assert result.code == 2
    assert "Give the path of a Python program" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "--agent grammar"),
        (("--agent", "gramar"), "Did you mean 'grammar'?"),
        (("--agent", "grammar", "--programs", "0"), "'--programs'"),
        (("--agnt", "grammar"), "Did you mean --agent?"),
        (("--feedback", "all"), "'validation', 'validity', 'none'"),
    ],
)
def test_wrong_use_is_one_line_that_helps(openmle, pack, box, arguments: tuple[str, ...], told: str) -> None:
    result = openmle("run", pack, *arguments)
    assert result.code == 2
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_programs_and_agent_exclude_each_other(openmle, pack, box, write) -> None:
    result = openmle("run", pack, write(program(status="timeout")), "--agent", "grammar")
    assert result.code == 2
    assert "not both" in result.stderr


def test_interruption_keeps_what_was_recorded_and_exits_with_130(openmle, pack, box, write, tmp_path) -> None:
    result = openmle("run", pack, write(program(RIGHT)), write(INTERRUPT))
    assert result.code == 130
    assert "Stopped after 1 of 2 programs" in result.stderr
    assert box._closed.is_set()
    (folder,) = (tmp_path / "runs").iterdir()
    assert str(folder) in result.stderr
    assert len((folder / "steps.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("below", ["", "runs"])
def test_runs_folder_that_is_a_file_is_wrong_use_and_nothing_starts(openmle, pack, tmp_path, box, below: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(program(RIGHT))
    (tmp_path / "file").write_text("in the way")
    result = openmle("run", pack, path, "--runs", tmp_path / "file" / below)
    assert not box._closed.is_set()  # it was never made
    assert result.code == 2
    assert f"{tmp_path}/file is not a folder" in result.stderr
    assert "--runs or OPENMLE_RUNS" in result.stderr


def test_runs_folder_that_cannot_be_written_is_infrastructure(openmle, pack, write, monkeypatch) -> None:
    monkeypatch.setattr("openmle_env.sandbox.select.create", lambda *_, **__: pytest.fail("a sandbox was made"))
    monkeypatch.setattr("os.access", lambda place, mode: not mode & os.W_OK)
    result = openmle("run", pack, write(program(RIGHT)))
    assert result.code == 3
    assert "may not be written by this user. Name a folder with --runs or OPENMLE_RUNS." in result.stderr


def test_folder_is_named_from_where_the_user_is(openmle, pack, box, write, monkeypatch) -> None:
    monkeypatch.chdir(pack.parent)
    result = openmle("run", pack, write(program(RIGHT)))
    assert "\nRecorded in runs/odd-" in result.stdout
    assert Path(json.loads(openmle("run", pack, write(program(RIGHT)), "--json").stdout)["recorded"]).is_absolute()


def test_a_long_silence_is_broken_where_there_is_no_bar(capsys, monkeypatch) -> None:
    monkeypatch.setattr(console, "SIGN_OF_LIFE_SECONDS", 0.01)
    told = ""
    with console.progress("odd") as report:
        report("1/3 success", 0.3)
        while "odd: 1/3 success, still at it after" not in told:
            told += capsys.readouterr().err
    assert "odd: 1/3 success (30%)" in told


def test_the_way_to_run_programs_is_the_option_else_the_setting(openmle, pack, write, monkeypatch) -> None:
    asked = []

    def create(name: str, **arguments: object) -> ScriptedSandbox:
        asked.append(arguments["warm"])
        return ScriptedSandbox()

    monkeypatch.setattr(select, "create", create)
    for arguments in (("--warm", "forked"), ("--warm", "off"), ()):
        assert openmle("run", pack, write(program(RIGHT)), *arguments).code == 0
    monkeypatch.setenv("OPENMLE_WARM", "forked")
    assert openmle("run", pack, write(program(RIGHT))).code == 0
    assert asked == ["forked", "off", "single", "forked"]
    result = openmle("run", pack, write(program(RIGHT)), "--warm", "fork")
    assert result.code == 2
    assert "forked" in result.stderr


def test_the_document_says_what_a_program_used(openmle, pack, box, write) -> None:
    (told,) = json.loads(openmle("run", pack, write(program(RIGHT)), "--json").stdout)["programs"]
    names = ("cpu_seconds", "peak_memory_mb", "disk_mb", "files", "box", "gpus")
    assert [told[name] for name in names] == [None, None, None, None, "fresh", []]


def test_unknown_sandbox_is_wrong_use_with_a_hint(openmle, pack, write) -> None:
    result = openmle("run", pack, write(program(RIGHT)), "--sandbox", "doker")
    assert result.code == 2
    assert "Did you mean 'docker'?" in result.stderr


def test_error_output_of_a_failed_program_is_shown_and_cannot_steer_the_terminal(openmle, pack, write) -> None:
    failing = program(status="code_execution_error", stderr="Traceback\nNameError: \x1b]0;owned\x07 is not defined\n")
    result = openmle("run", pack, write(failing), "--sandbox", "scripted")
    assert result.code == 1
    assert "NameError: \\x1b]0;owned\\x07 is not defined" in result.stderr
    assert "\x1b" not in result.stderr
