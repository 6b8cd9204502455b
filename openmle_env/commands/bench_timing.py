"""Timing ways to run one program against each other: in turn, and several side by side for a while."""

from __future__ import annotations

import resource
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def _nothing() -> None:
    """The settling of a way that leaves nothing behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One run of the program. Times in seconds."""

    seconds: float
    """From the call to its return."""
    compute: float | None = None
    """The program's own run time, where the way tells it."""
    reset: float = 0.0
    """What beginning its episode took, for a way that has episodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to run the program."""

    kind: str
    """The name by which it is chosen, such as ``bare`` or ``forked``."""
    title: str
    """What it is, for people."""
    turn: Callable[[int], Turn]
    """Run the program once, for the worker of this number: workers run side by side."""
    settle: Callable[[], None] = _nothing
    """Wait until what a turn left to do in the background is done: it is no part of the next way's time."""
    backend: str = ""
    """The sandbox backend, where it is one of ours."""
    lasting: bool = False
    """Whether its rate is measured too."""

    @property
    def key(self) -> str:
        """Its name among all ways."""
        return f"{self.backend}:{self.kind}" if self.backend else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What several workers got done in a while, each beginning the next program as soon as its last one ended."""

    workers: int
    seconds: float
    programs: int
    compute: float | None
    """Mean of the programs' own run time in seconds, where the way tells it."""
    driver_cpu: float
    """CPU seconds of this process, for each program: what runs in the engine and in boxes is not counted."""

    @property
    def per_minute(self) -> float:
        """Programs per minute."""
        return 60 * self.programs / self.seconds

    @property
    def allowed(self) -> float | None:
        """Programs per minute if nothing but their own computing took time."""
        return 60 * self.workers / self.compute if self.compute else None


def in_turn(ways: Iterable[Way], rounds: int, report: Callable[[str, float], None]) -> dict[str, list[Turn]]:
    """Run each way once in each round; the first round is not counted, since it warms caches.

    Args:
        ways: The ways, in their order.
        rounds: How many turns of each way are counted.
        report: Is told what runs, and the share that is done.
    """
    ways = list(ways)
    turns: dict[str, list[Turn]] = {way.key: [] for way in ways}
    for number in range(rounds + 1):
        for place, way in enumerate(ways):
            turning = f"round {number} of {rounds}" if number else "first round, not counted"
            report(f"{turning}: {way.title}", (number + place / len(ways)) / (rounds + 1))
            turn = way.turn(0)
            if number:
                turns[way.key].append(turn)
            way.settle()
    return turns


@dataclass(slots=True)
class _Tally:
    """What the workers share."""

    opens: float
    closes: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: int = 0
    compute: list[float] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)


LEAD_SHARE, LEAST_LEAD = 0.25, 3.0
"""How long the workers run before programs are counted, as a share of the time that counts, and in seconds at least
where that is longer: boxes that waited at the start are used up by then, and those of sessions are there."""
SLICES = 3
"""Into how many the time of each way is cut, so that what else the machine does meets all ways alike."""
LEAST_SLICE = 5.0
"""The shortest slice in seconds."""


def rates(
    ways: Sequence[Way], *, workers: int, seconds: float, report: Callable[[str, float], None]
) -> dict[str, Rate]:
    """Let workers run each way for some seconds, the ways in turn, each in a few slices.

    Raises:
        BaseException: What a worker raised; the first of them.
    """
    slices = max(1, min(SLICES, int(seconds / LEAST_SLICE)))
    parts: dict[str, list[Rate]] = {way.key: [] for way in ways}
    for number in range(slices):
        for place, way in enumerate(ways):
            report(f"{workers} side by side: {way.title}", (number + place / len(ways)) / slices)
            parts[way.key].append(side_by_side(way, workers=workers, seconds=seconds / slices))
            way.settle()
    return {key: _joined(found) for key, found in parts.items()}


def _joined(parts: Sequence[Rate]) -> Rate:
    programs = sum(part.programs for part in parts)
    known = [(part.compute, part.programs) for part in parts if part.compute is not None]
    return Rate(
        workers=parts[0].workers,
        seconds=sum(part.seconds for part in parts),
        programs=programs,
        compute=sum(compute * count for compute, count in known) / max(1, programs) if known else None,
        driver_cpu=sum(part.driver_cpu * part.programs for part in parts) / max(1, programs),
    )


def side_by_side(way: Way, *, workers: int, seconds: float) -> Rate:
    """Let workers run a way for some seconds, after a lead that is not counted.

    Raises:
        BaseException: What a worker raised; the first of them.
    """
    began = time.perf_counter()
    opens = began + max(LEAD_SHARE * seconds, min(LEAST_LEAD, seconds))
    tally = _Tally(opens=opens, closes=opens + seconds)
    threads = [threading.Thread(target=_work, args=(way, number, tally), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    time.sleep(max(0.0, tally.opens - time.perf_counter()))
    before = _own_cpu()
    time.sleep(max(0.0, tally.closes - time.perf_counter()))
    cpu = _own_cpu() - before
    for thread in threads:
        thread.join()
    if tally.errors:
        raise tally.errors[0]
    return Rate(
        workers=workers,
        seconds=seconds,
        programs=tally.ended,
        compute=sum(tally.compute) / len(tally.compute) if tally.compute else None,
        driver_cpu=cpu / max(1, tally.ended),
    )


def _work(way: Way, number: int, tally: _Tally) -> None:
    try:
        while time.perf_counter() < tally.closes and not tally.errors:
            turn = way.turn(number)
            with tally.lock:
                if tally.opens <= time.perf_counter() < tally.closes:
                    tally.ended += 1
                    if turn.compute is not None:
                        tally.compute.append(turn.compute)
    except BaseException as error:  # noqa: BLE001  handed to the thread that waits for this one
        tally.errors.append(error)


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
