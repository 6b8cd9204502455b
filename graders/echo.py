"""Showing values of a stranger's file in a message: bounded, and without control characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_SHOWN = 60
"""Characters of one value that a message repeats."""

MAX_EXAMPLES = 5
"""Values that a message repeats before it only counts."""


def show(value: str) -> str:
    r"""Quote ``value`` for a message: control characters and terminal escapes are spelled out, length is bounded.

    >>> print(show("\x1b[31mred"))
    '\x1b[31mred'
    >>> len(show("x" * 1_000_000)) < 100
    True
    """
    quoted = repr(value[:MAX_SHOWN])
    if len(value) <= MAX_SHOWN and len(quoted) <= MAX_SHOWN + 2:
        return quoted
    return f"{quoted[:MAX_SHOWN]}... ({len(value):,} characters)"


def show_some(values: Iterable[str], count: int) -> str:
    """Quote the first few of ``count`` values, saying how many are left out.

    >>> show_some(["a", "b"], 7)
    "'a', 'b' and 5 more"
    """
    first = [show(value) for value, _ in zip(values, range(MAX_EXAMPLES), strict=False)]
    rest = f" and {count - len(first):,} more" if count > len(first) else ""
    return ", ".join(first) + rest
