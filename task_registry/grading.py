"""From a pack to its grader, and the submission that is right in every row."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.graders.table import MAX_TASK_BYTES, Refused, read_bytes, read_table
from openmle_env.task_registry.folder import METRIC_SCRIPT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.graders.grader import Grader
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.pack import Submission
    from openmle_env.types import SubmissionSchema


def gold_submission(answers: Path, schema: SubmissionSchema) -> bytes:
    """The answers in the form of a submission.

    Raises:
        PackError: The answers cannot be read, or lack a column of the schema.
    """
    try:
        table = read_table(read_bytes(answers, max_bytes=MAX_TASK_BYTES), wanted=schema.columns)
    except Refused as error:
        raise PackError(f"{answers.name} cannot be read: {error}") from error
    if missing := [name for name in schema.columns if name not in table.columns]:
        raise PackError(f"{answers.name} lacks the column {missing[0]!r}; it has {', '.join(table.names)}.")
    text = io.StringIO(newline="")
    # Everything is quoted, so that a lone carriage return inside a text cannot end its row.
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(schema.columns)
    writer.writerows(zip(*(table.columns[name] for name in schema.columns), strict=True))
    return text.getvalue().encode("utf-8", "surrogatepass")


def make_grader(
    pack: Pack,
    submission: Submission,
    answers: Path,
    sandbox: Callable[[], Sandbox],
    *,
    higher_is_better: bool | None = None,
    looks_log: Path | None = None,
    details: Callable[[str], None] | None = None,
) -> Grader:
    """A grader for a pack.

    Args:
        pack: The pack, which says metric and split.
        submission: Columns of a submission.
        answers: File with the hidden answers.
        sandbox: Gives the sandbox in which a pack's own metric runs; not called for a metric of ours.
        higher_is_better: Direction of a pack's own metric; if None, its code is asked.
        looks_log: File that gets one line for each look at the answers.
        details: Told why the answers cannot be used, and what the pack's own metric said where it failed. That may
            quote the answers: give `private_log`, or what shows it to the pack's author only.

    Raises:
        PackError: The metric is not defined for the targets.
        SandboxUnavailableError: The pack's own metric needs a sandbox and there is none.
    """
    from openmle_env.graders.grader import Grader  # with all its metrics
    from openmle_env.graders.pack_metric import PackMetric

    config = pack.config
    own = config.metric.name == "pack"
    return Grader(
        schema=submission.as_schema(),
        metric=PackMetric(pack.members[METRIC_SCRIPT], sandbox(), higher_is_better=higher_is_better, details=details)
        if own
        else config.metric.name,
        answers=answers,
        salt=config.split.salt,
        validation_fraction=config.split.validation_fraction,
        split="none" if config.split.method == "none" else "hash",
        split_column=config.split.column,
        looks_log=looks_log,
        details=details,
    )


def private_log(answers: Path) -> Path:
    """Where a prepared task's faults are told in full: beside the folder of its answers, which holds nothing else."""
    return answers.parent.with_name(f"{answers.parent.name}.log")
