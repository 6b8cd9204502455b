"""What a forked child of this process must give up: it holds copies of every descriptor that keeps a box alive.

A box ends when the last copy of its owner's end is closed. Without this, a child that a driver forked during a run
would keep the box of a driver that was killed.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Abandonable(Protocol):
    """Something that belongs to the process that made it."""

    def abandon(self) -> None:
        """In a forked child: close the copies of its descriptors and forget, without ending what the parent runs."""
        ...


_open: weakref.WeakSet[Abandonable] = weakref.WeakSet()


def abandon_in_forks(item: Abandonable) -> None:
    """Have ``item`` abandoned in every child that this process forks from now on."""
    _open.add(item)


def _abandon_all() -> None:
    for item in list(_open):
        item.abandon()


os.register_at_fork(after_in_child=_abandon_all)
