"""What ``openmle doctor`` shows: each device, how much of it is in use, who has it, and why it is not lent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.sandbox.gpus import devices, leaks, places, records, usage
from openmle_env.sandbox.gpus import holders as who

if TYPE_CHECKING:
    from pathlib import Path

    from openmle_env.sandbox.gpus.devices import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One device."""

    device: Device
    lent: bool
    """Whether the setting ``OPENMLE_GPUS`` lets it be lent."""
    used_mb: int | None
    """Memory in use at this moment, in MiB; None where the driver does not tell."""
    processes: tuple[str, ...]
    """What computes on it at this moment, whosever it is."""
    holders: tuple[str, ...]
    """To whom it is lent, for people."""
    waiting: int
    """Requests in the queue that could use it."""
    quarantine: str
    """Why it is not lent; empty where it is."""


def survey(folder: Path | None = None) -> list[Row]:
    """A row for each device of this machine; those in quarantine are looked at again first.

    Args:
        folder: Of the leases, instead of the one that all users share.

    Raises:
        SandboxUnavailableError: The devices could not be told; the message says what to do.
        UsageError: ``OPENMLE_GPUS`` names one that does not exist.
    """
    existing = devices.find()
    allowed = {device.uuid for device in devices.chosen()}
    folder = places.shared_folder() if folder is None else folder
    if folder.is_dir():
        leaks.recheck(folder, existing)
    entries, states = records.read(folder), leaks.read(folder)
    seen = usage.look(existing) if existing else {}
    rows = []
    for device in existing:
        state = states.get(device.uuid)
        queue = [entry.record for entry in entries if entry.waits() and entry.record is not None]
        rows.append(
            Row(
                device=device,
                lent=device.uuid in allowed,
                used_mb=seen[device.uuid].used_mb,
                processes=tuple(seen[device.uuid].processes.values()),
                holders=tuple(who.describe(entry) for entry in entries if who.holds(entry, device.uuid)),
                waiting=sum(device.uuid in record.candidates for record in queue),
                quarantine=state.quarantine if state is not None else "",
            )
        )
    return rows
