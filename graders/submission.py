"""Reading and checking a table: the same code for validator, grader, agents' tools, task packs and leaderboards.

A report is made from the file and the public specification only, and no valid prediction changes what it says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.graders.loading import problems as tell
from openmle_env.graders.loading.batches import MAX_HINTS, Alignment, Collection, Plan, Wrong
from openmle_env.graders.loading.cells import check_schema
from openmle_env.graders.loading.id_index import IdIndex, repeated
from openmle_env.graders.loading.reading import read_again, read_columns
from openmle_env.graders.loading.source import MAX_BYTES, Refused, open_source
from openmle_env.graders.loading.table import TextReader
from openmle_env.graders.rows import Rows
from openmle_env.types import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from openmle_env.graders.rows import Array
    from openmle_env.types import Artifact, SubmissionSchema


@dataclass(frozen=True, slots=True)
class _Verdict:
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    @property
    def message(self) -> str:
        """All problems in one text for people, one a line."""
        return "\n".join(problem.message for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Report(_Verdict):
    """What the form of a submission is like; says nothing of how good it is."""

    predictions: Rows | None
    """The target columns in the order of the expected ids, where the submission is valid."""


@dataclass(frozen=True, slots=True)
class Loaded(_Verdict):
    """A table that was read by a schema."""

    rows: Rows | None
    """All columns of the schema in the order of the file, where there is no problem."""


def check(
    source: Artifact | Path | bytes,
    schema: SubmissionSchema,
    expected_ids: IdIndex | Iterable[str],
) -> Report:
    """Read a submission and check it against the schema and the ids that the task asks for.

    Never raises for what a submission holds.

    Args:
        source: What a program wrote.
        schema: Its columns.
        expected_ids: The ids, or, faster where several submissions are checked, the index of them.

    Raises:
        PackError: The schema or the expected ids are themselves wrong.
    """
    check_schema(schema)
    index = expected_ids if isinstance(expected_ids, IdIndex) else IdIndex.build(expected_ids, schema.id)
    warnings: tuple[str, ...] = ()
    try:
        with open_source(source) as opened:
            reader = TextReader(opened)
            warnings = tell.extra_columns(reader.names, schema)
            problems = tell.wrong_columns(reader.names, schema)
            if problems:  # before the rows are read: they cannot help any more
                return Report(tuple(problems), warnings, None)
            plan = Plan(schema.id, schema.targets, index.as_text, index.id_bytes)
            alignment, more = read_columns(
                opened, reader, plan, lambda: Alignment(index, schema.targets), max_rows=2 * len(index) + 1_000
            )
    except Refused as refused:
        return Report((refused.problem,), (), None)
    warnings = (*more, *warnings)
    findings = alignment.findings
    if not findings.rows:
        return Report((_header_only(f"each of the {len(index):,} ids"),), warnings, None)
    # As many rows as ids, and each id with its values: so each has one row.
    in_full = findings.rows == len(index) and alignment.is_full()
    problems = [] if in_full else tell.id_problems(findings, _wrong_ids(index, alignment), schema.id)
    problems += tell.value_problems(schema.targets, findings)
    if problems:
        return Report(tell.bounded(problems), warnings, None)
    targets = {target.name: target for target in schema.targets}
    return Report((), warnings, Rows(schema.id, index.ids, targets, dict(zip(targets, alignment.values, strict=True))))


def load(source: Artifact | Path | bytes, schema: SubmissionSchema, *, max_bytes: int = MAX_BYTES) -> Loaded:
    """Read a table by a schema, by the same rules as `check`, where there are no ids to compare it with.

    Never raises for what the table holds.

    Args:
        source: A path, or what was read already.
        schema: The columns that are read; others are ignored, with a warning.
        max_bytes: The largest file that is read from a path.

    Raises:
        PackError: The schema is itself wrong.
    """
    check_schema(schema)
    warnings: tuple[str, ...] = ()
    try:
        with open_source(source, max_bytes=max_bytes) as opened:
            reader = TextReader(opened)
            warnings = tell.extra_columns(reader.names, schema)
            problems = tell.wrong_columns(reader.names, schema)
            if problems:
                return Loaded(tuple(problems), warnings, None)
            plan = Plan(schema.id, schema.targets, as_text=False)
            found, more = read_columns(opened, reader, plan, Collection)
            if found.huge_ids:
                reader = read_again(opened, reader)
                found, more = read_columns(opened, reader, replace(plan, as_text=True), Collection)
    except Refused as refused:
        return Loaded((refused.problem,), (), None)
    warnings = (*more, *warnings)
    findings = found.findings
    if not findings.rows:
        return Loaded((_header_only("each id"),), warnings, None)
    ids = np.concatenate(found.ids)
    duplicates = Wrong()
    if not findings.blank_ids and not findings.malformed_ids.count:
        twice = repeated(ids)
        duplicates = Wrong.of([str(key) for key in ids[twice[:MAX_HINTS]]], len(twice))
    problems = tell.id_problems(findings, tell.WrongIds(0, Wrong(), Wrong(), duplicates), schema.id)
    problems += tell.value_problems(schema.targets, findings)
    if problems:
        return Loaded(tell.bounded(problems), warnings, None)
    values = {
        target.name: np.concatenate(arrays)
        for target, arrays in zip(schema.targets, zip(*found.values, strict=True), strict=True)
    }
    return Loaded((), warnings, Rows(schema.id, ids, {target.name: target for target in schema.targets}, values))


def _header_only(what: str) -> Problem:
    return Problem(code="header_only", message=f"The file has a header and no rows. Write one row for {what}.")


def _wrong_ids(index: IdIndex, alignment: Alignment) -> tell.WrongIds:
    places = np.concatenate(alignment.places)
    places = places[places >= 0]
    seen = np.zeros(len(index), bool)
    seen[places] = True
    absent = np.flatnonzero(~seen)
    absent = absent[np.argsort(index.ids[absent])]  # not in the order of the answers, which may tell of them
    missing = Wrong.of(_texts(index, absent[:MAX_HINTS]), len(absent))
    duplicates = Wrong()
    if len(places) > len(index) - len(absent):
        again = np.ones(len(places), bool)
        again[np.unique(places, return_index=True)[1]] = False
        twice, first = np.unique(places[again], return_index=True)
        twice = twice[np.argsort(first)]  # in the order in which they come again
        duplicates = Wrong.of(_texts(index, twice[:MAX_HINTS]), len(twice))
    return tell.WrongIds(len(index), missing, alignment.unknown, duplicates)


def _texts(index: IdIndex, places: Array) -> list[str]:
    return [str(key) for key in index.ids[places].tolist()]
