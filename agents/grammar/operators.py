"""The four operators of a search over genomes: draft, improve, debug, crossover.

Each is a function of a random generator and of what it works on; none keeps state.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from openmle_env.agents.grammar.families import FAMILIES
from openmle_env.agents.grammar.genome import (
    FEATURE_CHOICES,
    FOLDS,
    MAX_MODELS,
    ROWS,
    Features,
    Genome,
    Model,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openmle_env.agents.grammar.families import Value
    from openmle_env.agents.grammar.layout import Layout

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A changed genome, and the genes that were changed."""

    genome: Genome
    gene: str
    """Which gene, such as ``features.rates`` or ``svm.C``."""
    change: str
    """The change in words, ``gene: old -> new``."""


def generator(*key: int | str) -> random.Random:
    """A source of chance that is the same for the same key, in every process."""
    return random.Random(repr(key))  # noqa: S311  for a search that has to be repeatable, not for secrets


def family_order(rng: random.Random) -> list[str]:
    """All families in a random order in which the stronger ones tend to come first."""
    return sorted(FAMILIES, key=lambda name: rng.random() ** (1 / FAMILIES[name].weight), reverse=True)


def draft(rng: random.Random, layout: Layout, family: str, *, plain: bool = False) -> Genome:
    """A new genome of one family; ``plain`` leaves every optional feature out."""
    scaled = FAMILIES[family].scaled
    features = Features(
        categories="onehot" if scaled else rng.choice(("onehot", "ordinal")),
        rare=rng.choice((5, 10, 20)),
        missing=rng.random() < 0.7,
        logs=scaled or rng.random() < 0.3,
        small=scaled or rng.random() < 0.7,
        titles=rng.random() < 0.95,
        prefixes=rng.random() < 0.8,
        lengths=rng.random() < 0.5,
        groups=rng.random() < 0.9,
        rates=rng.random() < 0.9,
        crosses=rng.random() < (0.6 if scaled else 0.2),
        components=rng.choice((20, 50)),
    )
    most = FAMILIES[family].rows if not plain else min(FAMILIES[family].rows, 8_000)
    return Genome(
        models=(_random_model(rng, layout, family),),
        features=Features() if plain else features,
        folds=5 if (layout.rows or 1_000) < 500 else 3,
        rows=0 if layout.rows is not None and layout.rows <= most else most,
        seed=rng.randrange(1_000_000),
    )


def improve(
    rng: random.Random, layout: Layout, parent: Genome, credit: Mapping[str, float], tried: Sequence[Genome]
) -> Step | None:
    """One or two local changes of ``parent``; None where every neighbour was tried.

    Args:
        rng: The source of chance.
        layout: The task.
        parent: The genome to change.
        credit: For each gene changed before, by how much more (above 1) or less (below 1) to try it again.
        tried: Genomes not to propose again.
    """
    step = _pick(rng, list(neighbours(parent, layout)), credit, tried)
    if step is None or rng.random() < 0.5:
        return step
    others = [other for other in neighbours(step.genome, layout) if other.gene != step.gene]
    second = _pick(rng, others, credit, tried)
    if second is None:
        return step
    return Step(genome=second.genome, gene=step.gene, change=f"{step.change}; {second.change}")


def _pick(rng: random.Random, steps: list[Step], credit: Mapping[str, float], tried: Sequence[Genome]) -> Step | None:
    steps = [step for step in steps if step.genome not in tried]
    if not steps:
        return None
    # A gene with many neighbours is not more likely than one with few.
    crowd = {step.gene: sum(other.gene == step.gene for other in steps) for step in steps}
    weights = [credit.get(step.gene, 1.0) / crowd[step.gene] for step in steps]
    return rng.choices(steps, weights)[0]


def neighbours(genome: Genome, layout: Layout) -> Iterator[Step]:
    """Every genome that differs in one gene, by one step along its choices."""
    for name, choices in FEATURE_CHOICES.items():
        old = getattr(genome.features, name)
        for new in choices if name == "categories" else _beside(choices, old):
            if new != old:
                changes: dict[str, Any] = {name: new}
                features = replace(genome.features, **changes)
                yield _step(replace(genome, features=features), f"features.{name}", old, new)
    for index, model in enumerate(genome.models):
        estimator = FAMILIES[model.family].estimator(classifies=layout.classifies)
        for name, old in model.parameters:
            for new in _beside(estimator.choices[name], old):
                changed = _with(model, {name: new})
                yield _step(_exchange(genome, index, changed), f"{model.family}.{name}", old, new)
    if (layout.rows or 0) > ROWS[-2]:
        for new in _beside(ROWS, genome.rows):
            yield _step(replace(genome, rows=new), "rows", genome.rows, new)


def cheaper(layout: Layout, parent: Genome) -> Step | None:
    """Debug a program that ran out of time or memory: less work of the same kind; None where nothing is left to cut."""
    models = []
    for model in parent.models[:1]:
        choices = FAMILIES[model.family].estimator(classifies=layout.classifies).choices
        cost = {name for name in FAMILIES[model.family].cost if name in choices}
        lower = {
            name: choices[name][max(0, choices[name].index(value) - 2)]
            for name, value in model.parameters
            if name in cost
        }
        models.append(_with(model, lower))
    have = parent.rows or layout.rows or ROWS[1]
    genome = replace(
        parent,
        models=tuple(models),
        folds=FOLDS[max(0, FOLDS.index(parent.folds) - 1)],
        rows=next((rows for rows in ROWS[1:] if rows <= have / 2), ROWS[-1] if have > ROWS[-1] else parent.rows),
        features=replace(parent.features, crosses=False, components=20 if parent.features.components else 0),
    )
    if genome == parent:
        return None
    return Step(genome=genome, gene="debug", change="less work, after it ran out of time or memory")


def simpler(parent: Genome) -> Step | None:
    """Debug a program that failed: one model, no optional features; None where it is as simple already."""
    genome = replace(parent, models=parent.models[:1], features=Features(), folds=min(parent.folds, 3))
    if genome == parent:
        return None
    return Step(genome=genome, gene="debug", change="no optional features, after an error")


def crossover(rng: random.Random, first: Genome, second: Genome) -> Step:
    """Merge two genomes: the average of their models, on features inherited gene by gene."""
    models: dict[str, Model] = {}
    for mine, other in zip(_padded(first.models), _padded(second.models), strict=True):
        for model in (mine, other):
            if model is None:
                continue
            known = models.get(model.family)
            if known is None:
                if len(models) < MAX_MODELS:
                    models[model.family] = model
            else:  # the same family twice: each parameter from either
                pairs = zip(known.parameters, model.parameters, strict=True)
                models[model.family] = Model(family=model.family, parameters=tuple(rng.choice(pair) for pair in pairs))
    genes = {name: getattr(rng.choice((first, second)).features, name) for name in FEATURE_CHOICES}
    caps = [genome.rows for genome in (first, second) if genome.rows]
    genome = Genome(
        models=tuple(models.values()),
        features=Features(**genes),
        folds=min(first.folds, second.folds),
        rows=min(caps, default=0),
        seed=first.seed,
    )
    return Step(genome=genome, gene="crossover", change="models averaged, features of both")


def _random_model(rng: random.Random, layout: Layout, family: str) -> Model:
    choices = FAMILIES[family].estimator(classifies=layout.classifies).choices
    # Extreme values are left to improvements.
    inner = {name: values[1:-1] if len(values) > 2 else values for name, values in choices.items()}
    return Model(family=family, parameters=tuple((name, rng.choice(values)) for name, values in inner.items()))


def _beside(choices: Sequence[T], value: T) -> Iterator[T]:
    index = choices.index(value)
    if index:
        yield choices[index - 1]
    if index + 1 < len(choices):
        yield choices[index + 1]


def _with(model: Model, values: Mapping[str, Value]) -> Model:
    return replace(model, parameters=tuple((name, values.get(name, old)) for name, old in model.parameters))


def _exchange(genome: Genome, index: int, model: Model) -> Genome:
    return replace(genome, models=(*genome.models[:index], model, *genome.models[index + 1 :]))


def _padded(models: tuple[Model, ...]) -> tuple[Model | None, ...]:
    return (*models, *[None] * (MAX_MODELS - len(models)))


def _step(genome: Genome, gene: str, old: object, new: object) -> Step:
    return Step(genome=genome, gene=gene, change=f"{gene}: {old} -> {new}")
