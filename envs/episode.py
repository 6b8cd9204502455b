"""One episode: programs in, outcomes out, one look at the test part at the end. Knows nothing of Gymnasium."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from openmle_env.envs import runner
from openmle_env.envs.observation import render_feedback
from openmle_env.envs.rewards import step_reward
from openmle_env.sandbox.protocol import CancelToken
from openmle_env.types import Execution, Fault, Job, Outcome, Part, ResultStatus, program_sha256

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openmle_env.envs.rewards import Reward
    from openmle_env.graders.grader import Grader
    from openmle_env.graders.medals import Leaderboard
    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.lookup import Task
    from openmle_env.types import Feedback, Grade, Place, TaskSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalResult:
    """The program that an episode is judged by, and its grade on the test part."""

    selected: int | None
    """Number of the program: the agent's choice, else the best on the validation part; None where none was valid."""
    validation_score: float | None
    """Its validation score."""
    grade: Grade | None
    """Its grade on the test part, given once; None where nothing was selected."""
    looks: Mapping[Part, int]
    """How often each part of the hidden answers was looked at in the episode, this look included."""
    note: str = ""
    """What went otherwise than the agent asked."""

    @property
    def test_score(self) -> float | None:
        """The score on the test part, or None."""
        return self.grade.score if self.grade else None

    @property
    def place(self) -> Place | None:
        """Where the test score would stand on the task's leaderboard; None without a score or without a board."""
        return self.grade.place if self.grade else None


@dataclass(slots=True, kw_only=True)
class Episode:
    """The state of a running episode. One thread submits; any thread may cancel."""

    sandbox: Sandbox
    task: Task
    grader: Grader
    spec: TaskSpec
    """The task with the budgets and limits of this episode."""
    feedback: Feedback
    reward: Reward
    leaderboard: Leaderboard | None = None
    """Of the task; for rewards that are made of a place on it."""
    cancel: CancelToken = field(default_factory=CancelToken)
    started: float = field(default_factory=time.monotonic)
    outcomes: list[Outcome] = field(default_factory=list)
    best: Outcome | None = None
    """The first outcome with the best validation score."""
    over: bool = False
    final: FinalResult | None = None
    looks_before: Mapping[Part, int] = field(init=False)
    """Looks of earlier episodes with the same grader."""

    def __post_init__(self) -> None:
        self.looks_before = dict(self.grader.looks)

    @property
    def seconds_left(self) -> float:
        """Seconds until the time budget is spent; negative after that."""
        return self.started + self.spec.seconds - time.monotonic()

    @property
    def programs_left(self) -> int:
        """Programs that may still be submitted."""
        return self.spec.programs - len(self.outcomes)

    @property
    def next_index(self) -> int:
        """The number of the program that is submitted next."""
        return len(self.outcomes) + 1

    @property
    def best_score(self) -> float | None:
        """The best validation score, or None."""
        return self.best.score if self.best else None

    def submit(self, program: str) -> Outcome:
        """Run and grade one program; never raises for what it does.

        Raises:
            UsageError: The sandbox finds the job impossible, for instance since the task's data was removed.
        """
        digest = program_sha256(program)
        execution = self._execute(program)
        grade = None
        if execution.status is ResultStatus.SUCCESS:
            grade = runner.grade(
                self.grader, execution.submission, Part.VALIDATION, program_sha256=digest, cancel=self.cancel
            )
        outcome = self._judge(execution, grade, digest)
        self.outcomes.append(outcome)
        return outcome

    def finish(self, choice: int | None = None) -> FinalResult | None:
        """End the episode: grade one program on the test part, once.

        Args:
            choice: Number of the program that the agent selects. Without one, or where that program has no score, the
                best on the validation part is taken.

        Returns:
            The result, the same at each call; None where the episode was cancelled.
        """
        self.over = True
        if self.final is None and not self.cancel.cancelled:
            selected, note = self._select(choice)
            grade = None
            if selected is not None:
                grade = runner.grade(
                    self.grader,
                    selected.execution.submission,
                    Part.TEST,
                    program_sha256=selected.program_sha256,
                    cancel=self.cancel,
                )
            self.final = FinalResult(
                selected=selected.index if selected else None,
                validation_score=selected.score if selected else None,
                grade=grade,
                looks={part: count - self.looks_before.get(part, 0) for part, count in self.grader.looks.items()},
                note=note,
            )
        return self.final

    def _execute(self, program: str) -> Execution:
        seconds_left = self.seconds_left
        if seconds_left <= 0:
            reason = f"The {self.spec.seconds:g} seconds of the episode were spent before the program was submitted."
            return Execution(status=ResultStatus.TIMEOUT, reason=reason, backend=self.sandbox.name)
        wall_seconds = min(self.spec.limits.wall_seconds, seconds_left)
        job = Job(
            program=program,
            inputs={"/data": self.task.public},
            limits=replace(self.spec.limits, wall_seconds=wall_seconds),
        )
        return runner.execute(self.sandbox, job, cancel=self.cancel, seconds=seconds_left)

    def _judge(self, execution: Execution, grade: Grade | None, digest: str) -> Outcome:
        """Make the outcome, and keep it as the best where it is."""
        status = grade.status if grade else execution.status
        score = grade.score if grade and grade.valid else None
        reward = 0.0
        if status.fault in {Fault.NONE, Fault.AGENT}:
            reward = step_reward(
                self.reward,
                score=score,
                previous_best=self.best_score,
                bounds=self.spec.reward_bounds,
                higher_is_better=self.spec.higher_is_better,
                leaderboard=self.leaderboard,
            )
        index = self.next_index
        best = self._best_so_far()
        leads = score is not None and (best is None or self._beats(score, best[1]))
        if score is not None and leads:
            best = (index, score)
        outcome = Outcome(
            index=index,
            status=status,
            execution=execution,
            grade=grade,
            reward=reward,
            program_sha256=digest,
            feedback=render_feedback(
                index=index,
                status=status,
                execution=execution,
                grade=grade,
                best=best,
                higher_is_better=self.spec.higher_is_better,
                feedback=self.feedback,
            ),
        )
        if leads:
            self.best = outcome
        return outcome

    def _best_so_far(self) -> tuple[int, float] | None:
        if self.best is None or self.best.score is None:
            return None
        return self.best.index, self.best.score

    def _beats(self, score: float, other: float) -> bool:
        return score > other if self.spec.higher_is_better else score < other

    def _select(self, choice: int | None) -> tuple[Outcome | None, str]:
        if choice is None:
            return self.best, ""
        chosen = self.outcomes[choice - 1] if 1 <= choice <= len(self.outcomes) else None
        if chosen is not None and chosen.score is not None:
            return chosen, ""
        problem = "has no score" if chosen else "does not exist"
        instead = f"program {self.best.index}, the best on the validation part," if self.best else "no program"
        return self.best, f"Program {choice} was selected but {problem}; {instead} was taken."
