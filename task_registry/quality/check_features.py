"""Whether one public column, or something as simple, gives the target away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openmle_env.task_registry.quality import features
from openmle_env.task_registry.quality.checks import bad, check, good, skip
from openmle_env.task_registry.quality.features import Feature, skill
from openmle_env.task_registry.quality.side_files import sizes_by_row
from openmle_env.task_registry.quality.subject import SAMPLE_NAME, TEST, TRAIN
from openmle_env.task_registry.quality.target import MIN_ROWS, to_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.subject import Subject
    from openmle_env.task_registry.quality.target import Target

MAX_COLUMNS = 150
"""Of more columns as many are tried, evenly chosen."""
GIVES_AWAY, SUSPICIOUS = 0.97, 0.92
"""Shares of what there is to know about classes; see `features`."""
NUMBER_GIVES_AWAY, NUMBER_SUSPICIOUS = 0.995, 0.98
"""R² for numbers."""
EXACT = 0.99999
"""R² of a linear rule that is no model but how the target was made."""


@check("one_feature", group="leaks", severity="high", source="processed_csv_evidence")
def one_feature(subject: Subject) -> Iterator[Found]:
    """No single public column predicts the target almost perfectly, nor whether its cell is empty, nor its length.

    A column that was known only after the outcome, or was made from it, makes the task a look-up.
    """
    targets = _tried(subject)
    if not targets:
        yield skip(f"No target with at least {MIN_ROWS} rows is a class or a number.")
        return
    best: tuple[float, str] = (0.0, "nothing")
    tried = list(_columns(subject))
    for feature in tried:
        for target in targets:
            share = skill(feature, target)
            best = max(best, (share, feature.name))
            yield from _judge(share, feature.name, target)
    yield good(f"{len(tried):,} features were tried. The best one is {best[1]}, with a skill of {best[0]:.3f}.")


@check("row_order", group="leaks", severity="high", source="processed_csv_evidence")
def row_order(subject: Subject) -> Iterator[Found]:
    """Neither the order of the rows that are predicted nor their ids follow the target.

    Sorted by class, or numbered by value, a table gives its answers away to whoever counts.
    """
    targets = _tried(subject)
    if not targets:
        yield skip(f"No target with at least {MIN_ROWS} rows is a class or a number.")
        return
    rows = subject.test_rows
    orders = {f"the order of rows in {SAMPLE_NAME}": rows.positions.astype(np.float64)}
    if TEST in subject.public_files and subject.id_name in subject.table(TEST).names:
        test = subject.table(TEST)
        here, there = rows.rows_in(subject.keys(test))
        if len(here) == len(rows.keys):
            orders[f"the order of rows in {TEST}"] = test.positions[there].astype(np.float64)
    numbers = to_numbers(rows.keys)
    if np.isfinite(numbers).all():
        orders[f"the id {subject.id_name}"] = numbers
    over_time = "time" in subject.pack.config.modality or "forecast" in subject.pack.config.task_type
    for name, values in orders.items():
        for target in targets:
            share = skill(Feature(name, values, None, monotone=True), target)
            if share >= (GIVES_AWAY if target.kind == "classes" else NUMBER_SUSPICIOUS):
                yield bad(
                    f"{target.name!r} follows {name}: shuffle the rows by a hash.",
                    f"{share:.3f} of 1",
                    "medium" if over_time else "high",
                )
                break


@check("linear_rule", group="leaks", severity="high", source="processed_csv_evidence")
def linear_rule(subject: Subject) -> Iterator[Found]:
    """No numeric target is an exact sum of public columns.

    Parts of a total, such as casual and registered riders, tell the total.
    """
    numeric = [target for target in _tried(subject) if target.kind == "numbers"]
    if not numeric:
        yield skip(f"No target with at least {MIN_ROWS} rows is a number.")
        return
    columns = [one for one in _columns(subject) if one.test.dtype == np.float64 and np.isfinite(one.test).all()]
    table = np.array([one.test for one in columns]).T if columns else np.empty((0, 0))
    for target in numeric:
        known = np.isfinite(target.codes)
        rows = int(known.sum())
        if not columns or rows < 3 * (len(columns) + 1):
            yield skip("There are too few rows for so many columns.")
            continue
        usable = np.clip(table[known], -1e12, 1e12)
        spread = usable.std(axis=0)
        design = np.column_stack([(usable[:, spread > 0] - usable[:, spread > 0].mean(axis=0)) / spread[spread > 0]])
        truth = target.codes[known]
        half = np.arange(rows) % 2 == 0
        centred = np.column_stack([design, np.ones(rows)])
        weights, *_ = np.linalg.lstsq(centred[half], truth[half], rcond=None)
        left = float(np.square(truth[~half] - centred[~half] @ weights).sum())
        total = float(np.square(truth[~half] - truth[~half].mean()).sum())
        if total > 0 and 1 - left / total >= EXACT:
            names = ", ".join(one.name for one in columns[:10])
            yield bad(f"{target.name!r} is a weighted sum of public columns: {names}.", f"R² {1 - left / total:.6f}")


def _tried(subject: Subject) -> list[Target]:
    return [one for one in subject.targets if one.kind != "texts" and len(one.texts) >= MIN_ROWS]


def _judge(share: float, name: str, target: Target) -> Iterator[Found]:
    classes = target.kind == "classes"
    surely, perhaps = (GIVES_AWAY, SUSPICIOUS) if classes else (NUMBER_GIVES_AWAY, NUMBER_SUSPICIOUS)
    if share < perhaps:
        return
    measure = "of what there is to know" if classes else "R²"
    yield bad(
        f"{name} alone predicts {target.name!r} {'almost perfectly' if share >= surely else 'very well'}. Leave it "
        "out, or say in 'accepted' why it is known before the outcome.",
        f"{share:.4f} {measure}",
        None if share >= surely else "medium",
    )


def _columns(subject: Subject) -> Iterator[Feature]:
    """Every column of `test.csv` for the rows that are predicted, and of `train.csv` where it has it, as features."""
    rows = subject.test_rows
    sizes = sizes_by_row(subject)
    if sizes is not None:
        yield Feature("the size of its file", sizes, None)
    if TEST not in subject.public_files:
        return
    test = subject.table(TEST)
    if subject.id_name not in test.names:
        return
    here, there = rows.rows_in(subject.keys(test))
    if len(here) < len(rows.keys):
        return
    train = subject.table(TRAIN) if TRAIN in subject.public_files else None
    aligned = train is not None and all(name in train.names for name in subject.truth_names)
    skipped = {target.name for target in subject.schema.targets} | set(subject.truth_names)
    names = [name for name in test.names if name not in skipped]
    chosen = [names[int(i)] for i in np.linspace(0, len(names) - 1, min(len(names), MAX_COLUMNS))]
    for name in chosen:
        learnt = _stripped(train.cells[name]) if aligned and train is not None and name in train.names else None
        yield from features.of_column(name, _stripped(test.cells[name][there]), learnt)


def _stripped(cells: Array) -> Array:
    return np.array([cell.strip() for cell in cells], dtype=object)
