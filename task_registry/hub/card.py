"""The card of a data set that holds a pack: what the hub reads, in its front matter, and what people read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.hub.edition import SharedPack

_LICENCES = {"apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "cc0-1.0", "gpl-2.0", "gpl-3.0", "lgpl-2.1",
             "lgpl-3.0", "odbl", "pddl", "unlicense"} | {
    f"cc-by{kind}-{version}"
    for kind, versions in (
        ("", "2.0 2.5 3.0 4.0"),
        ("-sa", "3.0 4.0"),
        ("-nc", "2.0 3.0 4.0"),
        ("-nd", "4.0"),
        ("-nc-nd", "3.0 4.0"),
        ("-nc-sa", "2.0 3.0 4.0"),
    )
    for version in versions.split()
}  # fmt: skip
"""Those that the hub takes: another word in its place, and it refuses the whole push."""
_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"))
_MODALITIES = {
    "tabular": "tabular",
    "text": "text",
    "image": "image",
    "audio": "audio",
    "video": "video",
    "time series": "timeseries",
}


def render(pack: Pack, shared: SharedPack, rows: int | None = None) -> str:
    """The text of the card.

    Args:
        pack: The pack.
        shared: What is shared of it.
        rows: Rows of its public tables, for the category of its size; left out if unknown.
    """
    config = pack.config
    parts = [_MODALITIES[part] for part in config.modality.split("+") if part in _MODALITIES]
    front: dict[str, object] = {
        "license": licence_id(config.data.licence),
        "pretty_name": config.title or pack.slug,
        "tags": ["openmle_env", "machine-learning-engineering", "benchmark", *_words(config.task_type)],
    }
    if parts:
        front["tags"] = [*front["tags"], *(f"modality:{part}" for part in parts)]  # type: ignore[misc]  # a list
    if rows is not None:
        front["size_categories"] = [next((name for most, name in _SIZES if rows < most), "n>10M")]
    size = sum(file.size for file in shared.files.values())
    has = "answers included" if shared.edition == "whole" else "the public part, without answers"
    return (
        f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n\n"
        f"# {config.title or pack.slug}\n\n"
        f"A task pack of openmle_env: `{pack.slug}`, version {pack.version}, {has}. "
        f"{len(shared.files)} files, {size:,} bytes.\n\n"
        f"| | |\n|---|---|\n"
        f"| modality | {config.modality} |\n| task type | {config.task_type} |\n| metric | {config.metric.name} |\n"
        f"| licence | {_cell(config.data.licence)} |\n| source | {_cell(config.data.source)} |\n"
        f"| hash of the pack | `{pack.hash}` |\n\n"
        f"## The task\n\n{pack.description.strip()}\n"
    )


def _words(task_type: str) -> list[str]:
    return [] if task_type == "unknown" else task_type.split()


def licence_id(licence: str) -> str:
    """The hub's name of a licence, or ``other``.

    >>> [licence_id(name) for name in ("CC-BY-4.0", "MIT (Copyright 2023 N. N.)", "CC-BY-1.0", "ODbL-1.0")]
    ['cc-by-4.0', 'mit', 'other', 'odbl']
    """
    first = re.split(r"[ ;(,]", licence.strip().lower(), maxsplit=1)[0]
    name = first.removesuffix("-1.0") if first.startswith(("odbl", "pddl")) else first
    return name if name in _LICENCES else "other"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
