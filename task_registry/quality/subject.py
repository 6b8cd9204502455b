"""What the checks look at: a pack, its data as far as it can be had, and what is asked for by several of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.graders.loading.cells import CellFault, canonical_id
from openmle_env.graders.metric_columns import class_column
from openmle_env.task_registry import files
from openmle_env.task_registry.folder import ANSWERS, SAMPLE
from openmle_env.task_registry.quality.checks import Unavailable
from openmle_env.task_registry.quality.scan import SUFFIXES, Scan, header, scan
from openmle_env.task_registry.quality.target import Target, describe

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.errors import OpenMLEError
    from openmle_env.graders.metrics import Metric as OurMetric
    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.on_demand import SandboxOnDemand
    from openmle_env.task_registry.pack import Submission
    from openmle_env.task_registry.prepare import Prepared
    from openmle_env.task_registry.quality.probes import Probes
    from openmle_env.task_registry.quality.report import Usage
    from openmle_env.task_registry.task import Task
    from openmle_env.types import SubmissionSchema

TRAIN, TEST = "train.csv", "test.csv"
SAMPLE_NAME = SAMPLE.removeprefix("public/")
ANSWERS_NAME = ANSWERS.removeprefix("private/")
MAX_TARGETS = 8
"""As many target columns are tried one by one."""


@dataclass
class Subject:
    """One pack under examination. Whatever cannot be had raises `Unavailable`."""

    pack: Pack
    sandbox: SandboxOnDemand
    prepared: Prepared | None
    fault: OpenMLEError | None = None
    """Why it could not be prepared."""
    reference_scores: dict[str, float] = field(default_factory=dict)
    """What the references scored on the validation part, once they have run."""

    @cached_property
    def public(self) -> Path:
        """Folder of the public files; the pack's own, unverified, where it has finished files and is not prepared."""
        if self.prepared is not None:
            return self.prepared.public
        if self.pack.is_finished:
            return self.pack.root / "data" / "public"
        raise Unavailable("The data could not be prepared.")

    @cached_property
    def answers_path(self) -> Path:
        """File of the hidden answers."""
        if self.prepared is not None:
            return self.prepared.answers
        if self.pack.is_finished:
            return self.pack.root / "data" / ANSWERS
        raise Unavailable("The data could not be prepared.")

    @cached_property
    def public_files(self) -> dict[str, Path]:
        """Every public file by its name below ``public/``."""
        return files.tree(self.public, everything=True)

    @cached_property
    def metric(self) -> OurMetric | None:
        """The metric of ours; None for the pack's own."""
        return self.pack.config.metric.ours()

    @cached_property
    def submission(self) -> Submission:
        """Columns of a submission."""
        if self.prepared is not None:
            return self.prepared.manifest.submission
        if self.pack.config.submission is not None:
            return self.pack.config.submission
        raise Unavailable("The columns of a submission are not known: pack.yaml states none.")

    @cached_property
    def schema(self) -> SubmissionSchema:
        """The same as the type that graders use."""
        return self.submission.as_schema()

    @cached_property
    def id_name(self) -> str:
        """Header of the id: of the submission, else the first column of the sample."""
        try:
            return self.submission.id.name
        except Unavailable:
            sample = self.public_files.get(SAMPLE_NAME)
            return next(iter(header(sample)), "") if sample else ""

    @cached_property
    def _tables(self) -> dict[str, Scan]:
        return {}

    @cached_property
    def table_names(self) -> tuple[str, ...]:
        """The public tables, the usual three first."""
        names = [name for name in self.public_files if name.lower().endswith(SUFFIXES)]
        usual = [name for name in (TRAIN, TEST, SAMPLE_NAME) if name in names]
        return (*usual, *(name for name in names if name not in usual))

    def table(self, name: str) -> Scan:
        """A public table, read once.

        Raises:
            Unavailable: There is none of that name.
        """
        if name not in self._tables:
            if name not in self.public_files:
                raise Unavailable(f"There is no public/{name}.")
            self._tables[name] = scan(self.public_files[name], f"public/{name}", key=self.id_name)
        return self._tables[name]

    @cached_property
    def answers(self) -> Scan:
        """The hidden answers."""
        return scan(self.answers_path, ANSWERS, key=self.id_name)

    def keys(self, table: Scan) -> Array:
        """The ids of a table in one spelling; shape (kept,), texts, empty where a cell is no id.

        Raises:
            Unavailable: It has no column of that name.
        """
        if self.id_name not in table.cells:
            raise Unavailable(f"{table.name} has no column {self.id_name!r}.")
        try:
            column = self.schema.id
        except Unavailable:
            return np.array([cell.strip() for cell in table.cells[self.id_name]], dtype=object)
        spelt = (canonical_id(cell, column) for cell in table.cells[self.id_name])
        return np.array(["" if isinstance(key, CellFault) else key for key in spelt], dtype=object)

    @cached_property
    def truth_names(self) -> tuple[str, ...]:
        """The columns of the answers that say what is right."""
        metric = self.metric
        truth = class_column(metric) if metric else ""
        if truth and truth in self.answers.names:
            return (truth,)
        targets = tuple(target.name for target in self.schema.targets if target.name in self.answers.names)
        if targets or metric is None:
            return targets
        columns = (column.name for column in metric.truth_columns(self.schema))
        return tuple(name for name in columns if name in self.answers.names)

    @cached_property
    def task(self) -> Task:
        """The task as an episode has it.

        Raises:
            Unavailable: It could not be prepared.
        """
        if self.prepared is None:
            raise Unavailable("The data could not be prepared.")
        from openmle_env.task_registry import spec
        from openmle_env.task_registry.task import Task

        manifest = self.prepared.manifest
        return Task(
            spec=spec.build(self.pack, manifest),
            pack=self.pack,
            public=self.prepared.public,
            answers=self.prepared.answers,
            submission=manifest.submission,
        )

    @cached_property
    def owned_files(self) -> dict[int, list[str]]:
        """For each row that is predicted the public files that belong to it."""
        from openmle_env.task_registry.quality import side_files

        return side_files.by_row(self)

    @cached_property
    def raw_tables(self) -> dict[str, Scan]:
        """The tables of the raw data, by their names below ``raw/``."""
        from openmle_env.task_registry.quality import raw

        return raw.scans(self.pack)

    @cached_property
    def usage(self) -> Usage:
        """How much of the raw data the task uses."""
        from openmle_env.task_registry.quality import raw

        return raw.usage(self)

    @cached_property
    def probes(self) -> Probes:
        """The submissions by which the grader is tried."""
        from openmle_env.task_registry.quality.probes import Probes

        return Probes(self)

    @cached_property
    def test_rows(self) -> TestRows:
        """The rows that are to be predicted, in the order of the sample submission, with what is right."""
        return TestRows.of(self)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The first `MAX_TARGETS` columns of the answers that say what is right, and what the training rows say."""
        train = self.table(TRAIN) if TRAIN in self.public_files else None
        truth = self.test_rows.truth
        return tuple(
            describe(name, truth[name], train.cells.get(name) if train else None)
            for name in self.truth_names[:MAX_TARGETS]
        )


@dataclass(frozen=True, eq=False)
class TestRows:
    """The rows that are to be predicted, as far as the answers were read."""

    __test__ = False  # for pytest, which takes it for tests by its name

    keys: Array
    """Their ids, in the order of the sample submission."""
    truth: dict[str, Array]
    """For each column of `Subject.truth_names` what is right, as texts, in the same order."""
    positions: Array
    """Their row numbers in the sample submission, or in the answers where the sample is none."""

    @classmethod
    def of(cls, subject: Subject) -> TestRows:
        """Join answers and sample submission."""
        answers = subject.answers
        if not len(answers.positions):
            raise Unavailable("The answers hold no rows.")
        keys = subject.keys(answers)
        row_of = {key: row for row, key in enumerate(keys) if key}
        sample = subject.table(SAMPLE_NAME)
        pairs = [
            (key, row_of[key], position)
            for key, position in zip(subject.keys(sample), sample.positions, strict=True)
            if key in row_of
        ]
        if not pairs:
            raise Unavailable("The sample submission and the answers share no id.")
        rows = np.array([row for _, row, _ in pairs])
        return cls(
            keys=np.array([key for key, _, _ in pairs], dtype=object),
            truth={
                name: np.array([cell.strip() for cell in answers.cells[name]], dtype=object)[rows]
                for name in subject.truth_names
            },
            positions=np.array([position for _, _, position in pairs]),
        )

    def rows_in(self, keys: Array) -> tuple[Array, Array]:
        """Where the ids stand in another table's ``keys``: rows here, and the first row there of each."""
        first: dict[str, int] = {}
        for row, key in enumerate(keys):
            first.setdefault(key, row)
        here = [row for row, key in enumerate(self.keys) if key in first]
        return np.array(here, dtype=np.int64), np.array([first[self.keys[row]] for row in here], dtype=np.int64)
