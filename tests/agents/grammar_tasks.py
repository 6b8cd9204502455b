"""Specifications, outcomes and histories for the tests of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.agents.protocol import Attempt
from openmle_env.graders import metrics
from openmle_env.types import (
    Column,
    ColumnKind,
    Execution,
    Grade,
    Limits,
    Outcome,
    Part,
    PublicFile,
    ResultStatus,
    SubmissionSchema,
    TaskSpec,
    program_sha256,
)

if TYPE_CHECKING:
    from openmle_env.agents.protocol import Agent


def make_spec(
    *,
    metric: str = "accuracy",
    higher_is_better: bool = True,
    kind: ColumnKind = "label",
    labels: tuple[str, ...] = (),
    targets: tuple[str, ...] = ("answer",),
    train: tuple[str, ...] = ("key", "size", "kind", "answer"),
    test: tuple[str, ...] = ("key", "size", "kind"),
    rows: int | None = 100,
    programs: int = 8,
    files: tuple[PublicFile, ...] | None = None,
) -> TaskSpec:
    if files is None:
        files = (
            PublicFile(name="train.csv", size=1, rows=rows, columns=train),
            PublicFile(name="test.csv", size=1, rows=20, columns=test),
            PublicFile(name="sample_submission.csv", size=1, rows=20, columns=(train[0], *targets)),
        )
    own = None if metric == "pack" else metrics.get(metric)
    return TaskSpec(
        slug="made-up",
        version="1",
        title="Made up",
        description="",
        modality="tabular",
        task_type="classification",
        metric=own.name if own else metric,
        metric_parameters=dict(own.given) if own else {},
        higher_is_better=higher_is_better,
        submission=SubmissionSchema(
            id=Column(name=train[0], kind="text"),
            targets=tuple(Column(name=name, kind=kind, labels=labels) for name in targets),
        ),
        files=files,
        programs=programs,
        seconds=600,
        limits=Limits(),
        reward_bounds=(0.0, 1.0),
    )


def make_outcome(
    program: str,
    index: int,
    *,
    score: float | None = 0.5,
    status: ResultStatus = ResultStatus.SUCCESS,
    stdout: str = "",
) -> Outcome:
    return Outcome(
        index=index,
        status=status,
        execution=Execution(status=status, stdout=stdout),
        grade=Grade(status=status, part=Part.VALIDATION, score=score) if status is ResultStatus.SUCCESS else None,
        reward=score or 0.0,
        program_sha256=program_sha256(program),
        feedback="",
    )


def play_by_hand(agent: Agent, spec: TaskSpec, results: list[float | ResultStatus | None]) -> list[Attempt]:
    """The history of an episode in which program i came to results[i]: a score, None (hidden), or a failure."""
    history: list[Attempt] = []
    for index, result in enumerate(results, 1):
        program = agent.propose(spec, tuple(history))
        if isinstance(result, ResultStatus):
            outcome = make_outcome(program, index, status=result)
        else:
            outcome = make_outcome(program, index, score=result)
        history.append(Attempt(program, outcome))
    return history
