"""The genome: the few decisions that a program of the grammar is made from, and their trace in its text.

The first line of each program is a comment that holds the genome as JSON, so that any program can be improved,
repaired or crossed, and an episode resumed, from the programs alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from openmle_env.agents.grammar.families import FAMILIES, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = "# openmle grammar: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """How the columns of a table become features. The defaults are the simplest."""

    categories: str = "onehot"
    """How categories become numbers."""
    rare: int = 10
    """Values that occur less often are put together."""
    missing: bool = False
    """One indicator for each column with gaps."""
    logs: bool = False
    """Logarithms of skewed numbers."""
    small: bool = False
    """Numbers with few different values are categories as well."""
    titles: bool = False
    """Words before a period in names, as categories."""
    prefixes: bool = False
    """Leading letters of codes, as categories."""
    lengths: bool = False
    """Lengths of texts."""
    groups: bool = False
    """How many rows share a code or the head of a name; numbers of the whole group divided by that."""
    rates: bool = False
    """Cross-fitted target means of these groups."""
    crosses: bool = False
    """Pairs of categories as one."""
    components: int = 0
    """Components kept of each long text's TF-IDF matrix; 0 leaves texts out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One estimator: a family, and a value for each of its parameters."""

    family: str
    parameters: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Genome:
    """Everything that distinguishes one program of a task from another."""

    models: tuple[Model, ...]
    """One to three; the predictions of several are averaged."""
    features: Features = field(default_factory=Features)
    folds: int = 5
    """Folds of the cross-validation."""
    rows: int = 0
    """At most so many training rows are used; 0 is all."""
    seed: int = 0
    """Seed of folds and estimators."""


FEATURE_CHOICES: Mapping[str, tuple[Value, ...]] = {
    "categories": ("onehot", "ordinal", "frequency"),
    "rare": (3, 5, 10, 20, 40),
    "missing": (False, True),
    "logs": (False, True),
    "small": (False, True),
    "titles": (False, True),
    "prefixes": (False, True),
    "lengths": (False, True),
    "groups": (False, True),
    "rates": (False, True),
    "crosses": (False, True),
    "components": (0, 20, 50, 100),
}
"""The values of each gene of `Features`; numbers are ordered, so that neighbours behave alike."""
FOLDS = (2, 3, 5)
ROWS = (0, 50_000, 20_000, 8_000, 3_000, 1_000)
MAX_MODELS = 3


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a genome came from."""

    operator: str
    parents: tuple[int, ...] = ()
    """Indices of the attempts (1 for the first) that it was made from."""
    change: str = ""
    """What was changed, as ``gene: old -> new``; empty for a draft."""


def encode(genome: Genome, origin: Origin) -> str:
    """The comment line for a program, without line end."""
    content = {
        "operator": origin.operator,
        "parents": origin.parents,
        "change": origin.change,
        "models": [{"family": model.family, **dict(model.parameters)} for model in genome.models],
        "features": asdict(genome.features),
        "folds": genome.folds,
        "rows": genome.rows,
        "seed": genome.seed,
    }
    return MARK + json.dumps(content)


def decode(program: str, *, classifies: bool) -> tuple[Genome, Origin] | None:
    """Read the genome back from a program; None where it is not a program of the grammar for such a task.

    Every value is checked against the grammar's choices: programs in a history may come from anywhere.
    """
    line = program.partition("\n")[0]
    if not line.startswith(MARK):
        return None
    try:
        content = json.loads(line[len(MARK) :])
        genome = Genome(
            models=tuple(_model(item, classifies=classifies) for item in content["models"]),
            features=Features(
                **{name: _chosen(content["features"][name], FEATURE_CHOICES[name]) for name in content["features"]}
            ),
            folds=_chosen(content["folds"], FOLDS),
            rows=_chosen(content["rows"], ROWS),
            seed=_natural(content["seed"]),
        )
        origin = Origin(
            operator=str(content["operator"]),
            parents=tuple(_natural(parent) for parent in content["parents"]),
            change=str(content["change"]),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return (genome, origin) if 1 <= len(genome.models) <= MAX_MODELS else None


def _model(item: Mapping[str, Value], *, classifies: bool) -> Model:
    family = str(item["family"])
    choices = FAMILIES[family].estimator(classifies=classifies).choices
    if item.keys() != {"family", *choices}:
        raise ValueError("parameters of another estimator")
    return Model(family=family, parameters=tuple((name, _chosen(item[name], choices[name])) for name in choices))


def _natural(value: object) -> int:
    if type(value) is int and 0 <= value < 2**32:  # what scikit-learn takes for a seed
        return value
    raise ValueError(f"{value!r} is not a natural number")


def _chosen(value: Any, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    raise ValueError(f"{value!r} is none of {choices}")
