"""Reading the columns that are wanted of a file: fast where it is plain, and exactly where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from openmle_env.graders.loading import plain_blocks
from openmle_env.graders.loading.batches import Batch, from_cells
from openmle_env.graders.loading.source import refuse
from openmle_env.graders.loading.table import TextReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.graders.loading.batches import Plan
    from openmle_env.graders.loading.source import Source

Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Read(Generic[Kept]):
    """What was read."""

    kept: list[Kept]
    """Of each batch, in the order of the file."""
    warnings: tuple[str, ...]
    """About the file as a whole."""


def read_columns(
    source: Source,
    reader: TextReader,
    plan: Plan,
    keep: Callable[[Batch], Kept],
    *,
    max_rows: int | None = None,
) -> Read[Kept]:
    """Convert the columns of a plan, batch by batch.

    Args:
        source: The file.
        reader: Has read its header, in which every column of the plan stands.
        plan: Which columns are converted, and how.
        keep: What is done with each batch; may be called from several threads, and again for rows it has seen.
        max_rows: The most rows.

    Raises:
        Refused: As for `read_table`.
    """
    if source.size >= plain_blocks.MIN_BYTES:
        source.rewind()
        kept = plain_blocks.read(source, reader.header, plan, keep, max_rows=max_rows)
        if kept is not None:
            return Read(kept, ())
        source.rewind()
        header = reader.header
        reader = TextReader(source)
        if reader.header != header:
            raise refuse("unreadable", "The file changed while it was read. Close it before it is checked.")
    places = {name: i for i, name in enumerate(dict.fromkeys(plan.names))}
    exact = [
        keep(from_cells(plan, [cells[places[name]] for name in plan.names]))
        for cells in reader.batches(tuple(places), max_rows=max_rows)
        if cells[0]
    ]
    return Read(exact, reader.warnings)
