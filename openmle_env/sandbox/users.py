"""Which users the processes of a box are: no other box's, as far as this machine has numbers for all of them.

The kernel counts some things for each user, over all boxes (queued signals, descriptors in flight, processes where no
cgroup counts them), so that a box could starve another one of the same user.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from openmle_env.sandbox.layout import USER

EACH = 16
"""Users of one box: its supervisor's and, where each of its programs gets its own, those."""
_BOXES_EACH = 256
"""Boxes that one process has at a time, at most: then the numbers are used again."""
_FIRST, _LAST = 0x70000000, 0x7FFE0000
"""Beyond the users that machines, domains and containers have; engines take no larger ones than 31 bits."""
_boxes = itertools.count()


def first_of_a_box(*, mapped: int | None = None) -> int:
    """The first of the `EACH` users of a new box: its supervisor, then those of programs that get one of their own.

    Args:
        mapped: How many users there are in all, from 0, where it is a namespace that has only some: an engine's.
    """
    first, last = (_FIRST, _LAST) if mapped is None else (USER, mapped - EACH)
    room = max(1, (last - first) // EACH)
    number = os.getpid() * _BOXES_EACH + next(_boxes) % _BOXES_EACH
    return first + number % room * EACH


def mapped_here() -> int | None:
    """How many users this process's own namespace has, from 0; None where it has all."""
    return _mapped(Path("/proc/self/uid_map").read_text(encoding="ascii"))


def _mapped(uid_map: str) -> int | None:
    r"""From the text of a ``uid_map``.

    >>> _mapped("         0          0 4294967295\n"), _mapped("0 100000 65536\n")
    (None, 65536)
    """
    for line in uid_map.splitlines():
        first, _, count = map(int, line.split())
        if first <= USER < first + count:
            return first + count if first + count <= _LAST else None
    return USER + 1
