"""What is left of runs on this machine that nobody needs any more, in the engine and outside of it; and removing it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from openmle_env import scratch
from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import cgroup, engine, extras, image, reaper
from openmle_env.sandbox.reaper import Leftover

_IN_ENGINE = ("container", "image")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was found, and where it could not be looked."""

    found: tuple[Leftover, ...]
    engine_trouble: str = ""
    """Why the engine was not looked through; empty where it was."""


def survey(*, images: bool = False) -> Survey:
    """Look for what is left; ``images`` counts those of other environments, and of this one before it changed, too."""
    found = [
        *(
            Leftover(kind="control group", id=str(path), reason="the process that made it is dead")
            for path in cgroup.left()
        ),
        *(
            Leftover(kind="scratch folder", id=str(path), reason="the process that made it is dead")
            for path in scratch.left()
        ),
        *(Leftover(kind="packages", id=str(path), reason=reason) for path, reason in extras.left()),
    ]
    try:
        with engine.connect() as client:
            found += reaper.find(client)
        if images:
            found += [
                Leftover(kind="image", id=name, reason="made of other libraries than this environment has now")
                for name in image.made_for_others()
            ]
    except SandboxUnavailableError as error:
        return Survey(found=tuple(found), engine_trouble=str(error))
    return Survey(found=tuple(found))


def remove(found: tuple[Leftover, ...]) -> tuple[Leftover, ...]:
    """Remove what a survey found; returns what is gone. The rest is in use, or may not be removed by this user.

    Raises:
        SandboxUnavailableError: The engine failed in the midst of it.
    """
    gone = [item for item in found if item.kind not in _IN_ENGINE and _removed(item)]
    in_engine = [item for item in found if item.kind in _IN_ENGINE]
    if in_engine:
        with engine.connect() as client:
            gone += reaper.remove(client, in_engine)
    return tuple(item for item in found if item in gone)


def _removed(item: Leftover) -> bool:
    path = Path(item.id)
    if item.kind == "control group":
        return bool(cgroup.remove_left([path]))
    if item.kind == "scratch folder":
        scratch.sweep()  # which looks again whether its owner lives
    else:
        extras.remove(path)
    return not path.exists()
