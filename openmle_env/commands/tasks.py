"""``openmle list`` and ``openmle show``: what tasks there are, and the card of one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from openmle_env.commands.console import AsJson, emit, metric_name, table, tell

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="Name of a built-in task, or folder of a task pack.")]


def list_tasks(*, as_json: AsJson = False) -> None:
    """List the built-in tasks."""
    from openmle_env.task_registry import index  # only the command that runs pays for its imports
    from openmle_env.task_registry.folder import open_pack
    from openmle_env.task_registry.prepare import locate

    tasks = []
    for slug, entry in index.builtin().items():
        pack = open_pack(index.PACKS / slug)
        tasks.append((entry, pack.config.metric.name, locate(pack) is not None))
    if as_json:
        emit([{**asdict(entry), "metric": metric, "prepared": prepared} for entry, metric, prepared in tasks])
        return
    rows = [
        (entry.slug, entry.title, entry.modality, entry.task_type, metric_name(metric), "yes" if prepared else "no")
        for entry, metric, prepared in tasks
    ]
    table("", ("task", "title", "modality", "type", "metric", "prepared"), rows)


def show(task: TaskArgument, *, as_json: AsJson = False) -> None:
    """Show the card of a task: problem, files, metric, licence, references."""
    from openmle_env.task_registry.lookup import find  # only the command that runs pays for its imports
    from openmle_env.task_registry.prepare import locate
    from openmle_env.task_registry.render import card

    pack = find(task)
    text = card(pack)
    if not as_json:
        tell(text)
        return
    prepared = locate(pack)
    emit(
        {
            "hash": pack.hash,
            "folder": str(pack.root),
            "prepared": str(prepared.public) if prepared else None,
            "pack": pack.config.model_dump(mode="json"),
            "card": text,
        }
    )
