"""Changing single values in a ``pack.yaml`` that people wrote, leaving every other character as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import yaml

from openmle_env.errors import PackError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Location = tuple[str | int, ...]


def replace_scalars(text: str, values: Mapping[Location, str | float | None]) -> str:
    r"""Replace the scalars at the given places, such as ``("references", 0, "test_score")``.

    Raises:
        PackError: A place does not exist or holds no scalar: write it first, with ``null``.

    >>> replace_scalars("a:\n  - b: null  # measured\n", {("a", 0, "b"): 0.5})
    'a:\n  - b: 0.5  # measured\n'
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    spans = []
    for location, value in values.items():
        node = _find(root, location)
        # JSON's scalars are YAML's, too.
        spans.append((node.start_mark.index, node.end_mark.index, json.dumps(value, ensure_ascii=False)))
    for start, end, value_text in sorted(spans, reverse=True):
        text = text[:start] + value_text + text[end:]
    return text


def _find(root: yaml.Node | None, location: Location) -> yaml.ScalarNode:
    node: yaml.Node | None = root
    for part in location:
        if isinstance(part, str) and isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == part), None)
        elif isinstance(part, int) and isinstance(node, yaml.SequenceNode) and part < len(node.value):
            node = node.value[part]
        else:
            node = None
    if not isinstance(node, yaml.ScalarNode):
        place = ".".join(str(part) for part in location)
        raise PackError(f"The pack.yaml has no single value at {place}. Write it first: '{location[-1]}: null'.")
    return node
