"""Parameters of a metric: declared in its function's signature, given as text or as values, checked before use.

A parameter is a keyword with a default, annotated with what it means::

    k: Annotated[int, Option("How many guesses count.", low=1)] = 5
    weight: Annotated[Array | None, AnswerColumn("Weight of each row.", kind="number")] = None

The second is given as the name of a column of the answers; the function gets that column's values. With ``many=True``
it is given as several names, and the function gets an array of shape (rows, columns).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from inspect import Parameter as Argument
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from openmle_env.errors import UnknownNameError, UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openmle_env.types import ColumnKind

CONTEXT = ("classes", "names")
"""Keywords that are no parameters: the classes behind the codes, and the names of the target columns."""

Kind = Literal["integer", "number", "flag", "choice", "text", "numbers", "texts", "column", "columns"]

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Option:
    """Marks a parameter that is a value."""

    description: str
    low: float = -math.inf
    """The least number, itself allowed."""
    high: float = math.inf
    """The greatest number, itself allowed."""
    above: float = -math.inf
    """A number must be greater than this."""
    needed: bool = False
    """Whether the metric is undefined without it."""


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """Marks a parameter that names a column of the answers."""

    description: str
    kind: ColumnKind | Literal["binary", "class"] = "number"
    """How its cells are read: ``binary`` as 0 or 1 in any spelling, ``class`` as the name of one target column."""
    replaces_targets: bool = False
    """Where it is given, the answers hold it instead of the target columns."""
    needed: bool = False
    """Whether the metric is undefined without it."""
    many: bool = False
    """Whether it names one column or more, rather than one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter, as the signature declares it."""

    name: str
    kind: Kind
    default: Any
    mark: Option | AnswerColumn
    choices: tuple[str, ...] = ()

    def parse(self, value: object) -> Any:
        """The value in its type, from text (a command line) or from a value (a configuration file).

        Raises:
            UsageError: It is of another type, out of range, or none of the choices.
        """
        if isinstance(value, str) and not (self.kind == "text" and value.isspace()):  # a tab can be a separator
            value = value.strip()
        try:
            parsed = self._convert(value)
        except (ValueError, OverflowError):
            parsed = None
        if parsed is None:
            raise UsageError(
                f"Parameter {self.name}={value!r} should be {self.expected}. Its meaning: {self.mark.description}"
            )
        return parsed

    @property
    def expected(self) -> str:
        """What a value should be, in words."""
        if self.kind == "choice":
            # Where it has to be given, the empty choice only stands for its absence.
            return f"one of {', '.join(repr(choice) for choice in self.choices if choice or not self.mark.needed)}"
        words = {
            "integer": "a whole number",
            "number": "a number",
            "flag": "true or false",
            "text": "a text",
            "numbers": "numbers separated by commas",
            "texts": "texts separated by commas",
            "column": "the name of a column of the answers",
            "columns": "the names of columns of the answers, separated by commas, each once",
        }[self.kind]
        if not isinstance(self.mark, Option):
            return words
        bounds = [f"greater than {self.mark.above:g}"] if self.mark.above > -math.inf else []
        bounds += [f"at least {self.mark.low:g}"] if self.mark.low > self.mark.above else []
        bounds += [f"at most {self.mark.high:g}"] if self.mark.high < math.inf else []
        return f"{words}, {' and '.join(bounds)}" if bounds else words

    def _convert(self, value: object) -> Any:
        match self.kind:
            case "choice":
                return value if value in self.choices else None
            case "text":
                return value if isinstance(value, str) else None
            case "column":
                return value if isinstance(value, str) and value else None
            case "flag":
                return value if isinstance(value, bool) else _WORDS.get(str(value).lower())
            case "texts" | "columns" | "numbers":
                return self._items(value.split(",") if isinstance(value, str) else value)
            case "integer" | "number":
                return self._number(value)

    def _items(self, items: object) -> tuple[Any, ...] | None:
        """At least one item, and each as it should be; None for anything else."""
        if not isinstance(items, list | tuple) or not items:
            return None
        if self.kind == "numbers":
            numbers = tuple(self._number(item) for item in items)
            return None if None in numbers else numbers
        texts = tuple(str(item).strip() for item in items)
        twice = self.kind == "columns" and len(set(texts)) < len(texts)
        return texts if all(texts) and not twice else None

    def _number(self, value: object) -> float | int | None:
        """A finite number within the bounds; None for anything else."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        number = float(value)
        if not math.isfinite(number):
            return None
        if isinstance(self.mark, Option) and not (
            self.mark.low <= number <= self.mark.high and number > self.mark.above
        ):
            return None
        if self.kind != "integer":
            return number
        return int(number) if number == int(number) else None


def declared(function: Callable[..., float]) -> tuple[Parameter, ...]:
    """The parameters in a metric's signature.

    Raises:
        UsageError: A keyword is not annotated as this module asks for.
    """
    hints = get_type_hints(function, include_extras=True)
    found = []
    for argument in signature(function).parameters.values():
        if argument.kind is not Argument.KEYWORD_ONLY or argument.name in CONTEXT:
            continue
        marks = [mark for mark in get_args(hints[argument.name])[1:] if isinstance(mark, Option | AnswerColumn)]
        if len(marks) != 1 or argument.default is Argument.empty:
            raise UsageError(
                f"Keyword {argument.name!r} of metric {function.__name__} needs a default and an annotation "
                "Annotated[type, Option(...)] or Annotated[type, AnswerColumn(...)]."
            )
        found.append(_parameter(argument, get_args(hints[argument.name])[0], marks[0]))
    return tuple(found)


def _parameter(argument: Argument, declared_type: Any, mark: Option | AnswerColumn) -> Parameter:
    kind: Kind
    choices: tuple[str, ...] = ()
    if isinstance(mark, AnswerColumn):
        kind = "columns" if mark.many else "column"
    elif get_origin(declared_type) is Literal:
        kind, choices = "choice", get_args(declared_type)
    else:
        kinds: dict[Any, Kind] = {
            int: "integer",
            float: "number",
            bool: "flag",
            str: "text",
            tuple[float, ...]: "numbers",
            tuple[str, ...]: "texts",
        }
        if declared_type not in kinds:
            raise UsageError(f"Keyword {argument.name!r} of a metric cannot be of type {declared_type!r}.")
        kind = kinds[declared_type]
    return Parameter(name=argument.name, kind=kind, default=argument.default, mark=mark, choices=choices)


def bind(metric: str, parameters: tuple[Parameter, ...], given: Mapping[str, object]) -> dict[str, Any]:
    """The given parameters in their types; those left out keep their defaults and are not listed.

    Raises:
        UsageError: A parameter does not exist, or its value is not what it should be.
    """
    known = {parameter.name: parameter for parameter in parameters}
    bound = {}
    for name, value in given.items():
        if name not in known:
            if not known:
                raise UnknownNameError(f"Metric {metric} has no parameters, so {name!r} is none. Leave it out.")
            raise UnknownNameError(f"Metric {metric}: {unknown_name('parameter', name, known)}")
        try:
            bound[name] = known[name].parse(value)
        except UsageError as error:
            raise UsageError(f"Metric {metric}: {error}") from None
    return bound
