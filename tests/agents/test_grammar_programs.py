from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmle_env.agents.grammar import GrammarAgent
from openmle_env.agents.grammar.families import FAMILIES
from openmle_env.agents.grammar.genome import Genome, Origin, decode
from openmle_env.agents.grammar.layout import read_layout
from openmle_env.agents.grammar.operators import crossover, draft, generator, neighbours
from openmle_env.agents.grammar.render import render
from openmle_env.agents.grammar.scoring import SCORINGS, Goal
from openmle_env.errors import UsageError
from openmle_env.types import ColumnKind, PublicFile
from tests.agents.grammar_tasks import make_spec
from tests.agents.test_grammar_genome import genomes

NAMES = st.text(min_size=1, max_size=12) | st.sampled_from(
    [
        "it's",
        'a "quoted" one',
        "{braces}",
        "{",
        "}}",
        "back\\slash",
        "new\nline",
        "\r",
        "\x00",
        "\ud800",
        "名前",
        "# coding: latin-1",
    ]
)


@given(genomes(classifies=True), NAMES, NAMES, NAMES, st.sampled_from(["label", "probability"]))
def test_classifiers_are_valid_python_whatever_the_columns_are_called(
    genome: Genome, key: str, target: str, other: str, kind: ColumnKind
) -> None:
    spec = make_spec(kind=kind, targets=(target,), train=(key, other, target), test=(key, other))
    _check(render(genome, read_layout(spec), Origin("draft")), genome, classifies=True, names=(key, target))


@given(
    genomes(classifies=False), NAMES, NAMES, st.sampled_from([n for n, s in SCORINGS.items() if s.goal is Goal.NUMBERS])
)
def test_regressors_are_valid_python_whatever_the_columns_are_called(
    genome: Genome, key: str, target: str, metric: str
) -> None:
    spec = make_spec(kind="integer", metric=metric, targets=(target,), train=(key, target), test=(key,))
    _check(render(genome, read_layout(spec), Origin("draft")), genome, classifies=False, names=(key, target))


def _check(program: str, genome: Genome, *, classifies: bool, names: tuple[str, str]) -> None:
    tree = ast.parse(program.encode())  # as bytes: a comment that reads as a coding declaration would fail
    assigned = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    assert ast.literal_eval(assigned["ID"]) == names[0]
    assert ast.literal_eval(assigned["TARGETS"]) == [names[1]]
    assert decode(program, classifies=classifies) == (genome, Origin("draft"))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**9))
def test_every_step_of_a_long_walk_renders_valid_python(seed: int) -> None:
    rng = generator(seed)
    layout = read_layout(make_spec(rows=30_000))
    genome = draft(rng, layout, rng.choice(sorted(FAMILIES)))
    for _ in range(10):
        step = rng.choice(list(neighbours(genome, layout)))
        other = draft(rng, layout, rng.choice(sorted(FAMILIES)))
        for made in (step, crossover(rng, step.genome, other)):
            origin = Origin("improve", (1,), made.change)
            program = render(made.genome, layout, origin)
            compile(program.encode(), "program.py", "exec")
            assert decode(program, classifies=True) == (made.genome, origin)
        genome = step.genome


@pytest.mark.parametrize("name", SCORINGS)
def test_every_metric_renders(name: str) -> None:
    kinds: dict[Goal, ColumnKind] = {Goal.LABELS: "label", Goal.PROBABILITIES: "probability", Goal.NUMBERS: "number"}
    spec = make_spec(metric=name, kind=kinds[SCORINGS[name].goal])
    program = GrammarAgent().propose(spec, ())
    assert SCORINGS[name].expression in program
    assert "The task has another metric" not in program


def test_a_metric_that_programs_cannot_compute_is_replaced_and_they_say_so() -> None:
    program = GrammarAgent().propose(make_spec(metric="pack"), ())
    assert "The task has another metric; this is accuracy." in program


def test_numbers_under_a_metric_of_classes_are_classes() -> None:
    assert read_layout(make_spec(kind="integer", metric="accuracy")).goal is Goal.LABELS
    assert read_layout(make_spec(kind="integer", metric="rmse")).goal is Goal.NUMBERS
    assert read_layout(make_spec(kind="number", metric="roc_auc")).goal is Goal.PROBABILITIES


def test_one_column_of_classes_answers_for_many_target_columns() -> None:
    layout = read_layout(make_spec(kind="probability", metric="log_loss", targets=("red", "blue")))
    assert layout.goal is Goal.SHARES
    assert layout.questions == ("answer",)
    assert not layout.stands_in


def test_ids_come_from_the_sample_where_the_test_table_has_none() -> None:
    assert read_layout(make_spec(test=("size", "kind"))).ids_from == "sample_submission.csv"
    assert read_layout(make_spec()).ids_from == "test.csv"


def test_tasks_that_are_no_tables_are_refused_with_their_files() -> None:
    files = (PublicFile(name="train.csv", size=1), PublicFile(name="photos.zip", size=1))
    with pytest.raises(UsageError, match=r"no test\.csv.*photos\.zip"):
        GrammarAgent().propose(make_spec(files=files), ())


def test_answers_that_are_not_there_are_named() -> None:
    with pytest.raises(UsageError, match="'missing'"):
        GrammarAgent().propose(make_spec(targets=("missing",)), ())


def test_two_agents_differ_and_one_repeats_itself() -> None:
    spec = make_spec()
    programs = [GrammarAgent(seed=seed).propose(spec, ()) for seed in range(8)]
    assert programs == [GrammarAgent(seed=seed).propose(spec, ()) for seed in range(8)]
    assert len(set(programs)) == 8
