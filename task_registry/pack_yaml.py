"""Reading ``pack.yaml``: safe, strict, and with errors that say which line, which value and what to do."""

from __future__ import annotations

import math
import re
import reprlib
from datetime import date
from typing import TYPE_CHECKING, Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from yaml.composer import ComposerError

from openmle_env.errors import PackError, unknown_name
from openmle_env.task_registry import files
from openmle_env.task_registry.pack import PackConfig

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PACK_FILE = "pack.yaml"
MAX_BYTES = 1 << 20

_WANTED = {
    "model_type": "should be a block of 'key: value' lines",
    "dict_type": "should be a block of 'key: value' lines",
    "tuple_type": "should be a list, such as [a, b]",
    "string_type": "should be text",
    "string_too_short": "should not be empty",
    "bool_type": "should be true or false",
    "too_short": "needs an entry",
}
"""What pydantic asks for, in the words of YAML, by the kind of its fault."""
_NUMBER_KINDS = frozenset({"float_type", "int_type", "value_error"})
_EXPONENT = re.compile(r"([+-]?)([0-9]+\.?[0-9]*)[eE]([+-]?[0-9]+)")

Location = tuple[int | str, ...]


def read(path: Path, default_slug: str) -> PackConfig:
    """Read and check a ``pack.yaml``; ``default_slug`` is the name of a pack that states none.

    Raises:
        PackError: It cannot be read, is no YAML, or a key or value is wrong. Faults are listed, each with its line;
            what depends on another value is only looked at where that one is right.
    """
    try:
        with files.opened(path) as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise PackError(f"{path} is larger than {MAX_BYTES} bytes. A pack's data belongs beside it, not in it.")
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PackError(f"{path} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    return parse(text, path, default_slug=default_slug)


def parse(text: str, path: Path, *, default_slug: str) -> PackConfig:
    """Parse the text of a ``pack.yaml``; ``path`` only stands in messages.

    Raises:
        PackError: As for `read`.
    """
    values, root = _load(text, path)
    values.setdefault("slug", default_slug)
    try:
        return PackConfig.model_validate(values)
    except ValidationError as error:
        found = error.errors()
        faults = [
            _explain(fault["loc"], fault["type"], fault["msg"], fault["input"], root)
            for fault in found
            # A list whose entries are at fault counts as empty too, which it is not.
            if fault["type"] != "too_short" or not any(_is_below(other["loc"], fault["loc"]) for other in found)
        ]
        lines = [f"  line {line}: {message}" for line, message in sorted(faults)]
        raise PackError(f"{path} is not a valid task pack:\n" + "\n".join(lines)) from None


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML without what a pack has no use for.

    Refused are aliases, which can make a short text endless; tags, since the key says already what a value is; keys
    that stand twice; and escapes for what no text file can hold.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # PyYAML's stubs leave it untyped
            raise ComposerError(problem="an alias ('*name') stands for a value; write the value out", problem_mark=mark)
        tag = getattr(self.peek_event(), "tag", None)  # type: ignore[no-untyped-call]  # as above
        node = super().compose_node(parent, index)
        if node is not None and tag is not None:
            raise ComposerError(
                problem=f"the tag {tag!r} says what a value is; leave it out", problem_mark=node.start_mark
            )
        return node

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node = super().compose_scalar_node(anchor)
        if self.NON_PRINTABLE.search(node.value):
            problem = "an escape stands for a control character or half of a character; leave it out"
            raise ComposerError(problem=problem, problem_mark=node.start_mark)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ComposerError(problem="a key is not a single word", problem_mark=key.start_mark)
            if key.value in seen:
                problem = f"the key {key.value!r} stands twice; keep one of them"
                raise ComposerError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return node


def _load(text: str, path: Path) -> tuple[dict[str, Any], yaml.MappingNode]:
    try:
        loader = _StrictLoader(text)
        try:
            root = loader.get_single_node()
            values = loader.construct_document(root) if root else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise PackError(f"{path}{where}: not valid YAML: {error.problem or error.context}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # ValueError: a scalar such as the date 2024-99-99; RecursionError: a thousand brackets.
        raise PackError(f"{path}: not valid YAML: {str(error).splitlines()[0]}.") from error
    if not isinstance(values, dict) or not isinstance(root, yaml.MappingNode):
        raise PackError(f"{path} should hold 'key: value' lines, such as 'title: House prices'.")
    return values, root


def _explain(
    loc: Sequence[int | str], kind: str, message: str, value: object, root: yaml.MappingNode
) -> tuple[int, str]:
    """Line and wording of one of pydantic's faults."""
    line, place = _find(loc, root)
    if kind == "extra_forbidden":
        return line, f"{place}: {unknown_name('key', str(loc[-1]), _known_keys(loc[:-1]))}"
    if kind == "missing":
        return line, f"{place} is missing. Add it."
    if kind == "lacks":
        return line, f"{place}.{message}"
    if kind == "value_error":
        text = f"{place}{_shown(value, ' ')}: {message.removeprefix('Value error, ')}"
        hint = _number_hint(kind, value)
        return line, f"{text}. {hint}" if hint else text
    if kind == "invalid_key":
        return line, f"the key {value!r} is no text. Correct it, or put it in quotes."
    wanted = _WANTED.get(kind) or message.removeprefix("Input ")
    unquoted = kind == "string_type" and isinstance(value, bool | int | float | date)
    hint = "Put it in quotes." if unquoted else _number_hint(kind, value)
    return line, f"{place}{_shown(value, ' is ')}; it {wanted}. {hint}".rstrip()


def _number_hint(kind: str, value: object) -> str:
    """What to write instead of a number such as ``1e300``, which is text to YAML."""
    if kind not in _NUMBER_KINDS or not isinstance(value, str) or not (match := _EXPONENT.fullmatch(value)):
        return ""
    if math.isinf(float(value)):
        return ""
    sign, mantissa, exponent = match.groups()
    mantissa += "" if "." in mantissa else ".0"
    return f"To YAML that is text: write {sign}{mantissa}e{'' if exponent[0] in '+-' else '+'}{exponent}."


def _is_below(loc: Location, above: Location) -> bool:
    return len(loc) > len(above) and loc[: len(above)] == above


def _shown(value: object, before: str) -> str:
    if isinstance(value, dict):
        return ""
    if isinstance(value, date):
        return f"{before}{value}"
    return before + ("empty" if value is None else reprlib.repr(value))


def _find(loc: Sequence[int | str], root: yaml.MappingNode) -> tuple[int, str]:
    """Line of the value at ``loc`` (of the nearest block above where it is not there), and its readable path."""
    node: yaml.Node = root
    line, place = 1, ""
    for part in loc:
        if isinstance(part, int) and isinstance(node, yaml.SequenceNode) and part < len(node.value):
            node = node.value[part]
            line, place = node.start_mark.line + 1, f"{place}[{part}]"
        elif isinstance(node, yaml.MappingNode):
            place = f"{place}.{part}" if place else str(part)
            for key, value in node.value:
                if key.value == part:
                    node, line = value, key.start_mark.line + 1
    return line, place


def _known_keys(loc: Sequence[int | str]) -> list[str]:
    model: type[BaseModel] = PackConfig
    for part in loc:
        if isinstance(part, str) and part in model.model_fields:
            model = next(iter(_models(model.model_fields[part].annotation)), model)
    return list(model.model_fields)


def _models(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]
