"""Settings from the environment: where things are kept and which sandbox is used.

Nothing here creates a folder or touches the network; the code that writes makes what it needs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from openmle_env.errors import unknown_name

PREFIX = "OPENMLE_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One value for each environment variable ``OPENMLE_<NAME>``."""

    home: Path
    """Prepared tasks and run-time files; can be deleted at any time and is made again."""
    runs: Path
    """Where episodes and their programs are recorded."""
    sandbox: str
    """Name of a sandbox backend, or ``auto``."""
    image: str
    """Image that the Docker backend runs."""


def load() -> Settings:
    """Read the settings from the environment.

    Raises:
        UnknownNameError: A variable starts with ``OPENMLE_`` and is not a setting.
    """
    names = ("home", "runs", "sandbox", "image")
    known = {PREFIX + name.upper() for name in names}
    given = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    for name in given:
        if name not in known:
            raise unknown_name("setting", name, known, hint="Unset it, or correct its name.")
    values = {name: given[PREFIX + name.upper()] for name in names if given.get(PREFIX + name.upper())}
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Settings(
        home=Path(values.get("home", cache / "openmle_env")).expanduser().absolute(),
        runs=Path(values.get("runs", "openmle_runs")).expanduser().absolute(),
        sandbox=values.get("sandbox", "auto"),
        image=values.get("image", "openmle-env-sandbox:latest"),
    )
