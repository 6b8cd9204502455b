"""Who gets which devices: a pure decision on the requests that there are.

All or nothing, so that two that each want two devices never wait for each other with one each. First come, first
served, as far as the same devices are concerned: what an older request could use is kept for it, so that it does not
starve, and what no older one could use may go to a younger one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from openmle_env.sandbox.gpus.records import Entry, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The devices that a request may have now."""

    devices: tuple[str, ...]
    alone: tuple[str, ...]
    """Those that nobody else has: to be checked before they are used."""
    late: Mapping[str, tuple[str, ...]]
    """Of these, those whose last user was killed, or did not come back in time, with the names of its requests: its
    program may be ending just now."""


def choose(
    entries: Iterable[Entry],
    mine: Path,
    *,
    closed: Collection[str],
    cleared: Mapping[str, Collection[str]],
    at: float,
) -> Grant | None:
    """What the request in the file ``mine`` may take at time ``at``; None where it has to wait.

    Args:
        entries: All requests, oldest first, mine among them.
        mine: The file of the request.
        closed: Uuids of devices that are not lent (quarantined).
        cleared: By uuid the names of requests of killed or stuck processes that are known to be over on that device.
        at: Now, by the clock of the boot (`records.now`).
    """
    entries = list(entries)
    if any(entry.alive and entry.record is None for entry in entries):
        return None  # it may hold anything
    holders, late = _used(entries, cleared, at)
    for entry in entries:
        if entry.record is None or (entry.path != mine and not entry.waits()):
            continue
        chosen = _pick(entry.record, holders, late, closed)
        if entry.path == mine:
            if len(chosen) < entry.record.count:
                return None
            alone = tuple(uuid for uuid in chosen if not holders.get(uuid))
            return Grant(devices=chosen, alone=alone, late={uuid: tuple(late[uuid]) for uuid in alone if uuid in late})
        for uuid in chosen:
            holders.setdefault(uuid, []).append(entry.record)  # kept for it
    return None


def _used(
    entries: Iterable[Entry], cleared: Mapping[str, Collection[str]], at: float
) -> tuple[dict[str, list[Record]], dict[str, list[str]]]:
    """Who has each device, and which requests had it whose program may be ending just now."""
    holders: dict[str, list[Record]] = {}
    late: dict[str, list[str]] = {}
    for entry in entries:
        record = entry.record
        if record is None:
            continue
        for uuid in record.devices:
            if entry.alive and entry.holds(at):
                holders.setdefault(uuid, []).append(record)
            elif entry.path.name not in cleared.get(uuid, ()):
                late.setdefault(uuid, []).append(entry.path.name)
    return holders, late


def _pick(
    record: Record, holders: dict[str, list[Record]], late: Collection[str], closed: Collection[str]
) -> tuple[str, ...]:
    """The best devices for a request, fewer than it wants where there are no more: least used first, late ones last."""
    places = {uuid: place for place, uuid in enumerate(record.candidates)}
    free = [uuid for uuid in places if uuid not in closed and _has_room(record, holders.get(uuid, []))]
    free.sort(key=lambda uuid: (len(holders.get(uuid, [])), uuid in late, places[uuid]))
    return tuple(free[: record.count])


def _has_room(record: Record, present: list[Record]) -> bool:
    """Whether one more may share a device: as many as the strictest of all allows, and only once it was checked."""
    room = min([record.sharing, *(other.sharing for other in present)])
    return len(present) < room and all(other.checked for other in present)
