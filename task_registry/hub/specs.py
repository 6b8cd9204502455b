"""The specifications of tasks as rows to train on: what an agent reads first, and nothing of what is hidden."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openmle_env.errors import UsageError
from openmle_env.files import write_whole
from openmle_env.task_registry.index import environment_id
from openmle_env.task_registry.lookup import load_task
from openmle_env.task_registry.render import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from openmle_env.sandbox.protocol import Sandbox


def rows(tasks: Iterable[str | Path], *, sandbox: Sandbox | None = None) -> Iterator[dict[str, object]]:
    """One row for each task; it is prepared where it was not before.

    Args:
        tasks: Names of tasks, or folders of packs.
        sandbox: Where the packs' own code runs; as for `openmle_env.task_registry.lookup.load_task`.

    Yields:
        ``environment_id``, ``task`` (its name), ``version``, ``hash``, ``prompt`` (the whole specification in Markdown,
        as `reset` shows it), ``modality``, ``task_type``, ``metric``, ``higher_is_better``, ``licence``, ``tier``.

    Raises:
        OpenMLEError: As for `load_task`.
    """
    for name in tasks:
        task = load_task(name, sandbox=sandbox)
        config = task.pack.config
        yield {
            "environment_id": environment_id(task.pack.slug),
            "task": task.pack.slug,
            "version": task.pack.version,
            "hash": task.pack.hash,
            "prompt": render(task.spec),
            "modality": config.modality,
            "task_type": config.task_type,
            "metric": config.metric.name,
            "higher_is_better": task.spec.higher_is_better,
            "licence": config.data.licence,
            "tier": config.tier,
        }


def dataset(tasks: Iterable[str | Path], *, sandbox: Sandbox | None = None) -> Any:
    """The same as a ``datasets.Dataset``, as trainers take it.

    Raises:
        UsageError: The library is not installed.
        OpenMLEError: As for `rows`.
    """
    try:
        import datasets
    except ImportError:
        raise UsageError("This needs the library datasets: pip install 'openmle-env[hub]'") from None
    return datasets.Dataset.from_list(list(rows(tasks, sandbox=sandbox)))


def write(path: Path, tasks: Iterable[str | Path], *, sandbox: Sandbox | None = None) -> int:
    """Write the rows as lines of JSON, which ``datasets.load_dataset("json", ...)`` reads; returns how many.

    Raises:
        OpenMLEError: As for `rows`.
    """
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows(tasks, sandbox=sandbox)]
    write_whole(path, "".join(lines).encode())
    return len(lines)
