"""Grading a submission on a part of the hidden answers, outside of any box that a program ran in."""

from __future__ import annotations

import json
import logging
import math
import os
import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.graders import metrics
from openmle_env.graders.answers import Condition
from openmle_env.graders.answers import load as load_answers
from openmle_env.graders.metrics.definition import any_is_huge
from openmle_env.graders.split import Split
from openmle_env.graders.submission import Report, check
from openmle_env.types import Artifact, Grade, Part, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Literal

    from openmle_env.graders.answers import Answers
    from openmle_env.graders.medals import Leaderboard
    from openmle_env.graders.rows import Rows
    from openmle_env.graders.scored import Scored, Scorer
    from openmle_env.sandbox.protocol import CancelToken
    from openmle_env.types import SubmissionSchema

_log = logging.getLogger(__name__)


class Grader:
    """Grades submissions of one task. Safe to call from several threads at once.

    The submission is checked on all ids; the score is computed on the rows of the part that is asked for.
    """

    looks: dict[Part, int]
    """How often submissions were compared with the answers of each part, failed comparisons included."""

    def __init__(
        self,
        *,
        schema: SubmissionSchema,
        metric: str | Scorer,
        answers: Path | None,
        salt: str = "",
        validation_fraction: float = 0.5,
        split: Literal["hash", "none"] = "hash",
        split_column: str = "",
        scored_rows: str = "",
        leaderboard: Leaderboard | None = None,
        task: str = "",
        looks_log: Path | None = None,
        details: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare to grade; nothing is read yet.

        Args:
            schema: Columns of the submission.
            metric: Name of one of our metrics, or a `Scorer` such as `openmle_env.graders.pack_metric.PackMetric`.
            answers: CSV file of the hidden answers, read once, at the first grade; None where there is none.
            salt: Of the split by hash.
            validation_fraction: Of the split by hash.
            split: ``hash`` of the id, or ``none`` where the metric does not decompose: both parts are all rows.
            split_column: Column of the answers that states the part of each row; stands above ``split``.
            scored_rows: Which rows of the answers are scored: ``COLUMN = VALUE`` or ``COLUMN != VALUE``; all, if empty.
            leaderboard: Where scores on the test part are placed.
            task: Name of the task, for the log of looks.
            looks_log: File that gets one JSON line for each look: when, task, part, program. Never the score.
            details: Told why the answers cannot be used, or what a metric of ours said where it failed. That may quote
                the answers, so it is kept from logs and grades.

        Raises:
            UnknownNameError: There is no such metric.
            PackError: The metric is not defined for the targets of the schema.
            UsageError: ``scored_rows`` is not such a condition.
        """
        self._schema = schema
        self._scorer: Scorer = metrics.get(metric) if isinstance(metric, str) else metric
        self._scorer.accepts(schema)
        self._path = answers
        if split_column:
            self._split = Split(method="column", column=split_column)
        else:
            self._split = Split(method=split, salt=salt, validation_fraction=validation_fraction)
        self._scored_rows = Condition.parse(scored_rows)
        self._leaderboard = leaderboard
        self._task = task
        self._looks_log = looks_log
        self._details = details
        self._lock = threading.Lock()
        self._loaded: Answers | None = None
        self.looks = dict.fromkeys(Part, 0)

    @property
    def higher_is_better(self) -> bool:
        """The direction of the metric.

        Raises:
            PackError: The pack's own metric cannot be used.
            InfrastructureError: The sandbox that asks the pack's metric could not be started.
        """
        return self._scorer.higher_is_better

    @property
    def advice(self) -> str:
        """A sentence for the task's author, where the answers look as if another metric was meant; else empty.

        Raises:
            PackError: As for `load`.
        """
        return self._scorer.advice(self.load().rows)

    def load(self) -> Answers:
        """The answers, read at the first call.

        Raises:
            PackError: They are missing, or do not fit the schema or the split.
        """
        with self._lock:
            if self._loaded is None:
                if self._path is None:
                    raise PackError("The task has no hidden answers, so that nothing can be graded.")
                columns = self._scorer.truth_columns(self._schema)
                self._loaded = load_answers(
                    self._path, self._schema, self._split, columns, scored_rows=self._scored_rows
                )
            return self._loaded

    def check(self, submission: Artifact | Path | bytes) -> Report:
        """Check the form of a submission; this is no look at the answers, of which only the ids are used.

        A metric that reads more than a number from a cell (a mask, a list of guesses) checks its form, too.

        Raises:
            PackError: As for `load`.
        """
        answers = self.load()
        truth = answers.rows
        report = check(submission, self._schema, answers.index)
        if report.predictions is None:
            return report
        problems = self._scorer.problems(report.predictions, truth)
        return replace(report, problems=problems, predictions=None) if problems else report

    def grade(
        self,
        submission: Artifact | Path | bytes,
        part: Part,
        *,
        program_sha256: str = "",
        cancel: CancelToken | None = None,
    ) -> Grade:
        """Grade ``submission`` on ``part``. Never raises for what it holds, nor for a fault of the task.

        A metric of ours runs in this process, without a limit of its own: its work and memory grow about linearly with
        the submission, whose size the loader bounds. A pack's own metric has the limits of its box.

        Args:
            submission: What a program wrote.
            part: Which answers it is compared with.
            program_sha256: Hash of the program that wrote it, for the log of looks.
            cancel: Ends a metric that runs in a sandbox; the status is then ``cancelled``.
        """
        try:
            return self._grade(submission, part, program_sha256, cancel)
        except MemoryError:
            return Grade(
                status=ResultStatus.SANDBOX_UNCONFIRMED,
                part=part,
                message="The machine that grades has too little memory free. Nothing is known of the submission.",
            )

    def _grade(
        self, submission: Artifact | Path | bytes, part: Part, program_sha256: str, cancel: CancelToken | None
    ) -> Grade:
        try:
            answers = self.load()
            report = self.check(submission)
        except PackError as error:
            _log.info("The hidden answers cannot be used: %s", type(error).__name__)
            self._tell(str(error))
            return Grade(
                status=ResultStatus.METRIC_OR_ANSWER_MISSING,
                part=part,
                message="The hidden answers cannot be used. This is a fault of the task, not of the submission.",
            )
        if report.predictions is None:
            missing = report.problems[0].code == "no_file"
            return Grade(
                status=ResultStatus.SUBMISSION_MISSING if missing else ResultStatus.SUBMISSION_INVALID,
                part=part,
                message=report.message,
                problems=report.problems,
                warnings=report.warnings,
            )
        try:
            self.record_look(part, program_sha256)
        except OSError as error:
            return Grade(
                status=ResultStatus.SANDBOX_UNCONFIRMED,
                part=part,
                message=f"The look at the answers could not be recorded ({error.strerror}), so none was taken.",
            )
        scored = self._score(answers, report.predictions, part, cancel)
        if scored.details:
            self._tell(scored.details)
        grade = _as_grade(scored, part, report.warnings)
        if grade.score is None or part is not Part.TEST or self._leaderboard is None:
            return grade
        return replace(grade, place=self._leaderboard.place(grade.score))

    def _score(self, answers: Answers, predicted: Rows, part: Part, cancel: CancelToken | None) -> Scored:
        """Score a part; predictions that a metric of ours overflows on are refused whichever part they belong to.

        Else a huge number in one row would tell, by whether it is refused, which part that row is in.
        """
        if isinstance(self._scorer, metrics.Metric) and any_is_huge(predicted):
            whole = self._scorer.score(answers.rows, predicted, answers.positions[Part.ALL], cancel=cancel)
            if whole.status is ResultStatus.SUBMISSION_INVALID:
                return whole
        return self._scorer.score(answers.rows, predicted, answers.positions[part], cancel=cancel)

    def _tell(self, details: str) -> None:
        if self._details is not None:
            self._details(details)

    def record_look(self, part: Part, program_sha256: str = "") -> None:
        """Count a look at the answers of ``part``, and write it to the log if there is one.

        Raises:
            OSError: The log cannot be written; the look was not counted, and must not be taken.
        """
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"when": when, "task": self._task, "part": part, "program_sha256": program_sha256})
        with self._lock:
            if self._looks_log is not None:
                self._looks_log.parent.mkdir(parents=True, exist_ok=True)
                # Not blocking: in place of the file there may be a pipe, which nobody reads.
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
                with os.fdopen(os.open(self._looks_log, flags, 0o666), "a", encoding="utf-8") as file:
                    file.write(line + "\n")
            self.looks[part] += 1


def _as_grade(scored: Scored, part: Part, warnings: tuple[str, ...]) -> Grade:
    """The grade of a score; only a finite one is a success, whatever the scorer says."""
    success = scored.status is ResultStatus.SUCCESS
    finite = scored.score is not None and math.isfinite(scored.score)
    status, message = scored.status, scored.message
    if success and not finite:
        status = ResultStatus.SCORING_FAILED
        message = "The metric gave no finite score. This is a fault of the task, not of the submission."
    return Grade(
        status=status,
        part=part,
        score=scored.score if success and finite else None,
        message=message,
        warnings=(*warnings, *scored.warnings),
    )
