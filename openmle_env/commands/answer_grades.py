"""Grading against a file of answers: whoever runs the command owns them, and is told what is wrong with them."""

from __future__ import annotations

import stat
from dataclasses import replace
from typing import TYPE_CHECKING

from openmle_env.commands import answer_cells, answer_columns
from openmle_env.errors import PackError, UsageError
from openmle_env.types import Fault, Part, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openmle_env.commands.answer_columns import Told
    from openmle_env.graders.answers import Answers
    from openmle_env.graders.grader import Grader
    from openmle_env.graders.metrics import Metric
    from openmle_env.types import Grade, SubmissionSchema

_OF_A_KIND = {"not_a_number", "not_an_integer", "out_of_range", "unknown_label"}
"""Problems that another kind of target would not have."""


def need_file(path: Path, advice: str, *, plain: bool = False) -> None:
    """Refuse what is no file; with ``plain``, what can only be read once, too, since answers are read twice.

    Raises:
        UsageError: It is none.
    """
    try:
        status = path.stat()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        what = f"There is no file {str(path)!r}" if missing else f"{str(path)!r} cannot be read ({error.strerror})"
        raise UsageError(f"{what}. {advice}") from None
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{str(path)!r} is a folder. {advice}")
    if plain and not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{str(path)!r} is a pipe, a device or a socket. Write the answers to a plain file first.")


def by_answers(answers: Path, submission: Path, metric: Metric, told: Told) -> tuple[Grade, bool]:
    """The grade of a submission, and whether higher is better.

    Raises:
        UsageError: What was told does not fit the answers or the metric, or the answers have not the metric's form.
        PackError: The answers cannot be read as the metric needs them.
    """
    from openmle_env.graders.grader import Grader  # numpy

    need_file(answers, "With --metric, the first argument is a file of answers.", plain=True)
    schema = answer_columns.schema(metric, answers, told)
    why: list[str] = []
    try:
        grader = Grader(
            schema=schema, metric=metric, answers=answers, split="none", scored_rows=told.rows, details=why.append
        )
    except PackError as error:
        raise UsageError(f"{error} {answer_columns.hint(metric, told)}".rstrip()) from None
    try:
        loaded = grader.load()  # raises, where grading would only give a status
    except PackError as error:
        if told.targets or len(schema.targets) == 1:
            raise
        raise PackError(f"{error} {_compared(schema)}") from None
    _need_form(metric, schema, loaded)
    result = grader.grade(submission, Part.ALL)
    if result.status.fault is Fault.TASK and why:
        if not grader.looks[Part.ALL]:  # nothing was compared: it is the parameters by which predictions are read
            raise _wrong_parameters(metric, why[-1])
        result = replace(result, message=_undefined(result, metric, why[-1]))
    if not metric.alike and any(problem.code == "wrong_form" for problem in result.problems):
        _need_own_form(metric, schema, loaded)
    warnings = [*result.warnings, *_advice(result, metric, schema, told, submission)]
    if advice := metric.advice(loaded.rows):
        warnings.append(advice)
    if told.rows and len(loaded.positions[Part.ALL]) == len(loaded.rows):
        warnings.append(f"Every row is scored: {told.rows!r} holds for all of them.")
    if result.valid and "label" in metric.kinds and not metric.any_names:
        warnings += _strangers(grader, submission)
    return replace(result, warnings=tuple(warnings)), grader.higher_is_better


def _advice(result: Grade, metric: Metric, schema: SubmissionSchema, told: Told, submission: Path) -> Iterator[str]:
    """Which options may help with the problems of a submission."""
    codes = {problem.code for problem in result.problems}
    if "wrong_columns" in codes:
        if not told.targets:
            yield _compared(schema)
        if other := _elsewhere(metric, schema, submission):
            yield other
    if not told.kind and codes & _OF_A_KIND:
        kinds = ", ".join(dict.fromkeys(target.kind for target in schema.targets))
        yield f"Targets were read as {kinds}, which the answers suggest; --kind and --labels say otherwise."


def _need_form(metric: Metric, schema: SubmissionSchema, loaded: Answers) -> None:
    """Refuse answers that break the metric's form, as the shape of images, before a submission is blamed for it."""
    from openmle_env.graders.metric_words import settings
    from openmle_env.graders.rows import Rows

    truth = loaded.rows.take(loaded.positions[Part.ALL])
    targets = {target.name: target for target in schema.targets}
    alike = all(name in truth.columns and truth.columns[name].kind == one.kind for name, one in targets.items())
    if not alike or not metric.alike:
        return
    own = Rows(truth.id, truth.ids, targets, {name: truth.values[name] for name in targets})
    try:
        problems = metric.problems(own, truth)
    except PackError as error:
        raise _wrong_parameters(metric, str(error)) from None
    if problems:
        given = f" with {settings(metric.given)}" if metric.given else ""
        found = " ".join(problem.message for problem in problems)
        advice = f"Correct the answers{', or the parameters' if metric.parameters else ''}."
        raise _wrong_parameters(
            metric, f"The answers themselves cannot be read by {metric.name}{given}. {found} {advice}"
        )


def _need_own_form(metric: Metric, schema: SubmissionSchema, loaded: Answers) -> None:
    """Refuse answers that break the form of answers, where predictions have another: compare them with empty cells."""
    import numpy as np  # heavy

    from openmle_env.graders.rows import Rows

    truth = loaded.rows.take(loaded.positions[Part.ALL])
    targets = {target.name: target for target in schema.targets}
    nothing = np.full(len(truth), "", dtype=np.object_)
    try:
        metric(truth, Rows(truth.id, truth.ids, targets, dict.fromkeys(targets, nothing)))
    except PackError as error:
        raise _wrong_parameters(metric, str(error)) from None


def _wrong_parameters(metric: Metric, why: str) -> UsageError:
    from openmle_env.graders.metric_words import usage_lines

    return UsageError("\n".join((why, *usage_lines(metric))))


def _undefined(result: Grade, metric: Metric, why: str) -> str:
    if result.status is ResultStatus.METRIC_OR_ANSWER_MISSING:
        return f"Metric {metric.name} has no value on these answers, whatever is predicted. {why}"
    return f"{result.message} {why}"


def _compared(schema: SubmissionSchema) -> str:
    columns = answer_columns.some(schema.columns[1:])
    return f"Compared columns, taken from the answers: {columns}. Choose with --target."


def _elsewhere(metric: Metric, schema: SubmissionSchema, submission: Path) -> str:
    """What to write where predictions stand in a column of another name than the truth; empty if nothing helps."""
    from openmle_env.graders.metric_columns import class_parameter, replaces_targets

    names = [one.name for one in metric.parameters if getattr(one.mark, "replaces_targets", False)]
    if not names or class_parameter(metric) or replaces_targets(metric) or len(schema.targets) > 1:
        return ""
    others = [name for name in answer_cells.names(submission) if name and name != schema.id.name]
    guess = others[0] if len(others) == 1 else "COLUMN"
    (truth,) = schema.columns[1:]
    return f"If predictions stand in another column than {truth!r}: --param {names[0]}={truth} --target {guess}"


def _strangers(grader: Grader, submission: Path) -> Iterator[str]:
    """A warning for each target of classes in which nothing predicted is a class of the answers."""
    import numpy as np  # heavy

    predictions = grader.check(submission).predictions
    if predictions is not None:
        truth = grader.load().rows
        for name, column in predictions.columns.items():
            if truth.columns.get(name) != column:
                continue
            if not np.intersect1d(predictions.values[name], truth.values[name]).size:
                yield f"No value predicted for {name!r} occurs among the answers. Are its classes spelled as they are?"
