"""One episode: programs in, outcomes out, one look at the test part at the end. Knows nothing of Gymnasium."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from openmle_env.envs import runner
from openmle_env.envs.deadline import BOX_SECONDS, Deadline
from openmle_env.envs.observation import render_feedback
from openmle_env.envs.rewards import step_reward
from openmle_env.errors import InfrastructureError
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
    session: str = field(default_factory=lambda: uuid4().hex)
    """Names what programs of this episode may share with one another, and with no other (`openmle_env.types.Job`)."""
    waited: float = 0.0
    """Seconds in which programs waited for what others held, which are not the agent's."""
    looks_before: Mapping[Part, int] = field(init=False)
    """Looks of earlier episodes with the same grader."""

    def __post_init__(self) -> None:
        self.looks_before = dict(self.grader.looks)

    @property
    def seconds_left(self) -> float:
        """Seconds until the time budget is spent; negative after that."""
        return self.started + self.waited + self.spec.seconds - time.monotonic()

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

    def warm_up(self) -> None:
        """Have a box wait for the first program, where boxes wait."""
        self.sandbox.warm_up(self._job("pass", self.spec.limits.wall_seconds))

    def end_session(self) -> None:
        """What the programs of this episode shared is not needed any more; any number of times, within 5 seconds."""

        def end() -> None:
            with suppress(InfrastructureError):  # an engine that does not answer has its own way to be rid of boxes
                self.sandbox.end_session(self.session)

        with Deadline(0.0, CancelToken()) as deadline:
            deadline.call(end)

    def submit(self, program: str) -> Outcome:
        """Run and grade one program; never raises for what it does.

        It takes no longer than the program may, `BOX_SECONDS` and what the metric may, by this machine's clock. What is
        not over then has status ``sandbox_unconfirmed``.

        Raises:
            UsageError: The sandbox finds the job impossible, for instance since the task's data was removed.
        """
        digest = program_sha256(program)
        seconds_left = self.seconds_left
        grade = None
        if seconds_left <= 0:
            reason = f"The {self.spec.seconds:g} seconds of the episode were spent before the program was submitted."
            execution = Execution(status=ResultStatus.TIMEOUT, reason=reason, backend=self.sandbox.name)
        else:
            job = self._job(program, min(self.spec.limits.wall_seconds, seconds_left))
            with Deadline(job.limits.wall_seconds + BOX_SECONDS, self.cancel) as deadline:
                execution = runner.execute(self.sandbox, job, deadline=deadline, seconds=seconds_left)
                if execution.status is ResultStatus.SUCCESS:
                    deadline.extend(self._grading_seconds)
                    grade = runner.grade(
                        self.grader, execution.submission, Part.VALIDATION, program_sha256=digest, deadline=deadline
                    )
            self.waited += deadline.cancel.waited
        outcome = self._judge(execution, grade, digest)
        self.outcomes.append(outcome)
        return outcome

    def finish(self, choice: int | None = None) -> FinalResult | None:
        """End the episode: grade one program on the test part, once, within `BOX_SECONDS` and what the metric may take.

        Args:
            choice: Number of the program that the agent selects. Without one, or where that program has no score, the
                best on the validation part is taken.

        Returns:
            The result, the same at each call; None where the episode was cancelled.
        """
        self.over = True
        self.end_session()
        if self.final is None and not self.cancel.cancelled:
            selected, note = self._select(choice)
            grade = None
            if selected is not None:
                with Deadline(BOX_SECONDS + self._grading_seconds, self.cancel) as deadline:
                    grade = runner.grade(
                        self.grader,
                        selected.execution.submission,
                        Part.TEST,
                        program_sha256=selected.program_sha256,
                        deadline=deadline,
                    )
            self.final = FinalResult(
                selected=selected.index if selected else None,
                validation_score=selected.score if selected else None,
                grade=grade,
                looks={part: count - self.looks_before.get(part, 0) for part, count in self.grader.looks.items()},
                note=note,
            )
        return self.final

    @property
    def _grading_seconds(self) -> float:
        return self.task.pack.config.metric.seconds

    def _job(self, program: str, wall_seconds: float) -> Job:
        return Job(
            program=program,
            inputs={"/data": self.task.public},
            limits=replace(self.spec.limits, wall_seconds=wall_seconds),
            requirements=self.task.pack.requirements,
            modules=self.spec.warm,
            session=self.session,
        )

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
                limits=self.spec.limits,
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
