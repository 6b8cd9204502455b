"""Who gets which devices, without any files or processes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from openmle_env.sandbox.gpus.queueing import choose
from openmle_env.sandbox.gpus.records import BEAT_SECONDS, Entry, Record

UUIDS = ("a", "b", "c")


def entry(ticket: int, count: int = 1, candidates: tuple[str, ...] = UUIDS, **more) -> Entry:
    values = {"pid": 1, "owner": "", "user": "", "words": "", "since": 0.0, "sharing": 1}
    alive, beat = more.pop("alive", True), more.pop("beat", time.time())
    record = Record(ticket=ticket, count=count, candidates=candidates, **{**values, **more})
    return Entry(path=Path(str(ticket)), record=record, alive=alive, beat=beat)


def held(ticket: int, *uuids: str, **more) -> Entry:
    return entry(ticket, len(uuids), devices=uuids, **{"expires": 10.0, "checked": True, **more})


def pick(entries, mine, *, closed=(), cleared=None):
    return choose(entries, Path(str(mine)), closed=closed, cleared=cleared or {}, at=5.0)


def test_the_least_used_and_the_surest_device_comes_first():
    shared = {"sharing": 3}
    assert pick([held(1, "a", **shared), entry(2, **shared)], 2).devices == ("b",)
    assert pick([held(1, "a", **shared), held(2, "b", "c", **shared), entry(3, 2, **shared)], 3).devices == ("a", "b")
    killed = held(1, "a", alive=False)
    grant = pick([killed, entry(2)], 2)
    assert (grant.devices, grant.alone, grant.late) == (("b",), ("b",), {})
    grant = pick([killed, entry(2, 3)], 2)
    assert grant.late == {"a": ("1",)}
    assert pick([killed, entry(2, 3)], 2, cleared={"a": ("1",)}).late == {}


def test_a_device_that_is_being_checked_is_not_shared():
    first = held(1, "a", sharing=2, checked=False)
    assert pick([first, entry(2, candidates=("a",), sharing=2)], 2) is None
    grant = pick([held(1, "a", sharing=2), entry(2, candidates=("a",), sharing=2)], 2)
    assert (grant.devices, grant.alone) == (("a",), ())


def test_a_lease_that_is_over_is_one_whose_program_may_be_ending():
    grant = pick([held(1, *UUIDS, expires=4.0), entry(2)], 2)
    assert grant.late == {"a": ("1",)}


def test_a_stopped_process_keeps_no_place_in_the_queue():
    older = entry(1, 2)
    assert pick([held(0, "a"), older, entry(2)], 2) is None
    stopped = replace(older, beat=time.time() - 2 * BEAT_SECONDS)
    assert pick([held(0, "a"), stopped, entry(2)], 2).devices == ("b",)
    dead = replace(older, alive=False)
    assert pick([held(0, "a"), dead, entry(2)], 2).devices == ("b",)


def test_quarantined_devices_are_not_lent_nor_kept_for_anybody():
    assert pick([entry(1, 2), entry(2)], 2, closed=("a",)) is None
    assert pick([entry(1, 2, ("a", "b")), entry(2)], 2, closed=("a",)).devices == ("c",)


def test_what_cannot_be_read_may_hold_anything():
    stranger = Entry(path=Path("x"), record=None, alive=True)
    assert pick([stranger, entry(1)], 1) is None
    assert pick([replace(stranger, alive=False), entry(1)], 1).devices == ("a",)


subsets = st.lists(st.sampled_from(UUIDS), min_size=1, max_size=3, unique=True).map(tuple)


@st.composite
def scenes(draw) -> list[Entry]:
    entries = []
    for ticket in range(1, draw(st.integers(1, 6))):
        alive, sharing = draw(st.booleans()), draw(st.integers(1, 3))
        if draw(st.booleans()):
            expires, checked = draw(st.sampled_from((4.0, 10.0))), draw(st.booleans())
            entries.append(held(ticket, *draw(subsets), alive=alive, sharing=sharing, expires=expires, checked=checked))
        else:
            wanted = draw(subsets)
            entries.append(entry(ticket, draw(st.integers(1, len(wanted))), wanted, alive=alive, sharing=sharing))
    wanted = draw(subsets)
    mine = entry(99, draw(st.integers(1, len(wanted))), wanted, sharing=draw(st.integers(1, 3)))
    return [*entries, mine]


@given(scenes(), st.sets(st.sampled_from(UUIDS)))
def test_a_grant_is_whole_and_within_everybodys_terms(entries, closed):
    mine = entries[-1].record
    grant = pick(entries, 99, closed=closed)
    holders = {
        uuid: [one.record for one in entries if one.alive and one.holds(5.0) and uuid in one.record.devices]
        for uuid in UUIDS
    }
    if grant is None:
        # Nothing free was kept from it but for an older one.
        free = [uuid for uuid in mine.candidates if not holders[uuid] and uuid not in closed]
        assert len(free) < mine.count or any(one.waits() for one in entries[:-1])
        return
    assert len(set(grant.devices)) == mine.count
    assert set(grant.devices) <= set(mine.candidates) - closed
    assert set(grant.alone) == {uuid for uuid in grant.devices if not holders[uuid]}
    for uuid in grant.devices:
        room = min([mine.sharing, *(record.sharing for record in holders[uuid])])
        assert len(holders[uuid]) < room
        assert all(record.checked for record in holders[uuid])


@given(scenes(), st.sets(st.sampled_from(UUIDS)))
def test_the_oldest_that_could_be_served_is(entries, closed):
    """Whoever stands first in the queue gets free devices, whatever younger ones there are."""
    waiting = [one for one in entries if one.waits()]
    first = waiting[0]
    used = {uuid for one in entries if one.alive and one.holds(5.0) for uuid in one.record.devices}
    free = set(first.record.candidates) - used - closed
    if len(free) >= first.record.count:
        assert pick(entries, int(str(first.path)), closed=closed) is not None
