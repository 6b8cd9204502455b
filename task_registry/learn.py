"""What a pack leaves out is read off its data, and what it states is checked against them, once, when it is prepared.

Rules for a pack that states no ``submission``:

- The first column of the sample submission is the id, the others are the targets; the answers have all of them.
- An id is an ``integer`` if every answer's is one without leading zeros, else ``text``.
- A target whose cells are decimal numbers in the sample and the answers is a ``number``: the metric decides what the
  numbers mean. For a metric of ours that takes no numbers it is a ``probability`` or an ``integer``, where it can be.
- Otherwise, where ``train.csv`` has the column with at most 1,000 different values, and the sample and the answers use
  no others, it is a ``label`` with these values, without blanks around them; else it is ``text``, which may be blank
  where a cell of the sample or of the answers is.
- Where the metric is one of ours, a kind that it does not take is passed over, and answers that it reads in another way
  than predictions, such as 0 and 1 where probabilities are asked for, do not count.

A pack without ``rewards`` gets the score of the sample submission and the score of the answers themselves as bounds.
"""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.errors import PackError, SandboxUnavailableError
from openmle_env.graders.loading.cells import NUMBER, canonical_id
from openmle_env.graders.loading.source import MAX_TASK_BYTES, Refused, read_bytes
from openmle_env.graders.loading.table import Table, read_table
from openmle_env.printable import printable
from openmle_env.task_registry.folder import ANSWERS, SAMPLE
from openmle_env.task_registry.gold import gold_submission
from openmle_env.task_registry.grading import leaderboard, make_grader
from openmle_env.task_registry.pack import ColumnBlock, IdBlock, Rewards, Submission
from openmle_env.types import Fault, Part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from openmle_env.graders.grader import Grader
    from openmle_env.graders.metrics import Metric as OurMetric
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.on_demand import SandboxOnDemand
    from openmle_env.types import ColumnKind

MAX_LABELS = 1_000
MAX_TRACE_LINES = 15
"""How much of what a pack's own metric said, when it failed, is shown to its author."""
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a prepared task needs beside its files."""

    submission: Submission
    """Columns of a submission."""
    higher_is_better: bool
    """Direction of the metric."""
    rewards: Rewards
    """Bounds of rewards."""
    warnings: tuple[str, ...] = ()
    """What the metric warned of: for the pack's author."""


def learn(pack: Pack, public: Path, answers: Path, sandbox: SandboxOnDemand, *, show_trace: bool) -> Learned:
    """Infer what the pack leaves out, and check that its answers can grade.

    Args:
        pack: The pack.
        public: Folder of the public files.
        answers: File of the hidden answers.
        sandbox: Where the pack's own metric runs.
        show_trace: Whether an error ends with the metric's own words, which may quote the answers: only for whoever
            prepares the pack, never where an agent is run.

    Raises:
        PackError: Sample submission, answers and what the pack states contradict each other, or the metric does not
            tell the answers from the sample submission.
        InfrastructureError: The pack's own metric could not be run.
    """
    sample = public / SAMPLE.removeprefix("public/")
    submission = pack.config.submission or _infer(pack, sample, answers, public / "train.csv")
    _check_ids(pack, submission, sample, answers)
    said: list[str] = []
    with _worded(pack, said, show_trace=show_trace):
        grader = make_grader(pack, submission, answers, sandbox.get, details=said.append)
        grader.load()
        higher_is_better = grader.higher_is_better
    stated = pack.config.metric.higher_is_better
    if stated not in {None, higher_is_better}:
        raise PackError(
            f"{pack.slug}: metric.higher_is_better is {stated} in pack.yaml, and the metric itself says "
            f"{higher_is_better}. Correct one of them."
        )
    leaderboard(pack, higher_is_better)  # refuses one that cannot be used
    bounds = pack.config.rewards
    if bounds is not None and (bounds.best > bounds.worst) != higher_is_better:
        raise PackError(
            f"{pack.slug}: rewards run from worst={bounds.worst:g} to best={bounds.best:g} in pack.yaml, though "
            f"{'higher' if higher_is_better else 'lower'} is better. Swap them, or correct the metric's direction."
        )
    warned: list[str] = []
    with _worded(pack, said, show_trace=show_trace):
        sample_bytes = read_bytes(sample, max_bytes=MAX_TASK_BYTES)
        gold_bytes = gold_submission(pack.config.metric, submission.as_schema(), answers, sample)
        measured = {
            part: (
                _score(grader, sample_bytes, part, "the sample submission", warned),
                _score(grader, gold_bytes, part, "the answers themselves", warned),
            )
            for part in (Part.VALIDATION, Part.TEST)
        }
    for part, (trivial, gold) in measured.items():
        if math.isclose(gold, trivial) or (gold > trivial) != higher_is_better:
            raise PackError(
                f"{pack.slug}: on the {part} part the answers themselves score {gold:g} and the sample submission "
                f"{trivial:g}, though {'higher' if higher_is_better else 'lower'} is better. Check the metric's "
                "direction, the answers, and whether the part has rows enough."
            )
    worst, best = measured[Part.VALIDATION]
    return Learned(
        submission=submission,
        higher_is_better=higher_is_better,
        rewards=bounds or Rewards(worst=worst, best=best),
        warnings=tuple(dict.fromkeys(filter(None, (*warned, grader.advice)))),
    )


@contextmanager
def _worded(pack: Pack, said: list[str], *, show_trace: bool) -> Iterator[None]:
    """Name the task in errors of its grader, and add the end of what its metric said, or how to learn it."""
    try:
        yield
    except PackError as error:
        lines = said[-1].strip().splitlines() if said else []
        trace = "".join(f"\n  {printable(line)}" for line in lines[-MAX_TRACE_LINES:])
        if lines and not show_trace:
            trace = f"\nTo see what the metric said: openmle prepare {pack.address}"
        raise PackError(f"{pack.slug}: {error}{trace}\nThe pack is in {pack.root}.") from error
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(f"{pack.slug}: {error}") from error


def _score(grader: Grader, submission: bytes, part: Part, what: str, warned: list[str]) -> float:
    grade = grader.grade(submission, part)
    warned.extend(grade.warnings)
    if grade.score is not None:
        return grade.score
    if grade.status.fault is Fault.INFRASTRUCTURE:
        raise SandboxUnavailableError(f"the metric could not be run: {grade.message}")
    raise PackError(f"{what} cannot be graded on the {part} part ({grade.status.value}): {grade.message}")


def _read(pack: Pack, path: Path, name: str, *, wanted: tuple[str, ...] | None = None) -> Table:
    try:
        return read_table(read_bytes(path, max_bytes=MAX_TASK_BYTES), wanted=wanted)
    except Refused as error:
        raise PackError(f"{pack.slug}: {name} cannot be read: {error}") from error


def _check_ids(pack: Pack, submission: Submission, sample: Path, answers: Path) -> None:
    """The sample and the answers must hold the same ids in the columns that the pack states."""
    found = {}
    schema, metric = submission.as_schema(), pack.config.metric.ours()
    answered = [column.name for column in metric.truth_columns(schema)] if metric else schema.columns[1:]
    wanted = {SAMPLE: schema.columns, ANSWERS: (schema.id.name, *answered)}
    for name, path in ((SAMPLE, sample), (ANSWERS, answers)):
        table = _read(pack, path, name)
        if missing := [column for column in wanted[name] if column not in table.names]:
            raise PackError(f"{pack.slug}: {name} lacks the column {missing[0]!r}; it has {', '.join(table.names)}.")
        found[name] = [_one_spelling(cell, submission) for cell in table.columns[submission.id.name]]
    ids = {name: set(cells) for name, cells in found.items()}
    if ids[SAMPLE] != ids[ANSWERS] or len(found[SAMPLE]) != len(found[ANSWERS]):
        raise PackError(
            f"{pack.slug}: {SAMPLE} and {ANSWERS} do not hold the same ids: {len(ids[SAMPLE] - ids[ANSWERS])} only in "
            f"the first, {len(ids[ANSWERS] - ids[SAMPLE])} only in the second, "
            f"{len(found[SAMPLE])} and {len(found[ANSWERS])} rows. Make both from the same list."
        )


def _one_spelling(cell: str, submission: Submission) -> str:
    key = canonical_id(cell, submission.id.column())
    return key if isinstance(key, str) else cell.strip()


def _infer(pack: Pack, sample_path: Path, answers_path: Path, train_path: Path) -> Submission:
    sample, answers = _read(pack, sample_path, SAMPLE), _read(pack, answers_path, ANSWERS)
    if len(sample.names) < 2:
        raise PackError(f"{pack.slug}: {SAMPLE} needs an id and at least one target; it has {', '.join(sample.names)}.")
    id_name, *targets = sample.names
    if id_name not in answers.names:
        raise PackError(f"{pack.slug}: {ANSWERS} lacks the column {id_name!r} of {SAMPLE}.")
    all_integers = all(_INTEGER.fullmatch(cell.strip()) for cell in answers.columns[id_name])
    metric = pack.config.metric.ours()
    telling = answers.columns if metric is None or metric.truth == "same" else {}
    return Submission(
        id=IdBlock(name=id_name, kind="integer" if all_integers else "text"),
        targets=tuple(
            _infer_target(pack, name, {*sample.columns[name], *telling.get(name, ())}, train_path, metric)
            for name in targets
        ),
    )


def _infer_target(pack: Pack, name: str, used: set[str], train_path: Path, metric: OurMetric | None) -> ColumnBlock:
    taken: Collection[ColumnKind] = metric.kinds if metric else ("number", "label", "text")
    cells = {cell.strip() for cell in used}
    if all(map(NUMBER.fullmatch, cells)):
        fitting: dict[ColumnKind, bool] = {
            "number": True,
            "probability": all(0 <= float(cell) <= 1 for cell in cells),
            "integer": all(map(_INTEGER.fullmatch, cells)),
        }
        kind = next((kind for kind, fits in fitting.items() if fits and kind in taken), None)
        if kind is not None:
            return ColumnBlock(name=name, kind=kind)
    train = _read(pack, train_path, "public/train.csv", wanted=(name,)).columns if train_path.exists() else {}
    labels = {label for cell in train.get(name, ()) if (label := cell.strip())}
    if "label" in taken and len(labels) <= MAX_LABELS and cells <= labels:
        if metric is not None and metric.orders_classes and len(labels) > 2:
            raise PackError(
                f"{pack.slug}: metric {metric.name} asks how far two classes are apart, and the order of those of "
                f"column {name!r} is not known. State 'submission' in pack.yaml, with 'labels' from first to last."
            )
        return ColumnBlock(name=name, kind="label", labels=tuple(sorted(labels)))
    if "text" in taken:
        return ColumnBlock(name=name, kind="text", blank="" in used)
    raise PackError(
        f"{pack.slug}: metric {pack.config.metric.name} takes targets of kind {', '.join(sorted(taken))}, and the "
        f"column {name!r} of {SAMPLE} and {ANSWERS} looks like none of them. State 'submission' in pack.yaml, or "
        "choose another metric."
    )
