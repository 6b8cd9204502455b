"""Settings from the environment: where things are kept and which sandbox is used.

Nothing here creates a folder or touches the network; the code that writes makes what it needs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from openmle_env.errors import unknown_name

PREFIX = "OPENMLE_"
NAMES = ("home", "runs", "sandbox", "image")


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
    """Image that the Docker backend runs; empty for the one of this environment, named by what it is made of."""


def load() -> Settings:
    """Read the settings from the environment. What else starts with ``OPENMLE_`` is left alone: see `unknown`."""
    values = {name: value for name in NAMES if (value := os.environ.get(PREFIX + name.upper()))}
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Settings(
        home=Path(values.get("home", cache / "openmle_env")).expanduser().absolute(),
        runs=Path(values.get("runs", "openmle_runs")).expanduser().absolute(),
        sandbox=values.get("sandbox", "auto"),
        image=values.get("image", ""),
    )


def unknown() -> list[str]:
    """One sentence for each variable that starts with ``OPENMLE_`` and is not a setting: it may be a misspelt one."""
    known = {PREFIX + name.upper() for name in NAMES}
    strangers = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    return [
        f"{unknown_name('setting', name, known)} The variable is ignored: correct its name, or unset it."
        for name in strangers
    ]
