"""Reading the columns that are wanted of a file: fast where it is plain, and exactly where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from openmle_env.graders.loading import plain_blocks
from openmle_env.graders.loading.batches import Sink, from_cells
from openmle_env.graders.loading.source import refuse
from openmle_env.graders.loading.table import TextReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.graders.loading.batches import Plan
    from openmle_env.graders.loading.source import Source

AnySink = TypeVar("AnySink", bound=Sink[Any])


def read_columns(
    source: Source, reader: TextReader, plan: Plan, start: Callable[[], AnySink], *, max_rows: int | None = None
) -> tuple[AnySink, tuple[str, ...]]:
    """Convert the columns of a plan, batch by batch.

    Args:
        source: The file.
        reader: Has read its header, in which every column of the plan stands.
        plan: Which columns are converted, and how.
        start: Makes what takes the batches; called again where the file turns out not to be plain.
        max_rows: The most rows.

    Returns:
        What took the batches, and warnings about the file as a whole.

    Raises:
        Refused: As for `read_table`.
    """
    if source.size >= plain_blocks.MIN_BYTES:
        source.rewind()
        sink = start()
        if plain_blocks.read(source, reader.header, plan, sink, max_rows=max_rows):
            return sink, ()
        del sink  # it may be large
        reader = read_again(source, reader)
    sink = start()
    places = {name: i for i, name in enumerate(dict.fromkeys(plan.names))}
    for cells in reader.batches(tuple(places), max_rows=max_rows):
        if cells[0]:
            sink.add(sink.keep(from_cells(plan, [cells[places[name]] for name in plan.names])))
    return sink, reader.warnings


def read_again(source: Source, reader: TextReader) -> TextReader:
    """A reader of a file that was read already, at its first row once more.

    Raises:
        Refused: As for `read_table`, or the header is another one by now.
    """
    source.rewind()
    again = TextReader(source)
    if again.header != reader.header:
        raise refuse("unreadable", "The file changed while it was read. Close it before it is checked.")
    return again
