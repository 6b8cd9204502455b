"""Settings from the environment: where things are kept and which sandbox is used.

Nothing here creates a folder or touches the network; the code that writes makes what it needs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from openmle_env.errors import UsageError, unknown_name
from openmle_env.types import Warm

PREFIX = "OPENMLE_"
NAMES = ("home", "runs", "packs", "sandbox", "image", "warm", "runtime", "gpus", "gpu_sharing", "models")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One value for each environment variable ``OPENMLE_<NAME>``."""

    home: Path
    """Prepared tasks and run-time files; can be deleted at any time and is made again."""
    runs: Path
    """Where episodes and their programs are recorded."""
    packs: tuple[Path, ...]
    """Folders that hold task packs, in order."""
    sandbox: str
    """Name of a sandbox backend, or ``auto``."""
    image: str
    """Image that the Docker backend runs; empty for the one of this environment, named by what it is made of."""
    warm: Warm
    """Where programs run (see `openmle_env.types.Warm`)."""
    runtime: str
    """The Docker engine's runtime for boxes, such as ``runsc``; empty for its default."""
    gpus: str
    """The devices that programs may be given: ``all``, ``none``, or uuids with commas between them."""
    gpu_sharing: int
    """How many programs may have one device at the same time."""
    models: Path | None
    """File that says where models are and what they cost (see `openmle_env.policies.models_file`); None for none."""


def load() -> Settings:
    """Read the settings from the environment. What else starts with ``OPENMLE_`` is left alone: see `unknown`.

    Raises:
        UsageError: A folder cannot be told from its setting.
    """
    values = {name: value for name in NAMES if (value := os.environ.get(PREFIX + name.upper()))}
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return Settings(
        home=whole_path(values.get("home", cache / "openmle_env"), remedy="Set OPENMLE_HOME to a whole path."),
        runs=whole_path(values.get("runs", "openmle_runs"), remedy="Set OPENMLE_RUNS to a whole path."),
        packs=pack_folders(),
        sandbox=values.get("sandbox", "auto"),
        image=values.get("image", ""),
        warm=checked_warm(values.get("warm", "single"), "Correct OPENMLE_WARM."),
        runtime=values.get("runtime", ""),
        gpus=values.get("gpus", "all"),
        gpu_sharing=_count("gpu_sharing", values.get("gpu_sharing", "1")),
        models=whole_path(values["models"], remedy="Set OPENMLE_MODELS to a whole path.")
        if "models" in values
        else None,
    )


def pack_folders() -> tuple[Path, ...]:
    """The folders of ``OPENMLE_PACKS``, in order; on its own, since importing the package asks for nothing else.

    Raises:
        UsageError: A folder cannot be told from the setting.
    """
    named = filter(None, os.environ.get(PREFIX + "PACKS", "").split(os.pathsep))
    return tuple(dict.fromkeys(whole_path(name, remedy="Set OPENMLE_PACKS to whole paths.") for name in named))


def checked_warm(value: object, hint: str = "") -> Warm:
    """The value, if it is a `openmle_env.types.Warm`.

    Raises:
        UnknownNameError: It is not.
    """
    if value not in get_args(Warm):
        raise unknown_name("way to run programs", str(value), get_args(Warm), hint=hint)
    return cast("Warm", value)


def _count(name: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal() and 1 <= int(value) <= 1000):
        raise UsageError(f"{PREFIX}{name.upper()}={value!r} should be a whole number from 1 to 1,000.")
    return int(value)


def whole_path(path: Path | str, *, remedy: str) -> Path:
    """The absolute path, a leading ``~`` replaced; ``remedy`` says what to do where that is impossible.

    Raises:
        UsageError: The user, or the home folder of the user, is not known, or the current folder is gone.
    """
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:
        raise UsageError(f"The home folder that {str(path)!r} begins with is not known. {remedy}") from None
    except OSError as error:
        raise UsageError(f"The current folder cannot be told ({error.strerror}). {remedy}") from None


def unknown() -> list[str]:
    """One sentence for each variable that starts with ``OPENMLE_`` and is not a setting: it may be a misspelt one."""
    known = {PREFIX + name.upper() for name in NAMES}
    strangers = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    return [
        f"{unknown_name('setting', name, known)} The variable is ignored: correct its name, or unset it."
        for name in strangers
    ]
