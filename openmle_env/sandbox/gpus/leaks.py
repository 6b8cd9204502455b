"""Whether a device was left clean: its memory back to what it was before anybody had it, and nobody computing on it.

The memory in use before a device is lent for the first time is its base, with the processes that compute on it then
(they are others', such as an MPS server). Before it is lent again, memory has to be back there and no other process on
it, within some seconds; else the device is quarantined: shown by ``openmle doctor``, and not lent until its memory is
back, or until `release_quarantine`. Bases and quarantines hold host-wide and until the machine's next boot. Each user
writes a file of their own for a device, and the newest one counts.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from openmle_env import scratch
from openmle_env.errors import SandboxUnavailableError, UnknownNameError
from openmle_env.sandbox.gpus import places, usage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from openmle_env.sandbox.gpus.devices import Device

PREFIX = "device-"
MARGIN_MB = 128
"""How much more than its base may be in use; one CUDA context takes more."""
SETTLE_SECONDS = 15.0
"""How long a device may take to be back at its base after its program ended."""
LOOK_SECONDS = 0.25
"""Between two looks at a device that is not clean yet."""
_UNKNOWN = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is remembered of a device."""

    uuid: str
    at: float = 0.0
    """When this was written: of several users' words the newest counts."""
    base_mb: int | None = None
    """Memory in use while nobody had it, in MiB; None before the first look."""
    processes: tuple[str, ...] = ()
    """Processes that computed on it while nobody had it."""
    quarantine: str = ""
    """Why it is not lent; empty where it is."""
    since: float = 0.0
    """Of the quarantine: seconds since 1970."""
    cleared: tuple[str, ...] = ()
    """Requests of killed or stuck processes whose program is over on this device, by the name of their file."""


def read(folder: Path) -> dict[str, State]:
    """What is remembered of each device, by its uuid; of an earlier boot nothing."""
    found: dict[str, State] = {}
    try:
        names = [name for name in os.listdir(folder) if name.startswith(PREFIX)]  # noqa: PTH208  plain names
    except FileNotFoundError:
        return found
    for name in names:
        state = _read(folder / name)
        if state is not None and (state.uuid not in found or state.at > found[state.uuid].at):
            found[state.uuid] = state
    return found


def _read(path: Path) -> State | None:
    try:
        descriptor = places.open_plain(path)
    except OSError:
        return None  # closed by its owner: as if it were not there
    if descriptor is None:
        return None
    try:
        found = json.loads(places.first_line(descriptor))
        if found["boot"] != scratch.machine():
            return None
        base = found["base_mb"]
        return State(
            uuid=str(found["uuid"]),
            at=float(found["at"]),
            base_mb=None if base is None else int(base),
            processes=tuple(map(str, found["processes"])),
            quarantine=places.told(found["quarantine"], 500),
            since=float(found["since"]),
            cleared=tuple(map(str, found["cleared"])),
        )
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    finally:
        os.close(descriptor)


def write(folder: Path, state: State) -> None:
    """Remember something of a device; with the folder locked (`places.locked`).

    Raises:
        SandboxUnavailableError: It cannot be written.
    """
    newest = read(folder).get(state.uuid, State(uuid=state.uuid))
    state = replace(state, at=max(time.time(), newest.at + 1e-3))  # also where the clock was set back
    path = folder / f"{PREFIX}{quote(state.uuid, safe='')}.{os.getuid()}.json"
    new = folder / f"{places.NEW}{secrets.token_hex(8)}"
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            os.fchmod(descriptor, 0o644)
            os.write(descriptor, json.dumps({**asdict(state), "boot": scratch.machine()}).encode() + b"\n")
        finally:
            os.close(descriptor)
        new.replace(path)
    except OSError as error:
        places.remove(new)
        raise SandboxUnavailableError(
            f"What is known of the GPU {state.uuid} cannot be written to {path} ({error.strerror}). "
            f"Free some space, or let root remove the file: sudo rm {path}"
        ) from error


def fault(seen: usage.Usage, state: State) -> str:
    """Why a device may not be lent, for people; empty where it may.

    >>> fault(usage.Usage(used_mb=900, processes={}), State(uuid="GPU-1", base_mb=10))
    '900 MiB are in use, 890 more than before it was lent'
    """
    if seen.trouble:
        return f"the driver says: {seen.trouble}"
    strangers = [words for who, words in seen.processes.items() if who not in state.processes]
    if strangers and state.base_mb is not None:
        return f"{', '.join(strangers[:3])} computes on it"
    if seen.used_mb is not None and state.base_mb is not None and seen.used_mb > state.base_mb + MARGIN_MB:
        return f"{seen.used_mb} MiB are in use, {seen.used_mb - state.base_mb} more than before it was lent"
    return ""


def check(
    folder: Path,
    devices: Iterable[Device],
    *,
    late: Mapping[str, Collection[str]],
    linger: float,
    settle: float,
    wait: Callable[[float], None],
) -> dict[str, str]:
    """Wait until devices that this process alone has are clean; quarantine the others, and return why.

    Args:
        folder: See `places.prepare`. May not be locked: this takes seconds.
        devices: They are looked at together.
        late: By uuid the requests whose program may be ending just now: it is not seen before it uses the device.
        linger: How long such a program may take to end, in seconds.
        settle: How long memory may take to be back, in seconds.
        wait: Called with seconds to wait; it raises where the caller is cancelled.

    Raises:
        SandboxUnavailableError: nvidia-smi failed, or nothing can be written.
    """
    pending = {device.uuid: device for device in devices}
    if any(late.get(uuid) for uuid in pending):
        wait(linger)
    until = time.monotonic() + settle
    faults: dict[str, str] = {}
    while pending:
        seen = usage.look(pending.values())
        over = time.monotonic() >= until
        with places.locked(folder):
            known = {uuid: State(uuid=uuid) for uuid in pending} | read(folder)
            faults = {uuid: reason for uuid in pending if (reason := fault(seen[uuid], known[uuid]))}
            for uuid in pending:
                if uuid not in faults:
                    _remember(folder, known[uuid], seen[uuid], late.get(uuid, ()))
                elif over:
                    write(folder, replace(known[uuid], quarantine=faults[uuid], since=time.time()))
        if over:
            break
        pending = {uuid: pending[uuid] for uuid in faults}
        if pending:
            wait(LOOK_SECONDS)
    return faults


def _remember(folder: Path, old: State, seen: usage.Usage, cleared: Collection[str]) -> None:
    """Its use is its base from now on, where that is less than it was; a quarantine is over."""
    base = min(size for size in (old.base_mb, seen.used_mb, _UNKNOWN) if size is not None)
    here = [name for name in {*old.cleared, *cleared} if os.path.lexists(folder / name)]
    new = State(
        uuid=old.uuid,
        base_mb=0 if base == _UNKNOWN else base,
        processes=tuple(sorted(seen.processes)),
        cleared=tuple(sorted(here)),
    )
    if replace(new, at=old.at) != old:
        write(folder, new)


def recheck(folder: Path, devices: Iterable[Device]) -> None:
    """Look again at the quarantined ones among these devices, and release those that are clean.

    Raises:
        SandboxUnavailableError: nvidia-smi failed, or nothing can be written.
    """
    closed = {uuid for uuid, state in read(folder).items() if state.quarantine}
    pending = [device for device in devices if device.uuid in closed]
    seen = usage.look(pending) if pending else {}
    if not seen:
        return
    with places.locked(folder):
        for uuid, state in read(folder).items():
            # One that was released meanwhile may be in use by now.
            if uuid in seen and state.quarantine and not fault(seen[uuid], state):
                _remember(folder, state, seen[uuid], ())


def release_quarantine(uuid: str, *, folder: Path | None = None) -> None:
    """Lend a device again, with whatever is in use on it now as its base.

    Args:
        uuid: As ``openmle doctor`` shows it.
        folder: Instead of the one that all users share.

    Raises:
        UnknownNameError: No such device is quarantined; the message says which are.
        SandboxUnavailableError: It cannot be written.
    """
    folder = places.prepare(folder)
    with places.locked(folder):
        closed = {name for name, state in read(folder).items() if state.quarantine}
        if uuid not in closed:
            there = ", ".join(sorted(closed)) or "none"
            raise UnknownNameError(f"The GPU {uuid!r} is not quarantined. Quarantined: {there}.")
        write(folder, State(uuid=uuid))
