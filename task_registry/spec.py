"""The public specification of a task, put together from its pack and from what was prepared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.types import TaskSpec

if TYPE_CHECKING:
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.manifest import Manifest


def build(pack: Pack, manifest: Manifest | None) -> TaskSpec:
    """The specification; without a manifest, as far as the pack states it, and with no files.

    Raises:
        PackError: The pack leaves out what is only known once it is prepared.
    """
    config = pack.config
    submission = manifest.submission if manifest else config.submission
    rewards = manifest.rewards if manifest else config.rewards
    metric = config.metric.ours()
    higher_is_better = manifest.higher_is_better if manifest else config.metric.higher_is_better
    if metric is not None:
        higher_is_better = metric.higher_is_better
    if submission is None or rewards is None or higher_is_better is None:
        raise PackError(
            f"{pack.slug} is not prepared, and its pack.yaml does not state submission, metric direction and rewards. "
            f"Prepare it first: openmle prepare {pack.address}"
        )
    return TaskSpec(
        slug=config.slug,
        version=config.version,
        title=config.title or config.slug,
        description=pack.description,
        modality=config.modality,
        task_type=config.task_type,
        metric=metric.name if metric else "pack",
        metric_parameters=dict(metric.given) if metric else {},
        metric_description=metric.description if metric else "",
        scored_rows=config.metric.rows,
        has_leaderboard=config.leaderboard is not None,
        higher_is_better=higher_is_better,
        submission=submission.as_schema(),
        files=manifest.public_files() if manifest else (),
        programs=config.budget.programs,
        seconds=config.budget.seconds,
        limits=config.program_limits(),
        reward_bounds=(rewards.worst, rewards.best),
        modules=config.modules,
        warm=config.warm_modules(),
    )
