"""Removing what a killed process left in the Docker engine, and never what a live one uses.

A box ends by itself when its owner's end of the attached stream closes, and the engine then removes it; this is the
second line, for what that missed. Everything that we make carries its owner and an expiry as labels.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from docker import DockerClient

OWNER_LABEL = f"{engine.LABEL}.owner"
EXPIRES_LABEL = f"{engine.LABEL}.expires"
RECIPE_LABEL = f"{engine.LABEL}.recipe"

_lock = threading.Lock()
_collected = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """One thing that was removed, and why."""

    id: str
    kind: str
    """``container`` or ``image``."""
    reason: str


def labels(seconds: float) -> dict[str, str]:
    """Labels for a container of this process that has to be gone in ``seconds`` seconds."""
    return {OWNER_LABEL: owner(os.getpid()), EXPIRES_LABEL: str(int(time.time() + seconds) + 1)}


def image_changes(seconds: float) -> list[str]:
    """The same labels, for an image that is only needed while another is built."""
    return [f'LABEL "{name}"="{value}"' for name, value in labels(seconds).items()]


def owner(pid: int) -> str:
    """Who a process is, beyond reuse of its number: boot, process namespace, number, start time.

    Empty where the system does not tell, or there is no such process; then only the expiry counts.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    state, start = fields[0], fields[19]
    return "" if state in "ZX" else f"{_namespace()} {pid} {start}"


def gc() -> list[Removed]:
    """Remove containers of dead owners, those past their time, and images that lost their name.

    Raises:
        SandboxUnavailableError: No engine answers.
    """
    with engine.connect() as client:
        return collect(client)


def collect_once(client: DockerClient) -> None:
    """`collect`, the first time that this process asks; what cannot be removed now keeps nobody from running."""
    global _collected
    with _lock:
        first, _collected = not _collected, True
    if first:
        with contextlib.suppress(SandboxUnavailableError):
            collect(client)


def collect(client: DockerClient) -> list[Removed]:
    """`gc` with a client at hand.

    Raises:
        SandboxUnavailableError: The engine failed.
    """
    import docker.errors  # an extra, and slow to import

    removed = []
    with engine.calling("list what earlier runs left"):
        containers = client.api.containers(all=True, filters={"label": EXPIRES_LABEL})
        images = client.api.images(filters={"dangling": True})
    left = [("container", item["Id"], item["Labels"]) for item in containers]
    left += [("image", item["Id"], item["Labels"] or {}) for item in images]
    for kind, identity, found in left:
        reason = _reason(found) or ("replaced" if kind == "image" and RECIPE_LABEL in found else "")
        if not reason:
            continue
        with engine.calling(f"remove the {kind} {identity}"):
            try:
                if kind == "container":
                    client.api.remove_container(identity, v=True, force=True)
                else:
                    client.api.remove_image(identity)
            except docker.errors.APIError as error:
                if error.status_code in {404, 409}:  # another is at it in this moment, or an image still has a user
                    continue
                raise
            removed.append(Removed(id=identity, kind=kind, reason=reason))
    return removed


def _reason(found: Mapping[str, str]) -> str:
    """Why a thing with these labels has to go; empty where it has not."""
    namespace, _, process = found.get(OWNER_LABEL, "").partition(" ")
    pid = process.partition(" ")[0]
    if pid.isdecimal() and namespace == _namespace():  # whether it lives is certain, however the clock was set
        return "" if owner(int(pid)) == found[OWNER_LABEL] else "its owner is dead"
    # A process of another machine or process namespace cannot be looked up from here: only its expiry counts.
    expires = found.get(EXPIRES_LABEL, "")
    return "past its time" if expires.isdecimal() and int(expires) < time.time() else ""


def _namespace() -> str:
    """Where process numbers mean what they mean here: this boot of this machine, and this process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""
