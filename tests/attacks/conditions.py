"""The vocabulary of ``holds:`` in the headers of the programs, with the meaning of each sentence.

``TEXT has WORDS``, ``TEXT has no WORDS``   where TEXT is stdout, stderr, reason, notes, submission or feedback (what an
                                            agent is told); a dot stands for nothing but itself, case counts
``NUMBER >= 3`` (``==``, ``<=``)            where NUMBER is a numeric field of an execution, such as processes_killed
``submission is WORD``                      where WORD is ok, missing, not_a_file or too_large
``TEXT steers no terminal``                 no control characters but line breaks and tabs
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING

from openmle_env.envs.observation import render_feedback
from openmle_env.types import Execution, ResultStatus
from tests.attacks.header import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable


def feedback(run: Execution) -> str:
    """What an agent is told of a run that was not graded."""
    return render_feedback(
        index=1,
        status=run.status,
        execution=run,
        grade=None,
        best=None,
        higher_is_better=True,
        feedback="validation",
        limits=LIMITS,
    )


_TEXTS: dict[str, Callable[[Execution], str]] = {
    "stdout": lambda run: run.stdout,
    "stderr": lambda run: run.stderr,
    "reason": lambda run: run.reason,
    "notes": lambda run: "\n".join(run.notes),
    "submission": lambda run: run.submission.content.decode("utf-8", "replace"),
    "feedback": feedback,
}
_NUMBERS = (
    *("exit_code", "stdout_bytes", "stderr_bytes", "wall_seconds", "cpu_seconds", "peak_memory_mb", "oom_kills"),
    *("processes_killed", "disk_mb", "files"),
)
_COMPARED = {">=": operator.ge, "<=": operator.le, "==": operator.eq}
_HAS = re.compile(r"(\w+) has (no )?(.+)")
_NUMBER = re.compile(r"(\w+) (>=|<=|==) (-?[\d.]+)")
_STEERS = re.compile(r"(\w+) steers no terminal")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_IS = re.compile(r"submission is (\w+)")


class ConditionError(ValueError):
    """A condition that nobody understands."""


def holds(condition: str, run: Execution) -> bool:
    """Whether a condition is true of a run.

    >>> holds("exit_code == 3", Execution(status=ResultStatus.CODE_EXECUTION_ERROR, exit_code=3))
    True
    >>> holds("stdout has no LEAK", Execution(status=ResultStatus.SUCCESS, stdout="LEAK: it"))
    False

    Raises:
        ConditionError: It is none of the sentences that are known.
    """
    if found := _HAS.fullmatch(condition):
        name, negated, words = found.groups()
        return (words in _text(name, condition, run)) != bool(negated)
    if found := _STEERS.fullmatch(condition):
        return steers_no_terminal(_text(found[1], condition, run))
    if found := _IS.fullmatch(condition):
        return run.submission.state == found[1]
    if found := _NUMBER.fullmatch(condition):
        name, comparison, number = found.groups()
        if name not in _NUMBERS:
            raise ConditionError(f"{condition!r}: the numbers are {', '.join(_NUMBERS)}.")
        value = getattr(run, name)
        return value is not None and bool(_COMPARED[comparison](value, float(number)))
    raise ConditionError(f"{condition!r} is no sentence of the vocabulary, see conditions.py.")


def steers_no_terminal(text: str) -> bool:
    """Whether it holds no control character but line breaks and tabs."""
    return not _CONTROL.search(text)


def _text(name: str, condition: str, run: Execution) -> str:
    if name not in _TEXTS:
        raise ConditionError(f"{condition!r}: the texts are {', '.join(_TEXTS)}.")
    return _TEXTS[name](run)


def check(condition: str) -> None:
    """Refuse a condition that is not of the vocabulary."""
    holds(condition, Execution(status=ResultStatus.SUCCESS))
