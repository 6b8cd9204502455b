"""The episode as a table of plain text, for ``render_mode="ansi"``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openmle_env.envs.episode import Episode


def table(episode: Episode) -> str:
    """One line for each program, the best marked with ``*``, and the final result where there is one."""
    spec = episode.spec
    direction = "higher" if spec.higher_is_better else "lower"
    metric = "its own metric" if spec.metric == "pack" else spec.metric
    lines = [
        f"{spec.slug} · {metric}, {direction} is better · sandbox {episode.sandbox.name}",
        f"{episode.programs_left} of {spec.programs} programs and {max(episode.seconds_left, 0):.0f} s left",
        f"{'#':>5}  {'status':<24}  {'validation':>12}  {'reward':>10}  {'seconds':>8}",
    ]
    for outcome in episode.outcomes:
        mark = "*" if outcome is episode.best else " "
        lines.append(
            f"{outcome.index:>4}{mark}  {outcome.status:<24}  {_score(outcome.score):>12}  "
            f"{outcome.reward:>10.4g}  {outcome.execution.wall_seconds:>8.1f}"
        )
    final = episode.final
    if final is not None:
        chosen = f"program {final.selected}" if final.selected else "no program"
        lines.append(f"Selected {chosen}: {_score(final.test_score)} on the test part")
        if final.place:
            lines.append(f"On the leaderboard: {final.place}")
        if final.note:
            lines.append(final.note)
    return "\n".join(lines)


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.6g}"
