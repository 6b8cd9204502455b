"""``openmle grade``: grades a submission, against the answers of a task or against a file of answers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env import settings
from openmle_env.commands import answer_columns
from openmle_env.commands.answer_columns import KINDS
from openmle_env.commands.answer_grades import by_answers, need_file
from openmle_env.commands.console import DONE, FAILED, INFRASTRUCTURE, AsJson, emit, say, tell
from openmle_env.errors import PackError, UsageError
from openmle_env.types import Fault, Part

if TYPE_CHECKING:
    from openmle_env.graders.metrics import Metric
    from openmle_env.types import Grade, TaskSpec


def grade(
    task_or_answers: Annotated[
        str, typer.Argument(metavar="TASK|ANSWERS.csv", help="A task, or, with --metric, a CSV file of answers.")
    ],
    submission: Annotated[Path, typer.Argument(metavar="SUBMISSION", help="The CSV file to grade.")],
    *,
    part: Annotated[Part | None, typer.Option(help="Part of a task's answers; validation if left out.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Grade against a file of answers. 'openmle metrics' lists the metrics."),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="With --metric: a parameter of it, such as k=5; repeat it."),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="With --metric: the column that names a row.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="With --metric: a column to compare; repeat it. If left out: all but the id, and but those that "
            "--param and --where name.",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION", help="With --metric: which rows are scored: 'COLUMN = VALUE' or 'COLUMN != VALUE'."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help=f"With --metric: how targets are read: {', '.join(KINDS)}. Found by the answers if left out.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C", help="With --metric: every class, in order. Those of the answers, sorted, if left out."
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Grade a submission; an invalid one exits with 1 and says what is wrong with it."""
    need_file(submission, "Give the path of a submission.")
    if metric is not None:
        if part is not None:
            raise UsageError(
                "--part is for tasks: a file of answers is graded as a whole. Leave --part or --metric out."
            )
        if not metric:
            raise UsageError("The name of --metric is empty. Name one: openmle metrics lists them.")
        if kind is not None and kind not in KINDS:
            raise UsageError(f"--kind {kind!r} is not one of {', '.join(KINDS)}.")
        told = answer_columns.Told(
            id=id_column or "",
            targets=tuple(target or ()),
            kind=kind or "",
            labels=answer_columns.labels(labels) if labels is not None else (),
            rows=where or "",
        )
        chosen = _metric(metric, answer_columns.parameters(param or ()))
        result, higher_is_better = by_answers(Path(task_or_answers), submission, chosen, told)
        name, given = chosen.name, dict(chosen.given)
    else:
        if any(one is not None for one in (id_column, target, kind, param, where, labels)):
            raise UsageError(
                "--param, --id, --target, --where, --kind and --labels go with --metric. Name a metric, or leave them "
                "out."
            )
        if task_or_answers.endswith(".csv"):
            raise UsageError(f"To grade against the file {task_or_answers!r}, say how: --metric NAME --id COLUMN.")
        result, spec = _by_task(task_or_answers, submission, part or Part.VALIDATION)
        higher_is_better, name, given = spec.higher_is_better, spec.metric, dict(spec.metric_parameters)

    if as_json:
        emit(
            {
                "score": result.score,
                "valid": result.valid,
                "status": result.status.value,
                "part": result.part.value,
                "message": result.message,
                "problems": [asdict(problem) for problem in result.problems],
                "warnings": list(result.warnings),
                "higher_is_better": higher_is_better,
                "metric": name,
                "parameters": given,
                "place": asdict(result.place) if result.place else None,
            }
        )
    else:
        _print(result, higher_is_better=higher_is_better)
    if result.valid:
        return DONE
    return INFRASTRUCTURE if result.status.fault is Fault.INFRASTRUCTURE else FAILED


def _metric(name: str, given: dict[str, str]) -> Metric:
    """The metric; where a parameter is wrong or missing, all that there are stand below the message."""
    from openmle_env.graders import metric_words, metrics  # numpy

    plain = metrics.get(name)
    try:
        chosen = metrics.get(name, given)
        chosen.need_parameters()
    except PackError as error:  # one is missing
        lines = (str(error), *metric_words.usage_lines(plain), f"An example: openmle metrics {plain.name}")
        raise UsageError("\n".join(lines)) from None
    except UsageError as error:
        raise type(error)("\n".join((str(error), *metric_words.usage_lines(plain)))) from None
    return chosen


def _print(result: Grade, *, higher_is_better: bool) -> None:
    for warning in result.warnings:
        say(f"Warning: {warning}")
    if result.valid:
        direction = "higher" if higher_is_better else "lower"
        where = "" if result.part is Part.ALL else f" on the {result.part} part"
        tell(f"Score{where}: {result.score!r} ({direction} is better)")
        if result.place is not None:
            tell(f"On the leaderboard: {result.place}")
        return
    tell(f"Not scored: {result.status}.")
    tell(result.message)
    for problem in result.problems:
        if problem.examples:
            tell(f"{problem.code}: {problem.count}, such as {', '.join(problem.examples)}")


def _by_task(name: str, submission: Path, part: Part) -> tuple[Grade, TaskSpec]:
    from openmle_env.graders.private_log import PrivateLog
    from openmle_env.task_registry.grading import make_grader, private_log  # pydantic and more
    from openmle_env.task_registry.lookup import load_task
    from openmle_env.task_registry.on_demand import SandboxOnDemand
    from openmle_env.task_registry.task import LOOKS

    task = load_task(name)
    with SandboxOnDemand(None) as sandbox:
        looks = settings.load().home / LOOKS
        details = PrivateLog(private_log(task.answers))
        grader = make_grader(
            task.pack,
            task.submission,
            task.answers,
            sandbox.get,
            higher_is_better=task.spec.higher_is_better,
            looks_log=looks,
            details=details,
        )
        return grader.grade(submission, part), task.spec
