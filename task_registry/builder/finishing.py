"""What is known of a pack once its answers could be scored: labels, what simple programs score, its version."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from openmle_env.errors import OpenMLEError, PackError
from openmle_env.task_registry import references
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.lookup import load_task
from openmle_env.task_registry.pack import ColumnBlock, Submission
from openmle_env.task_registry.versions import score_hash

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.graders.metrics import Metric
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.builder.workspace import Workspace
    from openmle_env.task_registry.pack import Reference
    from openmle_env.task_registry.task import Task

FIRST_VERSION = "1.0.0"
MAX_LABELS = 200
"""With more different values, a whole number is a number rather than a class."""
PROGRAMS = (
    ("sample-submission", "The sample submission", "references/sample_submission.py"),
    ("simple-model", "Gradient boosting on the columns as they are", "references/simple_model.py"),
)
TOLERANCE = 0.05
"""Of the simple model's score, by how much it may differ between versions of libraries."""


def labelled(submission: Submission, metric: Metric | None, task_type: str, train: Path, answers: Path) -> Submission:
    """The columns of a submission, where classes that look like whole numbers are the classes of ``train.csv``."""
    if metric is None or "label" not in metric.kinds or "classification" not in task_type:
        return submission
    targets = []
    for target in submission.targets:
        labels = _values(train, target.name) if target.kind == "integer" else set()
        fits = 2 <= len(labels) <= MAX_LABELS and _values(answers, target.name) <= labels
        if fits and not (metric.orders_classes and len(labels) > 2):
            targets.append(ColumnBlock(name=target.name, kind="label", labels=tuple(sorted(labels, key=_by_number))))
        else:
            targets.append(target)
    return Submission(id=submission.id, targets=tuple(targets))


def programs(work: Workspace) -> list[dict[str, Any]]:
    """The programs that come along, before anybody has measured them."""
    return [
        {"name": name, "title": title, "program": program, "validation_score": None, "test_score": None}
        for name, title, program in PROGRAMS
        if (work.folder / program).is_file()
    ]


def measured(work: Workspace, sandbox: Sandbox, *, higher_is_better: bool) -> tuple[list[dict[str, Any]], str]:
    """What the programs score in the pack as it stands, and with which versions of libraries.

    A program that fails, or does not beat the sample submission on both parts, is left out.

    Raises:
        PackError: The sample submission itself could not be measured.
        SandboxUnavailableError: Nothing could be run.
    """
    task = load_task(work.folder)
    known = {}
    for reference in task.pack.config.references:
        try:
            [known[reference.name]] = references.measure(_with_one(task, reference), sandbox)
        except PackError:
            if reference.name == PROGRAMS[0][0]:
                raise
    sign = 1 if higher_is_better else -1
    trivial = known[PROGRAMS[0][0]]
    kept = []
    for name, title, program in PROGRAMS:
        if (result := known.get(name)) is None:
            continue
        pairs = ((result.validation_score, trivial.validation_score), (result.test_score, trivial.test_score))
        if name != trivial.name and not all(sign * (mine - other) > 0 for mine, other in pairs):
            continue
        one = {
            "name": name,
            "title": title,
            "program": program,
            "validation_score": result.validation_score,
            "test_score": result.test_score,
        }
        if name != trivial.name:
            one["tolerance"] = TOLERANCE * max(math.fabs(mine) for mine, _ in pairs)
        kept.append(one)
    return kept, references.versions(task, sandbox)


def version(work: Workspace) -> str:
    """The pack's version: the published one's, raised where what decides scores is no longer the same.

    The pack in the work folder has to be one already; its own version does not count.
    """
    try:
        old, new = open_pack(work.pack), open_pack(work.folder)
        same = score_hash(old) == score_hash(new)
    except OpenMLEError:  # there is none so far, or somebody broke it
        return FIRST_VERSION
    return old.version if same else raised(old.version)


def raised(number: str) -> str:
    """The next version.

    >>> raised("1.0.0"), raised("2"), raised("beta")
    ('1.1.0', '2.1.0', 'beta.1')
    """
    parts = number.split(".")
    if not all(part.isdigit() for part in parts):
        return f"{number}.1"
    major, minor, *_ = [*map(int, parts), 0]
    return f"{major}.{minor + 1}.0"


def _with_one(task: Task, reference: Reference) -> Task:
    """The same task with one of its programs."""
    config = task.pack.config.model_copy(update={"references": (reference,)})
    return replace(task, pack=replace(task.pack, config=config))


def _values(path: Path, column: str) -> set[str]:
    """All values of a column of a table that was checked before."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if column not in (reader.fieldnames or ()):
            raise PackError(f"{path.name} lacks the column {column!r}.")
        return {(row[column] or "").strip() for row in reader}


def _by_number(label: str) -> tuple[float, str]:
    return (float(label), label)
