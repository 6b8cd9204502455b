"""What an agent is told of the resources that its program used, and that what it wrote steers no terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openmle_env.envs.observation import MAX_TEXT_CHARACTERS, render_feedback
from openmle_env.types import Execution, Grade, Limits, Part, Problem, ResultStatus

LIMITS = Limits(memory_mb=1000, work_mb=100, output_mb=50, inodes=1000)
RUN = Execution(status=ResultStatus.SUCCESS, exit_code=0, wall_seconds=1.5, cpu_seconds=1.25, peak_memory_mb=100.0)


def told(execution: Execution, grade: Grade | None = None) -> str:
    return render_feedback(
        index=1,
        status=grade.status if grade else execution.status,
        execution=execution,
        grade=grade,
        best=None,
        higher_is_better=True,
        feedback="validation",
        limits=LIMITS,
    )


def test_of_a_small_program_only_the_time_is_told() -> None:
    assert told(replace(RUN, disk_mb=1.0, files=4)) == "Program 1: success\nRun time: 1.5 s"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"wall_seconds": 40.0, "cpu_seconds": 39.5}, "Run time: 40.0 s, 39.5 s of CPU time"),
        ({"peak_memory_mb": 750.4}, "Memory: up to 750 of 1,000 MiB"),
        ({"disk_mb": 30.0, "files": 12}, "Left in the writable folders: 30 MiB, and up to 12 files in one"),
        ({"disk_mb": 0.2, "files": 900}, "Left in the writable folders: 0 MiB, and up to 900 files in one"),
    ],
)
def test_what_comes_near_a_limit_is_told(changes: dict[str, float], line: str) -> None:
    lines = told(replace(RUN, **changes)).splitlines()  # type: ignore[arg-type]  names of numbers
    assert line in lines
    assert len(lines) == 2 + ("Run time" not in line)


def test_what_was_not_counted_is_not_told() -> None:
    run = Execution(status=ResultStatus.TIMEOUT, wall_seconds=60.0)
    assert told(run) == "Program 1: timeout\nRun time: 60.0 s"


TRICKS = "\x1b[2J\x1b]0;owned\x07 \x9b31m \r100 % \u202egpj.exe \x00\x08"


def test_nothing_that_a_program_wrote_steers_a_terminal() -> None:
    grade = Grade(
        status=ResultStatus.SUBMISSION_INVALID,
        part=Part.VALIDATION,
        message=f"message {TRICKS}",
        problems=(Problem(code="wrong_columns", message=f"problem {TRICKS}"),),
        warnings=(f"warning {TRICKS}",),
    )
    run = replace(RUN, reason=f"reason {TRICKS}", stdout=f"out {TRICKS}\n", stderr=f"err {TRICKS}\n", notes=(TRICKS,))
    text = told(run, grade)
    assert not [char for char in text if not char.isprintable() and char != "\n"]
    shown = r"\x1b[2J\x1b]0;owned\x07 \x9b31m \r100 % \u202egpj.exe \x00\x08"
    for place in ("message", "problem", "warning", "reason", "out", "err", "Note:"):
        assert f"{place} {shown}" in text


def test_lines_tabs_and_letters_stay_as_they_are() -> None:
    text = told(replace(RUN, stdout="a\tb\r\nc ÷ 漢字 👩\u200d🔬\n"))
    assert text.endswith("--- stdout\na\tb\nc ÷ 漢字 👩\u200d🔬")


def test_a_flood_of_controls_stays_within_the_bounds() -> None:
    assert len(told(replace(RUN, stdout="\x1b" * 64_000))) <= MAX_TEXT_CHARACTERS
