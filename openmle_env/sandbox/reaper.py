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
from openmle_env.sandbox.forks import abandon_in_forks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from docker import DockerClient

OWNER_LABEL = f"{engine.LABEL}.owner"
EXPIRES_LABEL = f"{engine.LABEL}.expires"
RECIPE_LABEL = f"{engine.LABEL}.recipe"

BACKGROUND_SECONDS = 300.0
"""How often the engine is looked through while a sandbox is open."""

_lock = threading.Lock()
_collected = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """One thing that nobody needs any more, and why."""

    kind: str
    """``container``, ``image``, ``control group``, ``scratch folder`` or ``packages``."""
    id: str
    """What it is called: an id or name in the engine, or a path."""
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


def gc() -> list[Leftover]:
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


def collect(client: DockerClient) -> list[Leftover]:
    """`gc` with a client at hand.

    Raises:
        SandboxUnavailableError: The engine failed.
    """
    return remove(client, find(client))


def find(client: DockerClient) -> list[Leftover]:
    """What `collect` would remove.

    Raises:
        SandboxUnavailableError: The engine failed.
    """
    with engine.calling("list what earlier runs left"):
        containers = client.api.containers(all=True, filters={"label": EXPIRES_LABEL})
        images = client.api.images(filters={"dangling": True})
    left = [("container", item["Id"], item["Labels"] or {}) for item in containers]
    left += [("image", item["Id"], item["Labels"] or {}) for item in images]
    found = []
    for kind, identity, labelled in left:
        reason = _reason(labelled) or ("replaced" if kind == "image" and RECIPE_LABEL in labelled else "")
        if reason:
            found.append(Leftover(kind=kind, id=identity, reason=reason))
    return found


def remove(client: DockerClient, left: Iterable[Leftover]) -> list[Leftover]:
    """Remove containers and images; returns those that are gone by this.

    Raises:
        SandboxUnavailableError: The engine failed.
    """
    import docker.errors  # an extra, and slow to import

    removed = []
    for item in left:
        with engine.calling(f"remove the {item.kind} {item.id}"):
            try:
                if item.kind == "container":
                    client.api.remove_container(item.id, v=True, force=True)
                else:
                    client.api.remove_image(item.id)
            except docker.errors.APIError as error:
                if error.status_code in {404, 409}:  # another is at it in this moment, or an image still has a user
                    continue
                raise
            removed.append(item)
    return removed


def start_background() -> Callable[[], None]:
    """Collect every few minutes from now on, in one thread for all of a process; returns what ends it, idempotent.

    The thread ends with the last of its users. A forked child has none, whatever its parent had.
    """
    return _background.join()


class _Background:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: set[object] = set()
        self._over = threading.Event()
        abandon_in_forks(self)

    def abandon(self) -> None:
        """See `Abandonable`: the thread is the parent's."""
        self._lock = threading.Lock()
        self._users = set()
        self._over = threading.Event()

    def join(self) -> Callable[[], None]:
        user = object()
        with self._lock:
            first = not self._users
            self._users.add(user)
            if first:
                self._over = threading.Event()
                threading.Thread(target=_collect_until, args=(self._over,), name="openmle-reaper", daemon=True).start()
        return lambda: self._leave(user)

    def _leave(self, user: object) -> None:
        with self._lock:
            if user in self._users:
                self._users.discard(user)
                if not self._users:
                    self._over.set()


def _collect_until(over: threading.Event) -> None:
    while not over.wait(BACKGROUND_SECONDS):
        with contextlib.suppress(SandboxUnavailableError):  # it may be back the next time
            gc()


_background = _Background()


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
