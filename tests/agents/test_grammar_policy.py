from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmle_env.agents.grammar import GrammarAgent
from openmle_env.agents.grammar.families import FAMILIES
from openmle_env.agents.grammar.genome import ROWS, Features, Genome, Origin, decode
from openmle_env.agents.grammar.layout import read_layout
from openmle_env.agents.grammar.operators import (
    cheaper,
    crossover,
    draft,
    family_order,
    generator,
    improve,
    neighbours,
    simpler,
)
from openmle_env.agents.protocol import Attempt
from openmle_env.types import ResultStatus
from tests.agents.grammar_tasks import make_outcome, make_spec, play_by_hand

SPEC = make_spec()
LAYOUT = read_layout(SPEC)
TIMEOUT, ERROR = ResultStatus.TIMEOUT, ResultStatus.CODE_EXECUTION_ERROR


def read(program: str) -> tuple[Genome, Origin]:
    found = decode(program, classifies=True)
    assert found is not None
    return found


def operators(history: list[Attempt]) -> list[str]:
    return [read(attempt.program)[1].operator for attempt in history]


@pytest.mark.parametrize("seed", range(10))
def test_eight_programs_are_four_drafts_of_different_families_and_four_changes(seed: int) -> None:
    history = play_by_hand(GrammarAgent(seed=seed), SPEC, [0.7, 0.8, 0.75, 0.6, 0.7, 0.7, 0.7, 0.7])
    assert operators(history) == [*["draft"] * 4, "crossover", "improve", "improve", "crossover"]
    assert len({read(attempt.program)[0].models[0].family for attempt in history[:4]}) == 4
    assert len({read(attempt.program)[0] for attempt in history}) == 8


def test_improvement_starts_from_the_best_in_the_metrics_direction() -> None:
    scores: list[float | ResultStatus | None] = [0.5, 0.9, 0.1, 0.4, 0.5, 0.5]
    high = play_by_hand(GrammarAgent(), SPEC, scores)
    assert read(high[5].program)[1].parents == (2,)
    low = play_by_hand(GrammarAgent(), replace(SPEC, higher_is_better=False), scores)
    assert read(low[5].program)[1].parents == (3,)


def test_hidden_scores_are_replaced_by_the_programs_own() -> None:
    agent = GrammarAgent()
    history: list[Attempt] = []
    for index, own in enumerate(["0.5", "0.6", "0.9", "0.1", "0.2"], 1):
        program = agent.propose(SPEC, history)
        outcome = make_outcome(program, index, score=None, stdout=f"noise\nFinal Validation Score: {own}\n")
        history.append(Attempt(program, outcome))
    assert read(agent.propose(SPEC, history))[1].parents == (3,)


def test_an_error_is_answered_with_a_simpler_program_then_with_another_family() -> None:
    history = play_by_hand(GrammarAgent(seed=1), SPEC, [ERROR, ERROR, ERROR, 0.5])
    first, second, third, _ = (read(attempt.program) for attempt in history)
    assert [first[1].operator, second[1].operator, third[1].operator] == ["draft", "debug", "draft"]
    assert second[1].parents == (1,)
    assert second[0].features == third[0].features == Features()
    assert second[0].models == first[0].models
    assert third[0].models[0].family != first[0].models[0].family


def test_a_timeout_is_answered_with_less_and_less_work_until_nothing_is_left() -> None:
    spec = make_spec(rows=200_000, programs=30)
    history = play_by_hand(GrammarAgent(), spec, [TIMEOUT] * 12)
    read_all = [read(attempt.program) for attempt in history]
    rows = [genome.rows for genome, _ in read_all]
    first = next(index for index, value in enumerate(rows) if value == 1_000)
    assert rows[: first + 1] == [value for value in (50_000, 20_000, 8_000, 3_000, 1_000) if value <= rows[0]]
    assert [origin.operator for _, origin in read_all[: first + 1]] == ["draft", *["debug"] * first]
    again = next(index for index, (_, origin) in enumerate(read_all[1:], 1) if origin.operator == "draft")
    assert read_all[again][0].models[0].family != read_all[0][0].models[0].family
    assert 0 < read_all[again][0].rows <= 8_000


def test_faults_of_the_machine_are_not_repaired() -> None:
    history = play_by_hand(GrammarAgent(), SPEC, [ResultStatus.SANDBOX_UNCONFIRMED, 0.5])
    assert operators(history) == ["draft", "draft"]


def test_foreign_programs_in_the_history_are_passed_over() -> None:
    history = [Attempt("print(1)", make_outcome("print(1)", 1, score=0.99))]
    genome, origin = read(GrammarAgent().propose(SPEC, history))
    assert origin.operator == "draft"
    assert len(genome.models) == 1
    failed = [Attempt("raise", make_outcome("raise", 1, status=ERROR))]
    assert read(GrammarAgent().propose(SPEC, failed))[1].operator == "draft"


def test_an_interrupted_episode_goes_on_as_if_it_had_not_been() -> None:
    results: list[float | ResultStatus | None] = [0.7, ERROR, 0.75, 0.6, 0.7, TIMEOUT, 0.8, 0.7]
    whole = play_by_hand(GrammarAgent(seed=4), SPEC, results)
    for length in range(len(whole)):
        assert GrammarAgent(seed=4).propose(SPEC, whole[:length]) == whole[length].program


@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.lists(st.floats(-1, 1) | st.none() | st.sampled_from(list(ResultStatus)[1:]), max_size=12),
)
def test_any_history_is_answered_with_a_program(
    seed: int, programs: int, results: list[float | ResultStatus | None]
) -> None:
    spec = make_spec(programs=programs, kind="number", metric="rmse", higher_is_better=False)
    for attempt in play_by_hand(GrammarAgent(seed=seed), spec, results):
        compile(attempt.program, "program.py", "exec")


def test_what_helped_before_is_tried_more_often() -> None:
    parent = draft(generator(0), LAYOUT, "linear")
    genes = []
    for seed in range(200):
        step = improve(generator(seed), LAYOUT, parent, {"features.rates": 9.0, "linear.C": 0.0}, ())
        assert step is not None
        genes.append(step.gene)
    assert genes.count("features.rates") > 60
    assert "linear.C" not in genes


def test_nothing_is_proposed_twice_and_the_end_is_told() -> None:
    parent = draft(generator(0), LAYOUT, "svm")
    tried = [step.genome for step in neighbours(parent, LAYOUT)]
    assert improve(generator(0), LAYOUT, parent, {}, tried) is None
    step = improve(generator(0), LAYOUT, parent, {}, tried[1:])
    assert step is not None
    assert step.change.startswith("features.categories")


def test_neighbours_differ_from_their_parent_and_from_one_another() -> None:
    parent = draft(generator(5), LAYOUT, "hist_boosting")
    found = [step.genome for step in neighbours(parent, LAYOUT)]
    assert parent not in found
    assert len(set(found)) == len(found)


def test_crossover_averages_both_and_inherits_each_gene() -> None:
    rng = generator(1)
    first, second = draft(rng, LAYOUT, "linear"), draft(rng, LAYOUT, "random_forest")
    child = crossover(rng, first, second).genome
    assert child.models == (*first.models, *second.models)
    for name in ("categories", "rare", "groups", "crosses", "components"):
        assert getattr(child.features, name) in {getattr(first.features, name), getattr(second.features, name)}
    grandchild = crossover(rng, child, second).genome
    assert [model.family for model in grandchild.models] == ["linear", "random_forest"]


def test_crossover_keeps_at_most_three_models() -> None:
    rng = generator(1)
    a, b, c, d = (draft(rng, LAYOUT, name) for name in ("linear", "svm", "bayes", "neighbors"))
    child = crossover(rng, crossover(rng, a, b).genome, crossover(rng, c, d).genome).genome
    assert len(child.models) == 3


def test_debugging_ends() -> None:
    plain = draft(generator(0), LAYOUT, "bayes", plain=True)
    once = simpler(plain)
    assert once is not None
    assert simpler(once.genome) is None
    genome, steps = draft(generator(0), LAYOUT, "random_forest"), 0
    while (step := cheaper(LAYOUT, genome)) is not None:
        genome, steps = step.genome, steps + 1
    assert 1 < steps < 8


@pytest.mark.parametrize("family", FAMILIES)
def test_drafts_sample_the_rows_of_large_tables(family: str) -> None:
    assert FAMILIES[family].rows in ROWS
    assert draft(generator(0), LAYOUT, family).rows == 0
    for rows in (50_000_000, None):
        large = read_layout(make_spec(rows=rows))
        assert draft(generator(0), large, family).rows == FAMILIES[family].rows
        assert draft(generator(0), large, family, plain=True).rows <= 8_000


def test_every_family_comes_in_time_and_the_stronger_ones_sooner() -> None:
    orders = [family_order(generator(seed)) for seed in range(200)]
    assert all(sorted(order) == sorted(FAMILIES) for order in orders)
    assert sum(order.index("random_forest") for order in orders) < sum(order.index("bayes") for order in orders)
