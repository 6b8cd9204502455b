"""``openmle grade``: grades a submission, against the answers of a task or against a file of answers."""

from __future__ import annotations

import re
import stat
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env import settings
from openmle_env.commands.console import DONE, FAILED, INFRASTRUCTURE, AsJson, console, emit, say
from openmle_env.errors import UsageError
from openmle_env.types import Column, ColumnKind, Fault, Part, SubmissionSchema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from openmle_env.graders.grader import Grader
    from openmle_env.types import Grade

KINDS: tuple[ColumnKind, ...] = ("label", "integer", "number", "probability", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """What was said of a file of answers."""

    id: str
    targets: tuple[str, ...]
    """All but the id, if empty."""
    kind: str
    """Of the targets; found by the answers, if empty."""


def grade(
    task_or_answers: Annotated[
        str, typer.Argument(metavar="TASK|ANSWERS.csv", help="A task, or, with --metric, a CSV file of answers.")
    ],
    submission: Annotated[Path, typer.Argument(metavar="SUBMISSION", help="The CSV file to grade.")],
    *,
    part: Annotated[Part | None, typer.Option(help="Part of a task's answers; validation if left out.")] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="Metric, to grade against a file of answers.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="With --metric: the column that names a row.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="With --metric: a column to compare; repeat it. All but the id if left out."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help=f"With --metric: how targets are read: {', '.join(KINDS)}. Found by the answers if left out.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Grade a submission; an invalid one exits with 1 and says what is wrong with it."""
    _need_file(submission, "Give the path of a submission.")
    if metric is not None:
        if part is not None:
            raise UsageError(
                "--part is for tasks: a file of answers is graded as a whole. Leave --part or --metric out."
            )
        if not metric:
            raise UsageError("The name of --metric is empty. Name one, such as accuracy.")
        if kind is not None and kind not in KINDS:
            raise UsageError(f"--kind {kind!r} is not one of {', '.join(KINDS)}.")
        columns = _Columns(id=id_column or "", targets=tuple(target or ()), kind=kind or "")
        result, higher_is_better = _by_answers(Path(task_or_answers), submission, metric, columns)
    else:
        if id_column is not None or target or kind is not None:
            raise UsageError("--id, --target and --kind go with --metric. Name a metric, or leave them out.")
        if task_or_answers.endswith(".csv"):
            raise UsageError(f"To grade against the file {task_or_answers!r}, say how: --metric NAME --id COLUMN.")
        result, higher_is_better = _by_task(task_or_answers, submission, part or Part.VALIDATION)

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
            }
        )
    else:
        _print(result, higher_is_better=higher_is_better)
    if result.valid:
        return DONE
    return INFRASTRUCTURE if result.status.fault is Fault.INFRASTRUCTURE else FAILED


def _need_file(path: Path, advice: str) -> None:
    try:
        status = path.stat()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        what = f"There is no file {str(path)!r}" if missing else f"{str(path)!r} cannot be read ({error.strerror})"
        raise UsageError(f"{what}. {advice}") from None
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{str(path)!r} is a folder. {advice}")


def _print(result: Grade, *, higher_is_better: bool) -> None:
    for warning in result.warnings:
        say(f"Warning: {warning}")
    if result.valid:
        direction = "higher" if higher_is_better else "lower"
        where = "" if result.part is Part.ALL else f" on the {result.part} part"
        console().print(f"Score{where}: {result.score!r} ({direction} is better)")
        return
    console().print(f"Not scored: {result.status}.")
    console().print(result.message)
    for problem in result.problems:
        if problem.examples:
            console().print(f"{problem.code}: {problem.count}, such as {', '.join(problem.examples)}")


def _by_task(name: str, submission: Path, part: Part) -> tuple[Grade, bool]:
    from openmle_env.graders.private_log import PrivateLog
    from openmle_env.task_registry.grading import make_grader, private_log  # pydantic and more
    from openmle_env.task_registry.lookup import load_task
    from openmle_env.task_registry.on_demand import SandboxOnDemand

    task = load_task(name)
    with SandboxOnDemand(None) as sandbox:
        looks = settings.load().home / "looks.jsonl"
        details = PrivateLog(private_log(task.answers))
        grader = make_grader(task.pack, task.submission, task.answers, sandbox.get, looks_log=looks, details=details)
        return grader.grade(submission, part), task.spec.higher_is_better


def _by_answers(answers: Path, submission: Path, metric: str, columns: _Columns) -> tuple[Grade, bool]:
    from openmle_env.graders import metrics  # numpy
    from openmle_env.graders.grader import Grader
    from openmle_env.graders.table import MAX_TASK_BYTES, Refused, read_bytes, read_table

    accepted = metrics.get(metric).kinds
    _need_file(answers, "With --metric, the first argument is a file of answers.")
    try:
        cells = read_table(read_bytes(answers.resolve(), max_bytes=MAX_TASK_BYTES)).columns
    except Refused as error:
        raise UsageError(f"The answers {str(answers)!r} cannot be read: {error}") from None
    if not columns.id:
        raise UsageError(f"Say which column names a row: --id COLUMN. {answers.name} has {', '.join(cells)}.")
    targets = columns.targets or tuple(name for name in cells if name != columns.id)
    for name in (columns.id, *targets):
        if name not in cells:
            raise UsageError(f"{answers.name} has no column {name!r}; it has {', '.join(cells)}.")
        if (columns.id, *targets).count(name) > 1:
            raise UsageError(f"Column {name!r} is named twice. Name one as --id, and each --target once.")
    schema = SubmissionSchema(
        id=Column(name=columns.id, kind="integer" if _all_integers(cells[columns.id]) else "text"),
        targets=tuple(_target(name, cells[name], columns.kind, accepted) for name in targets),
    )
    grader = Grader(schema=schema, metric=metric, answers=answers, split="none")
    grader.load()  # raises, where grading would only give a status
    result = grader.grade(submission, Part.ALL)
    if result.valid and "label" in accepted:
        result = replace(result, warnings=(*result.warnings, *_strangers(grader, submission)))
    return result, grader.higher_is_better


def _strangers(grader: Grader, submission: Path) -> Iterator[str]:
    """A warning for each target of classes in which nothing predicted is a class of the answers."""
    predictions = grader.check(submission).predictions
    if predictions is not None:
        truth = grader.load().rows
        for name in predictions.columns:
            if name in truth.columns and set(truth.cells(name)).isdisjoint(predictions.cells(name)):
                yield f"No value predicted for {name!r} occurs among the answers. Are its classes spelled as they are?"


def _target(name: str, cells: Sequence[str], kind: str, accepted: Set[ColumnKind]) -> Column:
    """How a target is read: as told, else by the first kind that the metric takes.

    A yes and a no, 1 and 0 included, are labels in any spelling, and refuse a third value unless another kind is told.
    Integers only where all answers are; other labels last, since a submission may hold a class that the answers lack.
    """
    from openmle_env.graders.cells import yes_and_no

    order: tuple[ColumnKind, ...] = ("integer", "number", "probability", "text", "label")
    fitting = [known for known in order if known in accepted and (known != "integer" or _all_integers(cells))]
    found = "label" if "label" in accepted and yes_and_no(set(cells)) else fitting[0]
    chosen = next((known for known in KINDS if known == kind), found)
    if chosen not in accepted:
        raise UsageError(f"The metric does not take targets of kind {kind!r}; it takes {', '.join(sorted(accepted))}.")
    return Column(name=name, kind=chosen, labels=tuple(dict.fromkeys(cells)) if chosen == "label" else ())


def _all_integers(cells: Sequence[str]) -> bool:
    """Whether all are integers; not so with leading zeros, which mean something."""
    return all(re.fullmatch(r"-?(0|[1-9][0-9]*)", cell.strip()) for cell in cells)
