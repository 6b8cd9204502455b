"""Whether every table can be read, and whether the three tables of a task speak of the same rows."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from openmle_env.task_registry.quality.checks import Unavailable, bad, check, good, skip
from openmle_env.task_registry.quality.subject import SAMPLE_NAME, TEST, TRAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.scan import Scan
    from openmle_env.task_registry.quality.subject import Subject

MAX_NAMED = 5
"""As many ids or names are quoted."""


@check("tables", group="tables", severity="high", source="processed_csv_evidence", acceptable=False)
def tables(subject: Subject) -> Iterator[Found]:
    """Every CSV file has a header, rows, no column twice, and as many fields in each row.

    Libraries read a broken table in different ways, some of them without a word.
    """
    scans = [subject.table(name) for name in subject.table_names]
    for table in [*scans, subject.answers]:
        hidden = table is subject.answers
        main = hidden or table.name.removeprefix("public/") in {TRAIN, TEST, SAMPLE_NAME}
        if table.problem is not None:
            problem = table.problem
            detail = f": {problem.code.replace('_', ' ')}" if hidden else f": {problem.message}"
            yield bad(f"{table.name} is no sound table{detail}", severity="high" if main else "medium")
        elif not table.rows:
            yield bad(f"{table.name} has a header and no rows.", severity="high" if main else "medium")
    yield good(f"Read: {'; '.join(table.sample_words for table in scans)}.")


@check("row_counts", group="tables", severity="high", source="processed_csv_evidence", acceptable=False)
def row_counts(subject: Subject) -> Iterator[Found]:
    """Sample submission, answers and, where it has one row for each id, `test.csv` have as many rows.

    Rows that are asked for and not given, or given and not asked for, make every submission wrong.
    """
    sample, answers = _whole(subject.table(SAMPLE_NAME)), _whole(subject.answers)
    if sample.rows != answers.rows:
        yield bad(f"The sample submission has {sample.rows:,} rows, and the answers have {answers.rows:,}.")
    if TEST in subject.public_files:
        test = _whole(subject.table(TEST))
        if test.rows != answers.rows and _one_row_for_each(subject, test):
            yield bad(f"public/{TEST} has {test.rows:,} rows, and the answers have {answers.rows:,}.")
    yield good(f"{answers.rows:,} rows are to be predicted.")


@check("ids", group="tables", severity="high", source="processed_csv_evidence", acceptable=False)
def ids(subject: Subject) -> Iterator[Found]:
    """Sample submission and `test.csv` name the ids of the answers, each once.

    A program writes what these files ask for; other ids make its submission invalid.
    """
    answers = set(subject.keys(_whole(subject.answers)))
    sample = _whole(subject.table(SAMPLE_NAME))
    yield from _same_ids(sample, subject.keys(sample), answers, complete=not sample.sampled)
    twice = _repeated(subject.keys(sample))
    if twice:
        yield bad(f"{sample.name} has ids more than once: {_some(twice)}.")
    if TEST not in subject.public_files:
        yield skip(f"There is no public/{TEST}.")
        return
    test = _whole(subject.table(TEST))
    if subject.id_name not in test.names:
        yield bad(
            f"{test.name} has no column {subject.id_name!r}, so that nobody can tell which row a prediction is for.",
            f"its columns: {', '.join(test.names[:20])}",
            "low",
        )
        return
    keys = subject.keys(test)
    yield from _same_ids(test, keys, answers, complete=not test.sampled)
    twice = _repeated(keys)
    if twice:
        yield bad(
            f"{test.name} has {len(twice):,} ids more than once: {_some(twice)}. Say so in the description, if several "
            "rows belong to one prediction.",
            severity="low",
        )


@check("id_order", group="tables", severity="medium", source="processed_csv_evidence")
def id_order(subject: Subject) -> Iterator[Found]:
    """Sample submission and `test.csv` have the ids in the same order.

    Programs that put their predictions beside the sample's ids are wrong in every row otherwise, and nobody tells them.
    """
    if TEST not in subject.public_files:
        yield skip(f"There is no public/{TEST}.")
        return
    sample, test = subject.table(SAMPLE_NAME), subject.table(TEST)
    in_sample = list(dict.fromkeys(subject.keys(sample)))
    in_test = list(dict.fromkeys(subject.keys(test)))
    digests = [
        hashlib.sha256("\n".join(one).encode("utf-8", "surrogatepass")).hexdigest() for one in (in_sample, in_test)
    ]
    if set(in_sample) == set(in_test) and digests[0] != digests[1]:
        evidence = f"SHA-256 over the ids in order: {digests[0][:16]} and {digests[1][:16]}"
        yield bad(f"{sample.name} and {test.name} have the same ids in another order. Write both in one.", evidence)


def _digest(ids: list[str]) -> str:
    return hashlib.sha256("\n".join(ids).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _whole(table: Scan) -> Scan:
    if table.problem is not None or not table.names:
        raise Unavailable(f"{table.name} is no sound table.")
    if not table.complete:
        raise Unavailable(f"{table.name} is too large to be read whole.")
    return table


def _one_row_for_each(subject: Subject, test: Scan) -> bool:
    """Whether a table's rows and predictions are the same things, as far as its ids tell."""
    if subject.id_name not in test.names:
        return False
    return not _repeated(subject.keys(test))


def _same_ids(table: Scan, keys: Array, answers: set[str], *, complete: bool) -> Iterator[Found]:
    found = set(keys)
    if not found & answers:
        yield bad(f"{table.name} and the answers share no id.")
        return
    extra = sorted(found - answers)
    if extra and complete:
        yield bad(f"{table.name} has {len(extra):,} ids that the answers lack: {_some(extra)}.")
    missing = len(answers - found)
    if missing and complete:
        yield bad(f"{table.name} lacks {missing:,} ids of the answers.")


def _repeated(keys: Array) -> list[str]:
    return sorted(key for key, count in Counter(keys).items() if count > 1)


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:MAX_NAMED])) + (" and more" if len(names) > MAX_NAMED else "")
