"""Lending devices to programs, host-wide: several processes and users share a machine without sharing a device.

A lease is a locked file (`records`), so that it ends with its process. Its time to live is for what a lock cannot end:
a driver that lives and is stuck. Then the lease counts no longer. Its program is over by then, since a box is bounded
by a clock of its own. That is not believed but looked at: the next one to have the device has it checked like any other
(`leaks`), and is refused it while something lies or runs there.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from openmle_env import settings
from openmle_env.errors import OpenMLEError, SandboxUnavailableError, UsageError
from openmle_env.sandbox.gpus import devices as machine
from openmle_env.sandbox.gpus import holders, leaks, places, queueing, records
from openmle_env.types import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from openmle_env.sandbox.gpus.devices import Device
    from openmle_env.sandbox.gpus.records import Request
    from openmle_env.sandbox.protocol import CancelToken

WAIT_SECONDS = 600.0
"""How long a program waits for its devices, unless the caller says otherwise."""
CHECK_SECONDS = 150.0
"""How long looking at a device may take beside the waits that are part of it: nvidia-smi may be slow."""
RECHECK_SECONDS = 5.0
"""How often one that waits looks whether quarantined devices are clean."""


class LeaseCancelledError(OpenMLEError, RuntimeError):
    """The run was cancelled while it waited for a device; nothing of the program ran."""

    fault = Fault.INFRASTRUCTURE


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How devices are lent."""

    sharing: int = 1
    """How many programs may have one device together. Where requests differ, the least counts."""
    settle_seconds: float = leaks.SETTLE_SECONDS
    """How long a device may take to be clean before it is quarantined."""
    linger_seconds: float = 5.0
    """How long a box may outlive a driver that was killed."""


class Lease:
    """Devices that this process has for one program, until `release`; a forked child has none of them."""

    def __init__(self, request: Request | None, devices: tuple[Device, ...], sharing: int) -> None:
        self.devices = devices
        self.sharing = sharing
        """How many programs may be on each of the devices together."""
        self._request = request

    def release(self) -> None:
        """Give them back; idempotent. To be called after the program's box is gone."""
        if self._request is not None:
            self._request.close()

    def confirm(self) -> None:
        """To be called just before the program starts: this process may have stood still since it got the devices.

        Raises:
            SandboxUnavailableError: The time to live is over, and another program may have them by now.
        """
        if self._request is not None and not self._request.record.expires > records.now():
            raise SandboxUnavailableError(
                "This process got GPUs and then stood still for so long that they may have been lent to another. "
                "Run the program again."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def take(
    count: int,
    *,
    seconds: float,
    cancel: CancelToken | None = None,
    wait: float = WAIT_SECONDS,
    words: str = "",
    devices: Sequence[Device] | None = None,
    terms: Terms | None = None,
    folder: Path | None = None,
) -> Lease:
    """Wait for ``count`` different devices, all or none, in the order of the requests of this machine.

    What is returned gives them back at the end of a ``with`` block, or by `Lease.release`.

    Args:
        count: 0 is granted at once, without a look at the machine.
        seconds: Time to live: how long the program's box can live at most, from the moment that the devices are given.
        cancel: Ends the wait.
        wait: How long to wait at most, in seconds; the check of a device that is free comes on top.
        words: What it is for, such as the task's name; every user of the machine can read it. Never secrets.
        devices: From which to choose; those of the settings by default.
        terms: Those of the settings by default.
        folder: Instead of the one that all users share.

    Raises:
        SandboxUnavailableError: There are not so many devices, or not in time (the message says who has them), or the
            driver failed.
        UsageError: ``count`` or ``seconds`` is impossible.
        LeaseCancelledError: It was cancelled.
    """
    if count < 0 or not seconds > 0:
        raise UsageError(f"A lease of {count!r} GPUs for {seconds!r} s: expected 0 or more, for more than 0 s.")
    terms = terms or Terms(sharing=settings.load().gpu_sharing)
    if count == 0:
        return Lease(None, (), terms.sharing)
    choice = machine.chosen() if devices is None else tuple(devices)
    if count > len(choice):
        there = ", ".join(map(str, choice)) or "none"
        raise SandboxUnavailableError(
            f"The program needs {count} GPU{'s' if count > 1 else ''}, and this machine may lend {len(choice)} "
            f"({there}; OPENMLE_GPUS={settings.load().gpus}). Ask for fewer, or let OPENMLE_GPUS name more."
        )
    if count > 1:  # CUDA shows a process one MIG instance only
        choice = tuple(sorted(choice, key=lambda device: device.kind != "gpu"))
    folder = places.prepare(folder)
    with _Waiting(cancel) as waiting:
        candidates = tuple(device.uuid for device in choice)
        blank = records.blank(
            count=count, candidates=candidates, sharing=terms.sharing, seconds=float(seconds), words=words
        )
        with waiting.locked(folder):
            request = records.place(folder, blank)
        try:
            granted = _wait(request, choice, terms, wait, waiting)
        except BaseException:
            request.close()
            raise
    return Lease(request, granted, terms.sharing)


class _Waiting:
    """The wait of one request, which its token ends."""

    def __init__(self, cancel: CancelToken | None) -> None:
        self._cancelled = threading.Event()
        self._unregister = cancel.on_cancel(self._cancelled.set) if cancel else lambda: None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._unregister()

    def sleep(self, seconds: float) -> None:
        """Wait.

        Raises:
            LeaseCancelledError: Cancelled meanwhile, or before.
        """
        if self._cancelled.wait(seconds):
            raise LeaseCancelledError("The run was cancelled while it waited for a GPU.")

    @contextlib.contextmanager
    def locked(self, folder: Path) -> Iterator[None]:
        """`places.locked`, ended by the token."""
        self.sleep(0)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(places.locked(folder, self._cancelled.is_set))
            except TimeoutError:
                self.sleep(0)
            yield


def _wait(
    request: Request, choice: tuple[Device, ...], terms: Terms, wait: float, waiting: _Waiting
) -> tuple[Device, ...]:
    """The devices of a request, once they are free and clean."""
    folder = request.path.parent
    until = time.monotonic() + wait
    recheck = 0.0
    mine = {device.uuid for device in choice}
    while True:
        with waiting.locked(folder):
            entries, known = records.read(folder), leaks.read(folder)
            grant = queueing.choose(
                entries,
                request.path,
                closed={uuid for uuid, state in known.items() if state.quarantine},
                cleared={uuid: state.cleared for uuid, state in known.items()},
                at=records.now(),
            )
            if grant is not None:
                checking = terms.linger_seconds + terms.settle_seconds + CHECK_SECONDS if grant.alone else 0
                _hold(request, grant.devices, checked=not grant.alone, more=checking)
        if grant is not None:
            if _confirmed(request, grant, choice, terms, waiting):
                return tuple(device for device in choice if device.uuid in grant.devices)
            continue
        if time.monotonic() >= until:
            raise SandboxUnavailableError(holders.too_late(request.record, choice, wait, entries, known))
        if time.monotonic() >= recheck and any(uuid in known and known[uuid].quarantine for uuid in mine):
            leaks.recheck(folder, choice)
            recheck = time.monotonic() + RECHECK_SECONDS
        request.beat()
        waiting.sleep(min(0.02 * (1 + holders.older(request.record, entries)), 1.0, max(0.0, until - time.monotonic())))


def _confirmed(
    request: Request, grant: queueing.Grant, choice: Sequence[Device], terms: Terms, waiting: _Waiting
) -> bool:
    """Whether the devices of a grant are clean; else they are given back, and the request waits again."""
    if not grant.alone:
        return True
    folder = request.path.parent
    dirty = leaks.check(
        folder,
        [device for device in choice if device.uuid in grant.alone],
        late=grant.late,
        linger=terms.linger_seconds,
        settle=terms.settle_seconds,
        wait=waiting.sleep,
    )
    with waiting.locked(folder):
        if dirty or request.record.expires < records.now():  # this process stood still: others may have them by now
            request.write(replace(request.record, devices=(), expires=0.0, checked=False))
            return False
        _hold(request, grant.devices, checked=True)
        _sweep(folder)
        return True


def _hold(request: Request, uuids: tuple[str, ...], *, checked: bool, more: float = 0.0) -> None:
    record = request.record
    expires = records.now() + record.seconds + more
    request.write(replace(record, devices=uuids, checked=checked, since=time.time(), expires=expires))


def _sweep(folder: Path) -> None:
    """Remove what killed processes left, once their programs are known to be over on all their devices."""
    known = leaks.read(folder)
    for entry in records.read(folder):
        if not entry.alive and entry.record is not None:
            names = [known[uuid].cleared if uuid in known else () for uuid in entry.record.devices]
            if all(entry.path.name in cleared for cleared in names):
                places.remove(entry.path)
