"""From turns and rates to the figures, the targets that they are held to, and rows for a table."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.commands.bench_memory import Memory
    from openmle_env.commands.bench_timing import Rate, Turn, Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured of one way. Times in seconds, medians of the turns; None where it was not measured."""

    key: str
    title: str
    backend: str
    kind: str
    seconds: float
    ratio: float | None
    """Of its time to that of the bare program."""
    compute: float | None
    """The program's own run time."""
    overhead: float | None
    """What is added to that; of a step of the environment, with the whole reset of its episode."""
    per_minute: float | None
    """Programs per minute of several workers."""
    rate_ratio: float | None
    """Of that to the bare program's."""
    rate_share: float | None
    """Of that to what the programs' own run time would allow."""
    driver_cpu: float | None
    """CPU seconds of the driving process for each program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One figure and its bound."""

    name: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the figure keeps its bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    @property
    def words(self) -> str:
        """The bound, for people."""
        return f"{'at least' if self.at_least else 'at most'} {self.bound:g}"


def figures(ways: Sequence[Way], turns: Mapping[str, Sequence[Turn]], rates: Mapping[str, Rate]) -> list[Figure]:
    """One figure for each way, in their order."""
    bare = statistics.median(turn.seconds for turn in turns["bare"]) if turns.get("bare") else None
    bare_rate = rates["bare"].per_minute if "bare" in rates else None
    found = []
    for way in ways:
        taken, rate = turns[way.key], rates.get(way.key)
        seconds = statistics.median(turn.seconds for turn in taken)
        known = [turn for turn in taken if turn.compute is not None]
        found.append(
            Figure(
                key=way.key,
                title=way.title,
                backend=way.backend,
                kind=way.kind,
                seconds=seconds,
                ratio=seconds / bare if bare else None,
                compute=statistics.median(turn.compute or 0.0 for turn in known) if known else None,
                overhead=statistics.median(turn.seconds + turn.reset - (turn.compute or 0.0) for turn in known)
                if known
                else None,
                per_minute=rate.per_minute if rate else None,
                rate_ratio=rate.per_minute / bare_rate if rate and bare_rate else None,
                rate_share=rate.per_minute / rate.allowed if rate and rate.allowed else None,
                driver_cpu=rate.driver_cpu if rate else None,
            )
        )
    return found


def targets(measured: Sequence[Figure], idle: Mapping[str, Memory | None]) -> list[Target]:
    """What the warm ways are held to, as far as it was measured."""
    found = []
    for figure in measured:
        for name, value, bound, at_least in _bounds(figure):
            if value is not None:
                name_ = f"{figure.title}: {name}"
                found.append(Target(name=name_, value=value, bound=bound, at_least=at_least))
    for backend, memory in idle.items():
        if memory is not None:
            name = f"{backend}, a warm box that waits: MiB of its own (shared: {memory.shared / MIB:.0f})"
            found.append(Target(name=name, value=memory.own / MIB, bound=130.0))
    return found


def _bounds(figure: Figure) -> list[tuple[str, float | None, float, bool]]:
    time, rate = "time, as a ratio to bare", "programs per minute, as a ratio to bare"
    if figure.kind == "single":
        return [(time, figure.ratio, 0.16, False), (rate, figure.rate_ratio, 1.0, True)]
    if figure.kind == "forked":
        share = "programs per minute, as a share of what their computing allows"
        return [
            (time, figure.ratio, 0.13, False),
            (rate, figure.rate_ratio, 7.0, True),
            (share, figure.rate_share, 0.9, True),
        ]
    if figure.kind.startswith("step-"):
        overhead = None if figure.overhead is None else 1000 * figure.overhead
        return [("ms over the program's own time, reset included", overhead, 25.0, False)]
    return []


HEADS = ("way", "s", "to bare", "own s", "added ms", "per minute", "to bare", "of own", "driver CPU ms")
"""The columns of `rows`: time, the program's own time, what is added to it; then several workers side by side."""


def rows(measured: Sequence[Figure]) -> list[list[str]]:
    """One row for each way, under `HEADS`; a dash where nothing was measured."""
    return [
        [
            figure.title,
            f"{figure.seconds:.3f}",
            _cell(figure.ratio, ".2f"),
            _cell(figure.compute, ".3f"),
            _cell(figure.overhead, ".1f", 1000),
            _cell(figure.per_minute, ".0f"),
            _cell(figure.rate_ratio, ".2f"),
            _cell(figure.rate_share, ".2f"),
            _cell(figure.driver_cpu, ".1f", 1000),
        ]
        for figure in measured
    ]


TARGET_HEADS = ("target", "measured", "bound", "")
"""The columns of `target_rows`."""


def target_rows(held: Sequence[Target]) -> list[list[str]]:
    """One row for each target, under `TARGET_HEADS`."""
    return [[target.name, f"{target.value:.3g}", target.words, "ok" if target.met else "not met"] for target in held]


def _cell(value: float | None, form: str, factor: float = 1.0) -> str:
    return "-" if value is None else format(factor * value, form)
