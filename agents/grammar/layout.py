"""What a program has to predict, read from a task's public specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.agents.grammar.scoring import Goal, Scoring, default_scoring, scoring_for
from openmle_env.errors import UsageError

if TYPE_CHECKING:
    from openmle_env.types import PublicFile, TaskSpec

TRAIN = "train.csv"
TEST = "test.csv"
SAMPLE = "sample_submission.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The facts of a task that its programs are written around."""

    id: str
    targets: tuple[str, ...]
    """Columns of the submission, without the id."""
    questions: tuple[str, ...]
    """Columns of train.csv that hold the answers: the targets, or one column whose classes are the targets."""
    goal: Goal
    whole: frozenset[str]
    """Targets whose numbers are integers."""
    ids_from: str
    """The file whose id column lists the rows to predict, in order."""
    scoring: Scoring
    stands_in: bool
    """Whether ``scoring`` replaces a metric that programs cannot compute themselves."""
    higher_is_better: bool
    """Direction of the task's own metric."""
    rows: int | None
    """Training rows, where the specification says."""

    @property
    def classifies(self) -> bool:
        """Whether the models are classifiers."""
        return self.goal is not Goal.NUMBERS


def read_layout(spec: TaskSpec) -> Layout:
    """Work out what programs for this task predict, from which columns.

    Raises:
        UsageError: The task is not a table with train.csv and test.csv, or its columns do not fit the submission.
    """
    files = {file.name: file for file in spec.files}
    for name in (TRAIN, TEST):
        if name not in files:
            raise UsageError(
                f"The grammar agent writes programs for tables, and task {spec.slug!r} has no {name} "
                f"(files: {', '.join(sorted(files)) or 'none'}). Submit programs of your own, or write an agent for it."
            )
    schema = spec.submission
    targets = tuple(target.name for target in schema.targets)
    questions = _questions(spec, files[TRAIN], files[TEST], targets)
    kinds = {target.kind for target in schema.targets}
    scoring = scoring_for(spec.metric, spec.metric_parameters)
    if questions != targets:
        goal = Goal.SHARES
    elif kinds & {"label", "text"}:
        goal = Goal.LABELS
    elif "probability" in kinds:
        goal = Goal.PROBABILITIES
    else:  # a column of numbers may still hold classes, as in 0 and 1 under accuracy: the metric tells
        goal = scoring.goal if scoring else Goal.NUMBERS
    expected = Goal.PROBABILITIES if goal is Goal.SHARES else goal
    fits = scoring is not None and scoring.goal == expected and (goal is not Goal.SHARES or scoring.many_classes)
    columns = files[TEST].columns
    return Layout(
        id=schema.id.name,
        targets=targets,
        questions=questions,
        goal=goal,
        whole=frozenset(target.name for target in schema.targets if target.kind == "integer"),
        ids_from=TEST if not columns or schema.id.name in columns or SAMPLE not in files else SAMPLE,
        scoring=scoring if scoring is not None and fits else default_scoring(expected),
        stands_in=not fits,
        higher_is_better=spec.higher_is_better,
        rows=files[TRAIN].rows,
    )


def _questions(spec: TaskSpec, train: PublicFile, test: PublicFile, targets: tuple[str, ...]) -> tuple[str, ...]:
    if not train.columns or set(targets) <= set(train.columns):
        return targets
    hidden = [name for name in train.columns if name not in test.columns and name != spec.submission.id.name]
    if len(targets) > 1 and len(hidden) == 1:
        return (hidden[0],)
    missing = [name for name in targets if name not in train.columns]
    raise UsageError(
        f"The grammar agent finds no answers to learn from in task {spec.slug!r}: {TRAIN} has no column "
        f"{', '.join(map(repr, missing))}. Submit programs of your own, or write an agent for it."
    )
