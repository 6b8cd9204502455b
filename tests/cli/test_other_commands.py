"""The commands that run no program, and what all commands have in common."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from openmle_env.commands import console
from tests.cli.standin import RIGHT, ZEROS


def test_help_names_every_command_and_exit_code(openmle) -> None:
    result = openmle("--help")
    assert result.code == 0
    for word in ("list", "show", "prepare", "run", "grade", "metrics", "doctor", "130"):
        assert word in result.stdout
    assert openmle().stdout == result.stdout


def test_version(openmle) -> None:
    result = openmle("--version")
    assert result.code == 0
    assert result.stdout.startswith("openmle 0.")


@pytest.mark.parametrize("command", ["list", "show", "prepare", "run", "grade", "metrics", "doctor"])
def test_every_command_has_help_and_json(openmle, command: str) -> None:
    result = openmle(command, "--help")
    assert result.code == 0
    assert "--json" in result.stdout


def test_misspelt_command_is_wrong_use(openmle) -> None:
    result = openmle("prepaer")
    assert (result.code, "Did you mean 'prepare'?" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", ["list", "doctor"])
def test_misspelt_setting_is_hinted_at(openmle, box, monkeypatch, command: str) -> None:
    monkeypatch.setenv("OPENMLE_RUN", "x")
    result = openmle(command, "--json")
    assert (result.code, "Did you mean 'OPENMLE_RUNS'" in result.stderr) == (0, True)
    assert json.loads(result.stdout)


def test_list_shows_built_in_tasks(openmle) -> None:
    (entry,) = (item for item in json.loads(openmle("list", "--json").stdout) if item["slug"] == "titanic")
    assert entry["metric"] == "accuracy"
    assert entry["prepared"] is False
    assert "titanic" in openmle("list").stdout


@pytest.mark.parametrize("command", ["show", "prepare"])
def test_unknown_task_is_wrong_use_with_a_hint(openmle, command: str) -> None:
    result = openmle(command, "titanci", "--json")
    assert result.code == 2
    assert "Did you mean 'titanic'?" in result.stderr
    assert json.loads(result.stdout)["error"]["fault"] == "agent"


def test_show_prints_the_card(openmle, pack) -> None:
    assert "Tell odd numbers from even ones" in openmle("show", pack).stdout
    document = json.loads(openmle("show", pack, "--json").stdout)
    assert document["pack"]["title"] == "Odd numbers"
    assert document["prepared"] is None


def test_prepare_makes_once_verifies_then_and_makes_again_with_force(openmle, pack) -> None:
    documents = [json.loads(openmle("prepare", pack, *more, "--json").stdout)[0] for more in ((), (), ("--force",))]
    assert [document["made"] for document in documents] == [True, False, True]
    result = openmle("prepare", pack)
    assert (result.code, "is whole" in result.stdout) == (0, True)


def test_pack_without_answers_is_the_packs_fault(openmle, pack) -> None:
    shutil.rmtree(pack / "data" / "private")
    result = openmle("prepare", pack, "--json")
    assert result.code == 1
    assert "no answers" in result.stderr
    assert json.loads(result.stdout)["error"]["fault"] == "task"


@pytest.mark.parametrize("part", ["validation", "test", "all"])
def test_grade_against_a_task(openmle, pack, tmp_path, part: str) -> None:
    (tmp_path / "submission.csv").write_text(RIGHT)
    result = openmle("grade", pack, tmp_path / "submission.csv", "--part", part, "--json")
    assert result.code == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["score"], document["part"], document["valid"]) == (1.0, part, True)
    assert document["higher_is_better"] is True


def test_invalid_submission_exits_with_1_and_lists_problems(openmle, pack, tmp_path) -> None:
    (tmp_path / "submission.csv").write_text(ZEROS.replace("\n7,0", "\n7,"))
    result = openmle("grade", pack, tmp_path / "submission.csv", "--json")
    assert result.code == 1
    document = json.loads(result.stdout)
    assert (document["score"], document["valid"]) == (None, False)
    assert [problem["code"] for problem in document["problems"]] == ["blank_values"]


def test_grade_against_a_file_of_answers(openmle, tmp_path) -> None:
    answers, submission = tmp_path / "answers.csv", tmp_path / "submission.csv"
    answers.write_text("key,kind,extra\n007,b,x\n008,a,y\n")
    submission.write_text("key,kind\n008,a\n007,c\n")
    result = openmle("grade", answers, submission, "--metric", "accuracy", "--id", "key", "--target", "kind", "--json")
    assert result.code == 0, result.stderr
    assert json.loads(result.stdout)["score"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "--metric NAME --id COLUMN"),
        (("--metric", "acuracy", "--id", "id"), "Did you mean 'accuracy'"),
        (("--metric", "accuracy"), "--id COLUMN"),
        (("--metric", "accuracy", "--id", "row"), "no column 'row'"),
        (("--metric", "accuracy", "--id", "id", "--kind", "probability"), "does not take"),
        (("--metric", "accuracy", "--id", "id", "--part", "test"), "--part is for tasks"),
        (("--id", "id"), "go with --metric"),
    ],
)
def test_wrong_use_of_grade_helps(openmle, tmp_path, arguments: tuple[str, ...], told: str) -> None:
    (tmp_path / "answers.csv").write_text(RIGHT)
    result = openmle("grade", tmp_path / "answers.csv", tmp_path / "answers.csv", *arguments)
    assert result.code == 2
    assert told in result.stderr


def test_grade_of_a_missing_file_is_wrong_use(openmle, pack, tmp_path) -> None:
    result = openmle("grade", pack, tmp_path / "missing.csv")
    assert result.code == 2
    assert "There is no file" in result.stderr


def test_doctor_says_what_is_used(openmle, box) -> None:
    result = openmle("doctor", "--json")
    assert result.code == 0
    document = json.loads(result.stdout)
    assert document["sandbox"] == "scripted"
    assert {backend["name"] for backend in document["backends"]} >= {"docker", "bubblewrap"}
    assert document["settings"]["sandbox"] == "auto"
    assert "scripted" in openmle("doctor").stdout


def test_doctor_without_a_sandbox_exits_with_3_and_says_what_to_do(openmle, monkeypatch) -> None:
    from openmle_env.errors import SandboxUnavailableError
    from openmle_env.sandbox import select

    def create(name: str = "auto", **_: object) -> None:
        raise SandboxUnavailableError("Install bubblewrap.")

    monkeypatch.setattr(select, "create", create)
    result = openmle("doctor")
    assert result.code == 3
    assert "Install bubblewrap." in result.stderr


@pytest.mark.parametrize("variable", ["OPENMLE_HOME", "OPENMLE_RUNS"])
def test_doctor_names_a_folder_that_cannot_be_written(openmle, box, monkeypatch, variable: str) -> None:
    monkeypatch.setenv(variable, "/dev/null/x")
    result = openmle("doctor")
    assert result.code == 3
    assert f"Set {variable} to a folder" in result.stderr
    assert "not writable" in result.stdout
    document = json.loads(openmle("doctor", "--json").stdout)
    assert document["usable"] is False
    assert document["unwritable"] == {variable.removeprefix("OPENMLE_").lower(): "/dev/null is not a folder"}


def test_doctor_names_folders_that_this_user_may_not_write(openmle, box, monkeypatch) -> None:
    monkeypatch.setattr("os.access", lambda place, mode: not mode & os.W_OK)
    result = openmle("doctor")
    assert result.code == 3
    assert "may not be written by this user" in result.stderr


def test_doctor_says_that_no_network_is_there(openmle, box) -> None:
    from openmle_env.sandbox.protocol import Confinement

    box.confinement = lambda: Confinement(memory="cgroup", cpu=True, inodes=True, network=True)
    (line,) = (line for line in openmle("doctor").stdout.splitlines() if "network" in line)
    assert "there is none" in line


def test_a_packs_own_metric_is_called_so() -> None:
    assert console.metric_name("pack") == "its own metric"
    assert console.metric_name("accuracy") == "accuracy"


def test_help_uses_names_in_capitals(openmle) -> None:
    assert "{TASK} [PROGRAM.py]... " in openmle("run", "--help").stdout
    assert "[TASK]... " in openmle("prepare", "--help").stdout
    assert "{TASK|ANSWERS.csv} {SUBMISSION} " in openmle("grade", "--help").stdout
    lines = openmle("run", "--help").stdout.splitlines()
    options = [line for line in lines if re.match(r"\W+--(?!help|feed|warm)", line)]
    assert len(options) == 6
    assert not [line for line in options if "<" in line]


def test_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "openmle_env", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("openmle 0.")


def test_help_imports_nothing_heavy() -> None:
    heavy = ("numpy", "pandas", "sklearn", "docker", "pydantic", "yaml", "gymnasium")
    code = f"import sys, openmle_env.main as m; m.invoke(['--help']); print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_bug_shows_its_traceback_and_asks_for_a_report() -> None:
    code = (
        "from openmle_env import main\n"
        "def broken(arguments): raise RuntimeError('a bug')\n"
        "main.invoke = broken\n"
        "main.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "RuntimeError: a bug" in done.stderr
    assert "Please report it" in done.stderr


def test_what_steers_a_terminal_is_never_printed_raw(openmle, tmp_path) -> None:
    folder = tmp_path / "pack\x1b[31m\x9b0m"
    folder.mkdir()
    for arguments in (("show", folder), ("show", folder, "--json")):
        result = openmle(*arguments)
        assert result.code != 0
        assert not {"\x1b", "\x9b"} & set(result.stdout + result.stderr)
