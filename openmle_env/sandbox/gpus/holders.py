"""Who has which device, and who waits for one, in words for people."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from openmle_env.sandbox.gpus import records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.sandbox.gpus.devices import Device
    from openmle_env.sandbox.gpus.leaks import State
    from openmle_env.sandbox.gpus.records import Entry, Record


def older(record: Record, entries: Sequence[Entry]) -> int:
    """How many requests wait before this one."""
    return sum(entry.waits() for entry in entries if entry.record and entry.record.ticket < record.ticket)


def too_late(
    record: Record, choice: Sequence[Device], wait: float, entries: Sequence[Entry], known: Mapping[str, State]
) -> str:
    """Why a request did not get its devices in time."""
    lines = []
    for device in choice:
        state = known.get(device.uuid)
        if state is not None and state.quarantine:
            lines.append(f"{device} is quarantined: {state.quarantine}")
        else:
            lines += [f"{device} is lent to {describe(entry)}" for entry in entries if holds(entry, device.uuid)]
    lines += [
        f"{entry.path} is locked and cannot be read: end its process ('sudo fuser -v {entry.path}') and remove it"
        for entry in entries
        if entry.alive and entry.record is None
    ]
    count = record.count
    what = f"{count} GPUs were" if count > 1 else "GPU was"
    why = "; ".join(lines) or "Those that are free are kept for older requests"
    return (
        f"No {what} free for this program within {wait:g} s, with {older(record, entries)} older requests waiting. "
        f"{why}. Wait for them, or look at 'openmle doctor'."
    )


def holds(entry: Entry, uuid: str) -> bool:
    """Whether a request has a device, and its time is not over."""
    return entry.alive and entry.holds(records.now()) and entry.record is not None and uuid in entry.record.devices


def describe(entry: Entry) -> str:
    """Who has a device, what for, since when and until when at most, for people."""
    record = entry.record
    if record is None:
        return f"somebody ({entry.path} cannot be read)"
    since = dt.datetime.fromtimestamp(record.since).astimezone()
    left = max(0.0, record.expires - records.now())
    what = f" for {record.words}" if record.words else ""
    return f"process {record.pid} of {record.user}{what}, since {since:%H:%M:%S}, for {left:.0f} s more at most"
