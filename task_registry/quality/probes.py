"""Submissions that are made to try a grader: right ones, wrong ones, broken ones, and those of lazy attackers."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError
from openmle_env.graders.loading.source import MAX_TASK_BYTES, Refused, read_bytes
from openmle_env.graders.loading.table import read_table
from openmle_env.task_registry.gold import gold_submission
from openmle_env.task_registry.grading import make_grader
from openmle_env.task_registry.quality.checks import Unavailable
from openmle_env.task_registry.quality.subject import SAMPLE_NAME
from openmle_env.task_registry.quality.target import to_numbers
from openmle_env.types import Fault, Part

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.graders.grader import Grader
    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.quality.subject import Subject
    from openmle_env.types import Artifact, Grade

PARTS = (Part.VALIDATION, Part.TEST)
NOISY_SHARE = 0.25
"""Of the rows of a noisy gold submission as many are the sample's."""

Columns = dict[str, list[str]]


@dataclass
class Probes:
    """The submissions, and what the task's own grader says of them."""

    subject: Subject

    @cached_property
    def grader(self) -> Grader:
        """The grader that episodes have, but for its log.

        Raises:
            Unavailable: It cannot be made, or the answers cannot be read; `metric_defined` says why.
        """
        try:
            return self.made_grader()
        except PackError as error:
            raise Unavailable("The answers cannot be graded: see metric_defined.") from error

    def made_grader(self) -> Grader:
        """The grader.

        Raises:
            PackError: Metric or answers cannot be used.
        """
        subject = self.subject
        direction = subject.prepared.manifest.higher_is_better if subject.prepared else None
        grader = make_grader(
            subject.pack, subject.submission, subject.answers_path, subject.sandbox.get, higher_is_better=direction
        )
        grader.load()
        return grader

    @cached_property
    def sample(self) -> Columns:
        """The sample submission's cells, by column."""
        return _read(self.subject.public_files[SAMPLE_NAME], self.subject.schema.columns)

    @cached_property
    def gold(self) -> Columns:
        """The right submission, in the order of the sample."""
        subject = self.subject
        sample = subject.public_files[SAMPLE_NAME]
        content = gold_submission(subject.pack.config.metric, subject.schema, subject.answers_path, sample)
        table = _parse(content, "the answers", subject.schema.columns)
        row_of = {key: row for row, key in enumerate(self._ids(table))}
        try:
            rows = [row_of[key] for key in self._ids(self.sample)]
        except KeyError:
            raise Unavailable("The sample submission has ids that the answers lack.") from None
        return {name: [cells[row] for row in rows] for name, cells in table.items()}

    def _ids(self, table: Columns) -> list[str]:
        from openmle_env.graders.loading.cells import canonical_id

        column = self.subject.schema.id
        return [str(canonical_id(cell, column)) for cell in table[column.name]]

    @property
    def rows(self) -> int:
        """How many rows a submission has."""
        return len(self.sample[self.subject.schema.id.name])

    def mixed(self) -> Columns:
        """Gold, but for a quarter of the rows in which the sample differs from it: those are the sample's."""
        ids = self.subject.schema.id.name
        order = np.random.default_rng(1).permutation(self.rows)
        names = [target.name for target in self.subject.schema.targets]
        differ = [row for row in order if any(self.gold[name][row] != self.sample[name][row] for name in names)]
        wrong = set(differ[: max(2, int(len(differ) * NOISY_SHARE))])
        return {ids: self.sample[ids]} | {
            name: [self.sample[name][row] if row in wrong else cell for row, cell in enumerate(self.gold[name])]
            for name in names
        }

    def permuted(self, table: Columns) -> Columns:
        """The predictions of other rows, whole rows together; always the same permutation."""
        ids = self.subject.schema.id.name
        order = np.random.default_rng(2).permutation(self.rows)
        return {name: cells if name == ids else [cells[row] for row in order] for name, cells in table.items()}

    def constant(self) -> Columns:
        """The first row of the sample's predictions for every row."""
        ids = self.subject.schema.id.name
        return {name: cells if name == ids else [cells[0]] * len(cells) for name, cells in self.sample.items()}

    def by_order(self, values: Array, *, descending: bool) -> Columns | None:
        """Predictions that rise, or fall, with a number for each row; None where the targets have no order.

        Labels are given in their order, as many of each as there are in the gold submission; so are numbers.
        """
        order = np.argsort(-values if descending else values, kind="stable")
        made: Columns = {self.subject.schema.id.name: self.sample[self.subject.schema.id.name]}
        for target in self.subject.schema.targets:
            gold = np.array(self.gold[target.name], dtype=object)
            if target.kind == "text":
                return None
            keys = (
                np.array([target.labels.index(cell) if cell in target.labels else -1 for cell in gold])
                if target.kind == "label"
                else to_numbers(gold)
            )
            made[target.name] = _placed(gold[np.argsort(keys, kind="stable")], order)
        return made

    def csv(self, table: Columns) -> bytes:
        """A submission file."""
        return to_csv(table, self.subject.schema.columns)

    def score(self, content: bytes, part: Part) -> Grade:
        """What the grader says.

        Raises:
            Unavailable: The machine failed, and not the pack.
        """
        grade = self.grader.grade(content, part)
        if grade.status.fault is Fault.INFRASTRUCTURE:
            raise Unavailable(f"The metric could not be run: {grade.message}")
        return grade

    def score_artifact(self, submission: Artifact) -> Grade:
        """What the grader says of what a program wrote, on the validation part."""
        return self.grader.grade(submission, Part.VALIDATION)

    @cached_property
    def _kept(self) -> dict[tuple[str, Part], Grade]:
        return {}

    def grade(self, name: str, part: Part) -> Grade:
        """The grade of ``sample``, ``gold``, ``noisy gold``, ``constant``, ``permuted sample`` or ``permuted gold``."""
        if (name, part) not in self._kept:
            self._kept[name, part] = self.score(self._contents[name](), part)
        return self._kept[name, part]

    @cached_property
    def _contents(self) -> dict[str, Callable[[], bytes]]:
        return {
            "sample": lambda: self.csv(self.sample),
            "gold": lambda: self.csv(self.gold),
            "noisy gold": lambda: self.csv(self.mixed()),
            "constant": lambda: self.csv(self.constant()),
            "permuted sample": lambda: self.csv(self.permuted(self.sample)),
            "permuted gold": lambda: self.csv(self.permuted(self.gold)),
        }


def to_csv(table: Columns, names: tuple[str, ...]) -> bytes:
    """A CSV file with everything quoted, so that a lone carriage return inside a text cannot end its row."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(table[name] for name in names), strict=True))
    return text.getvalue().encode("utf-8", "surrogatepass")


def _read(path: Path, names: tuple[str, ...]) -> Columns:
    try:
        return _parse(read_bytes(path, max_bytes=MAX_TASK_BYTES), "the sample submission", names)
    except Refused as refused:
        raise Unavailable(f"The sample submission cannot be read: {refused}") from refused


def _parse(content: bytes, what: str, names: tuple[str, ...]) -> Columns:
    try:
        table = read_table(content)
    except Refused as refused:
        raise Unavailable(f"What is made of {what} cannot be read: {refused.problem.code}.") from refused
    if missing := [name for name in names if name not in table.columns]:
        raise Unavailable(f"The columns of {what} lack {missing[0]!r}.")
    return {name: table.columns[name] for name in names}


def _placed(cells: Array, order: Array) -> list[str]:
    """Cells in their order, given to the rows in the order of the rows."""
    made = np.empty(len(cells), dtype=object)
    made[order] = cells
    return list(made)
