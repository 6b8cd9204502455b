"""What a model says of a task's modality, type and compute; strictly read, so that a wrong reply is none."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

from openmle_env.errors import PolicyError
from openmle_env.policies.protocol import Message, Request
from openmle_env.task_registry.metadata.rules import MODALITIES, TASKS

if TYPE_CHECKING:
    from openmle_env.policies.protocol import Policy
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.metadata.rules import Metadata

_OUT = re.compile(r"<out>\s*([^<>]*?)\s*</out>")
_MOST = 6_000
"""Characters of a description that are sent."""


def ask(policy: Policy, pack: Pack, metadata: Metadata) -> Metadata:
    """The metadata with what a model says, where the pack states nothing; where it does, a note if they differ.

    Raises:
        PolicyError: There is no reply, or none of the form that was asked for.
    """
    prompt = files(__package__).joinpath("prompt.md").read_text(encoding="utf-8")
    system = prompt.format(modalities=", ".join(MODALITIES), tasks=", ".join(TASKS))
    names = "\n".join(list(pack.members)[:100])
    user = f"Description:\n{pack.description[:_MOST]}\n\nFiles of the pack:\n{names}\n\nMetric: {metadata.metric}"
    request = Request(
        messages=(Message(role="system", content=system), Message(role="user", content=user)), temperature=0.0
    )
    modality, task_type, compute = read(policy.ask(request).text)
    stated = pack.config
    notes = [
        f"a model calls the {what} {said}"
        for what, said, known in (
            ("modality", modality, metadata.modality),
            ("task type", task_type, metadata.task_type),
        )
        if said not in known
    ]
    if compute != metadata.compute:
        notes.append(f"a model thinks that it needs a {compute}")
    return replace(
        metadata,
        modality=modality if stated.modality == "unknown" else metadata.modality,
        task_type=task_type if stated.task_type == "unknown" else metadata.task_type,
        notes=(*metadata.notes, *notes),
    )


def read(reply: str) -> tuple[str, str, str]:
    """Modality, task type and compute in a reply of two marked lines.

    Raises:
        PolicyError: It is of another form, or names something that was not offered.

    >>> read("Thinking... <out>Image, Text@Classification</out> and <out>GPU</out>")
    ('text+image', 'classification', 'GPU')
    """
    found = _OUT.findall(reply)
    if len(found) != 2 or found[0].count("@") != 1:
        raise PolicyError(
            f"The reply has not the form <out>MODALITY@TASK</out> <out>CPU or GPU</out>: {reply.strip()[:200]!r}."
        )
    left, task = (part.strip().casefold().replace("-", " ") for part in found[0].split("@"))
    kinds = {part.strip() for part in left.split(",")}
    compute = found[1].upper()
    for said, offered in ((kinds, set(MODALITIES)), ({task}, set(TASKS)), ({compute}, {"CPU", "GPU"})):
        if strange := sorted(said - offered):
            raise PolicyError(f"The reply names {strange[0]!r}, which was not offered: {', '.join(sorted(offered))}.")
    return "+".join(name for name in MODALITIES if name in kinds), task, compute
