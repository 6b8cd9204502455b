"""Refusing a job that no box could run, before anything is made for it."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openmle_env.errors import UsageError
from openmle_env.sandbox.channel import MAX_FILES, MAX_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openmle_env.types import Job


def check_job(job: Job) -> None:
    """Refuse a job that no box could run.

    Raises:
        UsageError: An input does not exist, or a path or variable is malformed.
    """
    for inside, source in job.inputs.items():
        parts = PurePosixPath(inside).parts
        if not _ABSOLUTE.fullmatch(inside) or ".." in parts or len(parts) < 2 or parts[1] in _TAKEN:
            raise UsageError(
                f"Input path {inside!r} is not possible: give one such as '/data', outside system folders."
            )
        if not source.exists():
            raise UsageError(f"Input {str(source)!r} for {inside!r} does not exist.")
    for name in job.collect:
        steps = name.removesuffix("/").split("/")
        if len(name) > MAX_NAME or "\0" in name or any(step in ("", ".", "..") for step in steps):
            raise UsageError(f"Cannot collect {name!r}: give a path below /output, such as 'models/' or 'a.csv'.")
    if len(job.collect) > MAX_FILES:
        raise UsageError(f"Cannot collect {len(job.collect)} names from one run: at most {MAX_FILES}.")
    for name, value in job.environment.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            raise UsageError(f"Environment variable {name!r} is malformed.")


def check_readable(sources: Iterable[Path]) -> None:
    """Refuse inputs that the box's user, another one than this process's, may not read.

    Looks at the first files of a folder, not at all of a tree, which may be large.

    Raises:
        UsageError: A folder or file lacks permissions for all.
    """
    for source in sources:
        try:
            closed = next((path for path in (source, *_first_in(source)) if not _readable_by_others(path)), None)
        except PermissionError:
            closed = source
        if closed is not None:
            raise UsageError(
                f"Programs run as another user, who may not read {str(closed)!r}. "
                f"Allow it: chmod -R a+rX {str(source)!r}"
            )


def _first_in(source: Path) -> list[Path]:
    if not source.is_dir():
        return []
    with os.scandir(source) as entries:
        return [Path(entry.path) for entry in islice(entries, 100)]


def _readable_by_others(path: Path) -> bool:
    if path.is_symlink() and not path.exists():
        return True  # it leads nowhere, here as inside
    needed = 0o005 if path.is_dir() else 0o004
    return path.stat().st_mode & needed == needed


_ABSOLUTE = re.compile(r"/[A-Za-z0-9._][A-Za-z0-9._/-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = frozenset(
    (
        "bin",
        "dev",
        "etc",
        "lib",
        "lib32",
        "lib64",
        "opt",
        "output",
        "proc",
        "root",
        "run",
        "sbin",
        "sys",
        "tmp",
        "usr",
        "work",
    )
)
