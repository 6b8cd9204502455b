"""How much of the raw data the task uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.task_registry.quality.checks import bad, check, good, skip
from openmle_env.task_registry.quality.raw import script, unused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.subject import Subject

LITTLE = 0.5
"""Share of the labelled raw rows below which the author should say why."""


@check("raw_rows_used", group="raw data", severity="medium", source="raw_usage_evidence")
def raw_rows_used(subject: Subject) -> Iterator[Found]:
    """Most labelled raw rows are in the task, and none was made up.

    Data that is thrown away makes a task harder than it has to be; data that multiplies was copied or invented.
    """
    used = subject.usage
    if used.labelled_share is None:
        yield skip("No raw table has a column of the target's name, so that rows cannot be compared.")
        return
    evidence = (
        f"{used.labelled_raw_rows:,} labelled raw rows; {used.train_rows:,} in train.csv and {used.test_rows:,} hidden"
    )
    if used.labelled_share < LITTLE:
        yield bad(f"Only {used.labelled_share:.0%} of the labelled raw rows are used. Use more, or say why.", evidence)
    elif used.labelled_share > 1:
        yield bad("There are more rows than the raw data has.", evidence)
    else:
        yield good(f"{used.labelled_share:.0%} of the labelled raw rows are used.", evidence)


@check("raw_files_used", group="raw data", severity="low", source="raw_inventory")
def raw_files_used(subject: Subject) -> Iterator[Found]:
    """The script reads every raw file that the pack carries.

    A file that nobody reads is a mistake, or ballast.
    """
    if not script(subject.pack):
        yield skip("The pack has no script.")
    elif left := unused(subject.pack):
        yield bad(f"The script names {len(left):,} raw files nowhere: {', '.join(left[:5])}.")
