"""What the quality gate says of a pack: findings of checks, how the raw data was used, and five graded dimensions.

All of it is frozen, and goes to JSON and back: ``report.model_dump_json()``, ``Report.model_validate_json(text)``.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from openmle_env.task_registry.pack import Block
from openmle_env.task_registry.pack_values import Text

Severity = Literal["low", "medium", "high"]
"""``high``: the task is not sound, and is refused; ``medium``: it may be unfair or easy; ``low``: worth knowing."""

Outcome = Literal["passed", "failed", "accepted", "skipped"]
"""``accepted``: failed, and the author answers for it; ``skipped``: there was nothing to look at, or no means to."""

EvidenceSource = Literal[
    "description.txt",
    "prepare.py",
    "metric.py",
    "processed_csv_evidence",
    "raw_csv_evidence",
    "raw_usage_evidence",
    "metric_smoke_test",
    "raw_inventory",
]
"""Where evidence comes from."""

DimensionName = Literal["task_validity", "data_sufficiency", "raw_data_usage", "task_complexity", "data_quality"]
DIMENSIONS: tuple[DimensionName, ...] = (
    "task_validity",
    "data_sufficiency",
    "raw_data_usage",
    "task_complexity",
    "data_quality",
)
"""What is graded, in this order."""

Recommendation = Literal["recommended", "conditional", "not_recommended"]
RECOMMENDED, CONDITIONAL = 4.0, 2.5
"""The least mean of the five scores for each of the two."""


class Finding(Block):
    """What one check found. A pack that passes a check has one finding of it, one that fails may have several."""

    check: Text
    """Name of the check."""
    severity: Severity
    """How bad it is, if it fails."""
    outcome: Outcome
    """What came of it."""
    message: Text
    """For people: what is wrong, which value, what to do; or what was looked at. Holds no hidden answer."""
    evidence_source: EvidenceSource
    """Where the evidence comes from."""
    evidence: str = ""
    """Figures, names and public values that show it. Holds no hidden answer."""
    reason: str = ""
    """For ``accepted``: why the author says that the task is sound all the same."""

    @property
    def is_hard(self) -> bool:
        """Whether the pack is refused for it."""
        return self.outcome == "failed" and self.severity == "high"


class RawTable(Block):
    """One table of the raw data."""

    name: Text
    """Its file, below ``raw/``."""
    rows: int
    """Rows without the header."""
    columns: tuple[str, ...]
    """Its header."""
    labelled_rows: int | None = None
    """Rows whose target is filled; None where it has no column of a target's name."""


class Usage(Block):
    """How much of the raw data the task uses."""

    raw_tables: tuple[RawTable, ...] = ()
    """Every table below ``raw/``, as far as it can be read."""
    raw_rows: int | None = None
    """Rows of the raw tables that hold a target; None where no raw table does."""
    labelled_raw_rows: int | None = None
    """Of those, the rows whose target is filled."""
    train_rows: int = 0
    """Rows of ``public/train.csv`` whose target is filled."""
    test_rows: int = 0
    """Rows of ``private/test_answer.csv``."""
    conserved: bool | None = None
    """Whether train and test rows together are the labelled raw rows; None where that cannot be told."""
    labelled_share: float | None = None
    """Share of the labelled raw rows that are in train or test; more than 1 where rows were made."""
    raw_test_role: Literal["none", "unlabelled_and_left_out", "unlabelled_and_used", "labelled", "unknown"] = "unknown"
    """What became of a raw table without targets, such as the test set of a competition."""
    unused_raw_files: tuple[str, ...] = ()
    """Raw files that the script names nowhere and shares no content with what was prepared."""


class Evidence(Block):
    """What a judge is shown, by source. It holds public values and figures, never a row of the hidden answers.

    Whoever wrote the pack wrote the texts in here: they are data, not instructions.
    """

    task: str
    """The task's name."""
    description: str = ""
    """Source ``description.txt``."""
    prepare: str = ""
    """Source ``prepare.py``: the script's text; empty where the pack has finished files."""
    metric: str = ""
    """Source ``metric.py``: the pack's own metric, or what a metric of ours says of itself."""
    processed_csv: str = ""
    """Source ``processed_csv_evidence``: JSON on every prepared table: rows, columns, values, a few public rows."""
    raw_csv: str = ""
    """Source ``raw_csv_evidence``: the same of every raw table."""
    raw_usage: str = ""
    """Source ``raw_usage_evidence``: the `Usage` as JSON."""
    metric_smoke_test: str = ""
    """Source ``metric_smoke_test``: JSON with what sample, answers and others score."""
    raw_inventory: str = ""
    """Source ``raw_inventory``: names and sizes of the raw files."""

    def by_source(self) -> dict[EvidenceSource, str]:
        """The texts by the names that findings and issues use."""
        return {
            "description.txt": self.description,
            "prepare.py": self.prepare,
            "metric.py": self.metric,
            "processed_csv_evidence": self.processed_csv,
            "raw_csv_evidence": self.raw_csv,
            "raw_usage_evidence": self.raw_usage,
            "metric_smoke_test": self.metric_smoke_test,
            "raw_inventory": self.raw_inventory,
        }


class Dimension(Block):
    """One graded dimension."""

    name: DimensionName
    """What is graded."""
    score: Annotated[float, Field(ge=0, le=5)]
    """From 0, useless, to 5, without fault."""
    reason: Text
    """Why."""


class Issue(Block):
    """Something that a judge holds against the task."""

    severity: Severity
    """How bad it is."""
    category: Text
    """What kind of fault, in a word or two."""
    message: Text
    """For people."""
    evidence_source: EvidenceSource
    """Where the evidence comes from."""
    evidence: Text
    """A quotation or figure of that source."""


class Report(Block):
    """What the gate says of one pack."""

    task: Text
    """Its name."""
    version: str
    """Its version."""
    hash: str
    """SHA-256 over its files."""
    findings: tuple[Finding, ...]
    """What the checks found, in the order of the checks."""
    usage: Usage | None = None
    """How the raw data was used; None where nothing could be prepared."""
    dimensions: tuple[Dimension, ...] = ()
    """The five graded dimensions; none where nobody judged."""
    issues: tuple[Issue, ...] = ()
    """What a judge holds against the task."""
    overall: Annotated[float, Field(ge=0, le=5)] | None = None
    """Mean of the five scores; None where nobody judged."""
    recommendation: Recommendation | None = None
    """What follows from the mean; None where nobody judged."""
    source: Literal["model", "deterministic_hard_gate", "none"] = "none"
    """Who recommends: a model, the checks alone (a hard one failed), or nobody."""
    judge: str = ""
    """Name of the model, where one was asked."""
    judgement_error: str = ""
    """Why a model that was asked gave no judgement. That is no fault of the task."""

    @model_validator(mode="after")
    def _is_whole(self) -> Report:
        judged = self.source != "none"
        if judged != bool(self.dimensions) or judged != (self.overall is not None):
            raise ValueError("dimensions, overall and recommendation belong to a source, and it to them")
        if judged and tuple(one.name for one in self.dimensions) != DIMENSIONS:
            raise ValueError(f"the dimensions should be {', '.join(DIMENSIONS)}, in this order")
        if self.overall is not None:
            mean = math.fsum(one.score for one in self.dimensions) / len(DIMENSIONS)
            if not math.isclose(self.overall, mean, abs_tol=1e-9):
                raise ValueError(f"overall is {self.overall}, and the mean of the scores is {mean}")
            if self.recommendation != recommend(mean, hard=self.failed_hard):
                raise ValueError(f"a mean of {mean} does not make the task {self.recommendation!r}")
        if self.failed_hard != (self.source == "deterministic_hard_gate"):
            raise ValueError("the source is 'deterministic_hard_gate' where a hard check failed, and only there")
        return self

    @property
    def failed_hard(self) -> bool:
        """Whether a check failed for which the pack is refused."""
        return any(finding.is_hard for finding in self.findings)

    def judged(self, dimensions: tuple[Dimension, ...], issues: tuple[Issue, ...], judge: str) -> Report:
        """The same with a judgement. One that a hard failure stands against stays as it is.

        Args:
            dimensions: All five, in the order of `DIMENSIONS`.
            issues: What the judge holds against the task.
            judge: Name of the model.
        """
        if self.failed_hard:
            return self
        mean = math.fsum(one.score for one in dimensions) / len(DIMENSIONS)
        changes = {
            "dimensions": dimensions,
            "issues": issues,
            "overall": mean,
            "recommendation": recommend(mean, hard=False),
            "source": "model",
            "judge": judge,
            "judgement_error": "",
        }
        return Report.model_validate({**dict(self), **changes})

    def not_judged(self, error: str, judge: str) -> Report:
        """The same, with the reason why the model that was asked gave no judgement."""
        return Report.model_validate({**dict(self), "judge": judge, "judgement_error": error})


def recommend(mean: float, *, hard: bool) -> Recommendation:
    """What a mean of the five scores comes to.

    >>> recommend(4.0, hard=False), recommend(2.5, hard=False), recommend(2.4, hard=False), recommend(5, hard=True)
    ('recommended', 'conditional', 'not_recommended', 'not_recommended')
    """
    if hard or mean < CONDITIONAL:
        return "not_recommended"
    return "recommended" if mean >= RECOMMENDED else "conditional"


def of_checks(*, task: str, version: str, pack_hash: str, findings: tuple[Finding, ...], usage: Usage | None) -> Report:
    """The report of the checks alone: a hard failure is 0 in every dimension, and the task is not recommended."""
    hard = [finding for finding in findings if finding.is_hard]
    if not hard:
        return Report(task=task, version=version, hash=pack_hash, findings=findings, usage=usage)
    names = ", ".join(dict.fromkeys(finding.check for finding in hard))
    return Report(
        task=task,
        version=version,
        hash=pack_hash,
        findings=findings,
        usage=usage,
        dimensions=tuple(Dimension(name=name, score=0.0, reason=f"Failed: {names}.") for name in DIMENSIONS),
        overall=0.0,
        recommendation="not_recommended",
        source="deterministic_hard_gate",
    )
