"""How commands speak: results on stdout (a table or one JSON document), everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmle_env.errors import UsageError
from openmle_env.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import Console

DONE, FAILED, WRONG_USE, INFRASTRUCTURE, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: done; the thing failed; wrong use; the machine failed; Ctrl-C."""

SIGN_OF_LIFE_SECONDS = 10.0
"""How long nothing may be said while something runs and no bar is shown."""

_NARROW = 6
"""Characters that a column keeps as long as another has more."""
_UNBOUNDED = 10_000
"""Columns of what is no terminal."""
_BETWEEN = "   "
"""What stands between two columns of a table."""

AsJson = Annotated[
    bool, typer.Option("--json", metavar="", help="Print one JSON document on stdout, and nothing else there.")
]


def emit(document: Mapping[str, object] | Sequence[object]) -> None:
    """Print one JSON document on stdout; NaN and infinity are refused, since JSON has none.

    Everything but ASCII is escaped: a program's output may hold characters that steer a terminal.
    """
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n")
    sys.stdout.flush()


def console(*, stderr: bool = False) -> Console:
    """A rich console that takes no text for markup, so that file names and messages are printed as they are."""
    from rich.console import Console  # 30 ms that `openmle --version` does not need

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich's own way would take the other stream's output along

    return Plain(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


def say(message: str) -> None:
    """Text for a person, on stderr."""
    console(stderr=True).print(printable(message))


def tell(message: str) -> None:
    """A result for a person, on stdout."""
    console().print(printable(message))


def need_folder_for(output: Path | None) -> None:
    """Notice before the work that a file could not be written.

    Raises:
        UsageError: Its folder is not there.
    """
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(
            f"There is no folder {str(output.absolute().parent)!r} to write {output.name!r} into. Make it."
        )


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table on stdout; the columns named in ``right`` are aligned to the right."""
    from rich import box  # see console
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=Text(printable(title)) if title else None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False
    )
    shown = console()
    if not shown.is_terminal and "COLUMNS" not in os.environ:
        shown.width = _UNBOUNDED  # whoever reads a pipe or a file wants a row in one line
    cells = [[printable(cell) for cell in row] for row in rows]
    for name, width in zip(columns, _widths([columns, *cells], shown.width), strict=True):
        made.add_column(name, justify="right" if name in right else "left", overflow="fold", width=width)
    for row in cells:
        made.add_row(*(Text(cell) for cell in row))
    shown.print(made)


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Widths of columns side by side: as much as they need, else no word is broken as long as that fits.

    So names can be copied from a table that is narrower than its text.
    """
    columns = [[cell for cell in column if cell] for column in zip(*rows, strict=True)]
    most = [max((len(line) for cell in column for line in cell.splitlines()), default=0) for column in columns]
    widths = [max((len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    room -= len(_BETWEEN) * (len(columns) - 1) + 2
    while sum(widths) > max(room, len(widths)):
        # The first column names the row: it is cut only where the others have nothing left to give.
        rest = [place for place in range(1, len(widths)) if widths[place] > _NARROW] or range(len(widths))
        widths[max(rest, key=lambda place: widths[place])] -= 1
    while sum(widths) < min(room, sum(most)):  # the next one to whoever wraps the most
        wanting = [place for place in range(len(widths)) if widths[place] < most[place]]
        widths[max(wanting, key=lambda place: most[place] / max(1, widths[place]))] += 1
    return [max(1, width) for width in widths]


@contextlib.contextmanager
def progress(label: str) -> Iterator[Callable[[str, float], None]]:
    """Show a bar on stderr; yields ``report(text, share)`` with ``share`` from 0 to 1.

    Where stderr is no terminal, each new text is a line instead, and the last one comes again while nothing is new.
    """
    shown = console(stderr=True)
    if not shown.is_terminal:
        with _lines(label, shown) as line:
            yield line
        return

    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # see console

    columns = (
        TextColumn("{task.fields[label]}", markup=False),
        BarColumn(bar_width=16),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=shown, transient=True) as bar:
        task = bar.add_task("", total=1.0, label=label)
        yield lambda text, share: bar.update(task, description=printable(text), completed=share)


@contextlib.contextmanager
def _lines(label: str, shown: Console) -> Iterator[Callable[[str, float], None]]:
    last, started, news, over = "", time.monotonic(), threading.Event(), threading.Event()

    def write(text: str) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more; the result is another stream's
            shown.print(printable(text))

    def line(text: str, share: float) -> None:
        nonlocal last
        if text != last:
            last = text
            news.set()
            write(f"{label}: {text} ({share:.0%})")

    def repeat() -> None:
        while not over.is_set():
            if not news.wait(SIGN_OF_LIFE_SECONDS):
                waited = time.monotonic() - started
                write(f"{label}: {last or 'starting'}, still at it after {waited:.0f} s")
            elif not over.is_set():
                news.clear()

    repeating = threading.Thread(target=repeat, name="openmle-progress", daemon=True)
    repeating.start()
    try:
        yield line
    finally:
        over.set()
        news.set()
        repeating.join()


def near(path: Path) -> str:
    """A path for people: relative to the current folder where it lies below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):  # it lies elsewhere, or the current folder is gone
        return str(path)


def unwritable(folder: Path) -> str:
    """Why nothing can be written in a folder that need not exist yet; empty where nothing speaks against it."""
    for place in (folder, *folder.parents):
        if os.path.lexists(place):
            if not place.is_dir():
                return f"{place} is not a folder"
            return "" if os.access(place, os.W_OK | os.X_OK) else f"{place} may not be written by this user"
    return ""


def short_id(kind: str, name: str) -> str:
    """What a table says for a leftover: a number as short as Docker writes it, any other name whole."""
    return name.removeprefix("sha256:")[:12] if kind == "container" or name.startswith("sha256:") else name


def metric_name(name: str) -> str:
    """A metric as people call it."""
    return "its own metric" if name == "pack" else name


def number(value: float | None) -> str:
    """A score for a table: four decimals, or four figures where those would say little; a dash where there is none."""
    if value is None:
        return "-"
    plain = value == 0 or 0.001 <= abs(value) < 1e6
    return f"{value:.4f}" if plain else f"{value:.4g}"
