"""Whether rows that are predicted stand among the training rows, with their answers."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from openmle_env.task_registry import files
from openmle_env.task_registry.quality.checks import Unavailable, bad, check, good, skip
from openmle_env.task_registry.quality.subject import TEST, TRAIN
from openmle_env.task_registry.quality.target import MIN_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.subject import Subject

MANY, SOME = 0.2, 0.02
"""Shares of rows with a copy that has their answer: the first refuses the pack, the second is worth a look."""
UNIQUE = 0.8
"""Where fewer training rows differ from all others, rows repeat by their nature."""
MIN_COLUMNS = 2
"""What has fewer columns repeats by its nature: a name, a word."""
MIN_COPIES = 3
MAX_HASHED = 2_000
"""As many side files of each side are compared."""
_NUMBER = re.compile(r"-?\d+\.\d+|-?\d+")


@check("duplicate_rows", group="leaks", severity="high", source="processed_csv_evidence")
def duplicate_rows(subject: Subject) -> Iterator[Found]:
    """Few rows that are predicted have a copy among the training rows that has their answer.

    Whoever looks them up beats whoever learns.
    """
    yield from _look(subject, lambda cell: cell, "the same")


@check("near_duplicates", group="leaks", severity="medium", source="processed_csv_evidence")
def near_duplicates(subject: Subject) -> Iterator[Found]:
    """Few rows that are predicted have a near copy among the training rows: but for case, marks, and last digits.

    Split groups and versions of one thing together, or the score says how much was seen before.
    """
    yield from _look(subject, _rough, "nearly the same", exact_too=False)


@check("duplicate_files", group="leaks", severity="medium", source="processed_csv_evidence")
def duplicate_files(subject: Subject) -> Iterator[Found]:
    """Files of rows that are predicted have no copy among the other public files.

    The same picture under a name of the training side has its answer in the table.
    """
    owned = {name for names in subject.owned_files.values() for name in names}
    if len(owned) < MIN_ROWS:
        yield skip("The rows that are predicted have no files of their own.")
        return
    others = [name for name in subject.public_files if name not in owned]
    sizes = Counter(subject.public_files[name].stat().st_size for name in others)
    chosen = sorted(owned)[:: max(1, len(owned) // MAX_HASHED)]
    suspects = [name for name in chosen if sizes[subject.public_files[name].stat().st_size]]
    wanted = {subject.public_files[name].stat().st_size for name in suspects}
    known = {
        files.sha256(subject.public_files[name])
        for name in others
        if subject.public_files[name].stat().st_size in wanted
    }
    copies = [name for name in suspects if files.sha256(subject.public_files[name]) in known]
    if len(copies) > SOME * len(chosen):
        yield bad(
            f"{len(copies):,} of {len(chosen):,} files of rows that are predicted are copies of other public files.",
            ", ".join(copies[:5]),
        )
    yield good(f"{len(chosen):,} files were compared.")


def _look(subject: Subject, spell: Callable[[str], str], how: str, *, exact_too: bool = True) -> Iterator[Found]:
    test_rows, train_rows, names = _features(subject)
    train_keys, test_keys = _joined(train_rows, spell), _joined(test_rows, spell)
    right: dict[str, set[tuple[str, ...]]] = {}
    train = subject.table(TRAIN)
    answers = zip(*([cell.strip() for cell in train.cells[name]] for name in subject.truth_names), strict=True)
    for key, answer in zip(train_keys, answers, strict=True):
        right.setdefault(key, set()).add(answer)
    truth = list(zip(*(subject.test_rows.truth[name] for name in subject.truth_names), strict=True))
    exact: set[int] = set()
    if not exact_too:
        same = set(_joined(train_rows, str))
        exact = {row for row, key in enumerate(_joined(test_rows, str)) if key in same}
    copied = [row for row, key in enumerate(test_keys) if key in right and row not in exact]
    told = sum(1 for row in copied if right[test_keys[row]] == {truth[row]})
    evidence = (
        f"{len(copied):,} of {len(truth):,} rows have a copy by {len(names)} columns; "
        f"for {told:,} all copies have the answer"
    )
    counts = Counter(train_keys)
    unique = sum(1 for key in train_keys if counts[key] == 1) / len(train_keys)
    share = told / len(truth)
    if share < SOME or told < MIN_COPIES:
        yield good(f"{evidence}.")
    elif len(names) < MIN_COLUMNS or unique < UNIQUE:
        yield good(
            f"{evidence}. Rows repeat by their nature: "
            f"{unique:.0%} of the training rows differ from all others, by {len(names)} columns."
        )
    else:
        yield bad(
            f"Rows that are predicted are {how} as training rows, which have their answers. Remove the copies, or keep "
            "them on one side.",
            evidence,
            "high" if share >= MANY and exact_too else "medium",
        )


def _features(subject: Subject) -> tuple[list[Array], list[Array], list[str]]:
    """The cells of the columns that both sides have, of the rows that are predicted and of the training rows.

    Raises:
        Unavailable: The two sides cannot be compared.
    """
    for name in (TRAIN, TEST):
        if name not in subject.public_files:
            raise Unavailable(f"There is no public/{name}.")
    train, test, rows = subject.table(TRAIN), subject.table(TEST), subject.test_rows
    if len(rows.keys) < MIN_ROWS or len(train.positions) < MIN_ROWS:
        raise Unavailable(f"There are fewer than {MIN_ROWS} rows.")
    if not subject.truth_names or any(name not in train.names for name in subject.truth_names):
        raise Unavailable(f"{train.name} does not hold the answers of its rows.")
    here, there = rows.rows_in(subject.keys(test))
    if len(here) < len(rows.keys):
        raise Unavailable(f"{test.name} does not hold every id.")
    left_out = {subject.id_name, *subject.truth_names, *(target.name for target in subject.schema.targets)}
    names = [name for name in test.names if name in train.names and name not in left_out]
    if not names:
        raise Unavailable("The two tables have no column in common but the id.")
    return [test.cells[name][there] for name in names], [train.cells[name] for name in names], names


def _joined(columns: list[Array], spell: Callable[[str], str]) -> list[str]:
    known: dict[str, str] = {}

    def spelt(cell: str) -> str:
        if cell not in known:
            known[cell] = spell(cell.strip())
        return known[cell]

    return ["\x1f".join(map(spelt, row)) for row in zip(*columns, strict=True)]


def _rough(cell: str) -> str:
    """A cell without case and marks, and its number with three figures.

    >>> _rough("Hello, World!"), _rough("12.3456"), _rough("1999")
    ('hello world', '12.3', '2e+03')
    """
    if _NUMBER.fullmatch(cell):
        return f"{float(cell):.3g}"
    return re.sub(r"[\W_]+", " ", cell.casefold()).strip() if cell else ""
