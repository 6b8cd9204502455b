"""What a forked child of this process must give up: it holds copies of every descriptor that keeps a box alive.

A box ends when the last copy of its owner's end is closed. Without this, a child that a driver forked during a run
would keep the box of a driver that was killed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import Protocol


class Abandonable(Protocol):
    """Something that belongs to the process that made it."""

    def abandon(self) -> None:
        """In a forked child: close the copies of its descriptors and forget, without ending what the parent runs."""
        ...


_open: weakref.WeakSet[Abandonable] = weakref.WeakSet()

no_fork = threading.RLock()
"""Held where descriptors exist that nothing registered here closes: no other thread forks meanwhile.

What starts by `subprocess.Popen` needs no care: it closes what it is not given, and waits for no lock.
"""


def abandon_in_forks(item: Abandonable) -> None:
    """Have ``item`` abandoned in every child that this process forks from now on."""
    with no_fork:
        _open.add(item)


def _abandon_all() -> None:
    for item in list(_open):
        with contextlib.suppress(Exception):  # the others are to be abandoned all the same
            item.abandon()
    no_fork.release()


os.register_at_fork(before=no_fork.acquire, after_in_parent=no_fork.release, after_in_child=_abandon_all)
