from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.agents.grammar.families import FAMILIES
from openmle_env.agents.grammar.genome import (
    FEATURE_CHOICES,
    FOLDS,
    MARK,
    MAX_MODELS,
    ROWS,
    Features,
    Genome,
    Model,
    Origin,
    decode,
    encode,
)
from openmle_env.agents.grammar.operators import generator


def models(*, classifies: bool) -> st.SearchStrategy[Model]:
    def of(family: str) -> st.SearchStrategy[Model]:
        choices = FAMILIES[family].estimator(classifies=classifies).choices
        values = st.tuples(*(st.tuples(st.just(name), st.sampled_from(options)) for name, options in choices.items()))
        return values.map(lambda parameters: Model(family=family, parameters=parameters))

    return st.sampled_from(sorted(FAMILIES)).flatmap(of)


def genomes(*, classifies: bool) -> st.SearchStrategy[Genome]:
    choices: dict[str, st.SearchStrategy[Any]] = {name: st.sampled_from(v) for name, v in FEATURE_CHOICES.items()}
    return st.builds(
        Genome,
        models=st.lists(models(classifies=classifies), min_size=1, max_size=MAX_MODELS).map(tuple),
        features=st.builds(Features, **choices),
        folds=st.sampled_from(FOLDS),
        rows=st.sampled_from(ROWS),
        seed=st.integers(0, 10**6),
    )


def test_every_gene_has_choices_and_its_default_is_one() -> None:
    assert asdict(Features()).keys() == FEATURE_CHOICES.keys()
    for name, value in asdict(Features()).items():
        assert value in FEATURE_CHOICES[name]


@given(genomes(classifies=True), st.lists(st.integers(1, 99), max_size=2).map(tuple), st.text())
def test_a_genome_is_read_back_from_its_program(genome: Genome, parents: tuple[int, ...], change: str) -> None:
    origin = Origin("improve", parents, change)
    line = encode(genome, origin)
    assert "\n" not in line
    assert decode(line + "\nprint(1)\n", classifies=True) == (genome, origin)


@given(genomes(classifies=False))
def test_a_regressor_is_not_taken_for_a_classifier(genome: Genome) -> None:
    line = encode(genome, Origin("draft"))
    assert decode(line, classifies=False) == (genome, Origin("draft"))
    shared = {
        name for name, family in FAMILIES.items() if family.classifier.choices.keys() == family.regressor.choices.keys()
    }
    if not {model.family for model in genome.models} <= shared:
        assert decode(line, classifies=True) is None


@given(st.text())
def test_any_text_is_decoded_or_refused_without_an_exception(text: str) -> None:
    assert decode(MARK + text, classifies=True) is None
    assert decode(text, classifies=True) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    genomes(classifies=True),
    st.sampled_from(["operator", "parents", "change", "models", "features", "folds", "rows", "seed"]),
    json_values,
)
def test_a_damaged_field_is_refused_or_harmless(genome: Genome, field: str, value: object) -> None:
    content = json.loads(encode(genome, Origin("draft"))[len(MARK) :])
    content[field] = value
    found = decode(MARK + json.dumps(content), classifies=True)
    if found is not None and field not in {"operator", "parents", "change"}:
        back = encode(found[0], found[1])
        assert decode(back, classifies=True) == found


@pytest.mark.parametrize(
    "change",
    [
        {"folds": True},
        {"rows": 7},
        {"models": []},
        {"models": [{"family": "svm", "C": "__import__('os')", "gamma": 0.1}]},
        {"models": [{"family": "neural"}]},
        {"features": {"unknown": 1}},
        {"features": [1]},
        {"seed": "x"},
        {"seed": [1]},
    ],
)
def test_values_outside_the_grammar_are_refused(change: dict[str, object]) -> None:
    rng = generator(0)
    choices = FAMILIES["svm"].classifier.choices
    model = Model(family="svm", parameters=tuple((name, rng.choice(values)) for name, values in choices.items()))
    content = json.loads(encode(Genome(models=(model,)), Origin("draft"))[len(MARK) :])
    assert decode(MARK + json.dumps(content), classifies=True) is not None
    assert decode(MARK + json.dumps(content | change), classifies=True) is None
