from __future__ import annotations

import logging
import math
from typing import Annotated, Literal

import numpy as np
import pytest

from openmle_env.errors import PackError, UnknownNameError, UsageError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import AnswerColumn, Golden, Metric, Option, Trial
from openmle_env.graders.metrics.name_search import _MEANT
from openmle_env.graders.metrics.parameters import declared
from openmle_env.graders.metrics.registry import aliases
from openmle_env.graders.rows import Array, Rows
from openmle_env.types import Column, ColumnKind, ResultStatus, SubmissionSchema


@pytest.mark.parametrize("name", metrics.names())
def test_golden_values(name: str) -> None:
    metric = metrics.get(name)
    assert metric.golden
    for golden in metric.golden:
        used, truth, predicted = metric.example(golden)
        assert not used.problems(predicted, truth), golden
        assert used(truth, predicted) == pytest.approx(golden.score, rel=1e-12, abs=1e-12), golden


@pytest.mark.parametrize("name", metrics.names())
def test_perfect_beats_noisy_beats_constant(name: str) -> None:
    metric = metrics.get(name)
    trial = metric.trial
    scores = []
    for predicted in (trial.perfect, trial.noisy, trial.constant):
        used, truth, rows = metric.example(trial.as_golden(predicted))
        assert not used.problems(rows, truth)
        scores.append(used(truth, rows) if metric.higher_is_better else -used(truth, rows))
    assert scores[0] > scores[1] > scores[2]
    if trial.chance is not None:
        assert abs(scores[2]) == pytest.approx(abs(trial.chance), abs=1e-12)


@pytest.mark.parametrize("name", metrics.names())
def test_the_order_of_rows_never_matters(name: str) -> None:
    metric = metrics.get(name)
    used, truth, predicted = metric.example(metric.trial.as_golden(metric.trial.noisy))
    order = np.random.default_rng(0).permutation(len(truth))
    assert used(truth.take(order), predicted.take(order)) == pytest.approx(used(truth, predicted), rel=1e-9)


@pytest.mark.parametrize("name", metrics.names())
def test_every_metric_is_described(name: str) -> None:
    metric = metrics.get(name)
    low, high = metric.range
    assert metric.name == name
    assert low < high
    assert metric.description.endswith(".")
    assert metric.source
    assert metric.degenerate
    assert {golden.kind or metric.kinds[0] for golden in metric.golden} <= set(metric.kinds)
    for parameter in metric.parameters:
        assert parameter.mark.description.endswith(".")
        if isinstance(parameter.mark, Option) and parameter.default != ():  # an empty list is only a default
            assert parameter.parse(parameter.default) == parameter.default


@pytest.mark.parametrize("alias", sorted(aliases()))
def test_another_name_is_the_same_metric_with_parameters(alias: str) -> None:
    name, parameters = aliases()[alias]
    assert metrics.get(alias).name == name
    assert set(metrics.get(alias).given) <= set(parameters)


def test_the_order_of_classes_counts_for_weighted_kappas_only() -> None:
    for name in metrics.names():
        metric = metrics.get(name)
        assert metric.ordered_by in {"", *(parameter.name for parameter in metric.parameters)}
    assert {name for name in (*metrics.names(), *aliases()) if metrics.get(name).orders_classes} == {
        *("qwk", "quadratic_weighted_kappa", "linear_weighted_kappa"),
    }
    assert not metrics.get("kappa", {"weights": "none"}).orders_classes


def test_parameters_at_their_defaults_are_not_listed() -> None:
    assert metrics.get("fbeta", {"beta": 1, "average": "macro"}) == metrics.get("f1_macro")
    assert metrics.get("fbeta", {"beta": 1}).given == {}


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'accuracy'"):
        metrics.get("acuracy")


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("RMSE", ("rmse", {})),
        ("c-index", ("concordance_index", {})),
        ("map@5", ("map_at_k", {"k": 5})),
        ("Log Loss", ("log_loss", {})),
        ("macro F1", ("fbeta", {"average": "macro"})),
        ("micro_f1", ("fbeta", {"average": "micro"})),
        ("multiclass_logloss", ("multiclass_log_loss", {})),
        ("chrF++", ("chrf++", {})),
    ],
)
def test_a_name_is_found_in_any_spelling(written: str, same: tuple[str, dict[str, object]]) -> None:
    assert metrics.get(written) == metrics.get(*same)


def test_no_two_metrics_share_a_name_in_any_spelling() -> None:
    for name in (*metrics.names(), *aliases()):
        assert metrics.get(name.upper().replace("_", " ")) == metrics.get(name)


def test_names_that_may_mean_several_metrics_are_not_guessed() -> None:
    for name, meant in _MEANT.items():
        with pytest.raises(UnknownNameError) as caught:
            metrics.get(name)
        assert all(f"'{one}'" in str(caught.value) for one in meant)
        assert set(meant) <= set(metrics.names())


def test_a_parameter_never_contradicts_the_name_that_states_it() -> None:
    with pytest.raises(UsageError, match="'map_at_5' stands for map_at_k with k=5, and k=3 was given"):
        metrics.get("map_at_5", {"k": "3"})
    assert metrics.get("map_at_5", {"k": "5.0"}) == metrics.get("map_at_k", {"k": 5})
    # The default of a library's function is no part of its name.
    assert metrics.get("mean_absolute_percentage_error", {"zero": "refuse"}) == metrics.get("mape", {"zero": "refuse"})
    assert metrics.get("map_at_3", {"empty": "match"}).given == {"k": 3, "empty": "match"}


def test_metrics_are_searched_by_name_and_description() -> None:
    assert [metric.name for metric in metrics.search("Cohen")] == ["kappa"]
    assert {"bleu", "rouge_l"} <= {metric.name for metric in (*metrics.search("BLEU"), *metrics.search("rouge-l"))}
    assert metrics.search("no such thing") == metrics.search(" - ") == ()


TRIAL = Trial(kind="integer", truth=(0, 1), perfect=(0, 1), noisy=(0, 0), constant=(1, 1))


def test_a_name_is_given_once() -> None:
    with pytest.raises(UsageError, match="already a metric 'accuracy'"):

        @metrics.metric(higher_is_better=True, range=(0, 1), kinds=(), source="", degenerate="", golden=(), trial=TRIAL)
        def accuracy(truth: Array, predicted: Array) -> float:
            raise NotImplementedError


def shaped(
    truth: Array,
    predicted: Array,
    *,
    k: Annotated[int, Option("Guesses.", low=1)] = 5,
    beta: Annotated[float, Option("Weight.", above=0)] = 1.0,
    average: Annotated[Literal["macro", "micro"], Option("Mean.")] = "macro",
    strict: Annotated[bool, Option("Strict.")] = False,
    at: Annotated[tuple[float, ...], Option("Thresholds.", low=0, high=1)] = (0.5,),
    words: Annotated[tuple[str, ...], Option("Words.")] = (),
    form: Annotated[Literal["", "a", "b"], Option("Form.", needed=True)] = "",
    weight: Annotated[Array | None, AnswerColumn("Weights.")] = None,
    groups: Annotated[Array | None, AnswerColumn("Groups.", many=True)] = None,
) -> float:
    return 0.0


PARAMETERS = {parameter.name: parameter for parameter in declared(shaped)}


@pytest.mark.parametrize(
    ("name", "given", "parsed"),
    [
        ("k", "7", 7),
        ("k", 7.0, 7),
        ("k", " 3 ", 3),
        ("beta", "0.5", 0.5),
        ("average", "micro", "micro"),
        ("strict", "yes", True),
        ("strict", False, False),
        ("at", "0.5, 0.75", (0.5, 0.75)),
        ("at", [0, 1], (0.0, 1.0)),
        ("words", "b, a,b", ("b", "a", "b")),
        ("words", [1, "a,b"], ("1", "a,b")),
        ("weight", "w", "w"),
        ("groups", "a, b", ("a", "b")),
        ("groups", ["a,b"], ("a,b",)),
    ],
)
def test_parameters_from_text_and_from_values(name: str, given: object, parsed: object) -> None:
    assert PARAMETERS[name].parse(given) == parsed


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("k", "0", "a whole number, at least 1"),
        ("k", "2.5", "a whole number"),
        ("k", True, "a whole number"),
        ("k", "nan", "a whole number"),
        ("k", "1e999", "a whole number"),
        ("beta", 0, "a number, greater than 0"),
        ("beta", None, "a number"),
        ("average", "mean", "one of 'macro', 'micro'"),
        ("strict", "maybe", "true or false"),
        ("at", "0.5,2", "numbers separated by commas, at least 0 and at most 1"),
        ("at", [], "numbers separated by commas"),
        ("at", "", "numbers separated by commas"),
        ("words", "a,,b", "texts separated by commas"),
        ("words", [], "texts separated by commas"),
        ("words", 3, "texts separated by commas"),
        ("form", "c", "one of 'a', 'b'"),
        ("weight", "", "the name of a column of the answers"),
        ("weight", 3, "the name of a column of the answers"),
        ("groups", "a,,b", "the names of columns of the answers"),
        ("groups", "a,a", "each once"),
        ("groups", [], "the names of columns of the answers"),
    ],
)
def test_parameters_that_are_not_what_they_should_be(name: str, given: object, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        PARAMETERS[name].parse(given)


def test_only_the_bounds_that_there_are_are_named() -> None:
    assert PARAMETERS["k"].expected == "a whole number, at least 1"
    assert PARAMETERS["beta"].expected == "a number, greater than 0"
    assert PARAMETERS["at"].expected == "numbers separated by commas, at least 0 and at most 1"


def test_a_parameter_that_does_not_exist() -> None:
    with pytest.raises(UnknownNameError, match="Metric hamming_loss has no parameters"):
        metrics.get("hamming_loss", {"k": 3})


def example(kind: ColumnKind = "integer", **columns: list[int]) -> Rows:
    described = {name: Column(name=name, kind=kind) for name in columns}
    values = {name: np.array(column) for name, column in columns.items()}
    ids = np.arange(len(next(iter(columns.values()))))
    return Rows(Column(name="id", kind="integer"), ids, described, values)


def made(value: float | Exception) -> Metric:
    def function(truth: Array, predicted: Array) -> float:
        if isinstance(value, Exception):
            raise value
        return value

    return Metric(
        name="made",
        function=function,
        higher_is_better=True,
        range=(0.0, math.inf),
        kinds=("integer",),
        truth="same",
        targets="column",
        arity=(1, 1),
        answered=None,
        parameters=(),
        aliases={},
        source="",
        degenerate="",
        golden=(),
        trial=TRIAL,
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.1])
def test_a_value_is_finite_and_in_range_or_an_error(value: float) -> None:
    rows = example(y=[1])
    with pytest.raises(PackError, match="no value"):
        made(value)(rows, rows)
    scored = made(value).score(rows, rows, range(len(rows)))
    assert (scored.status, scored.score) == (ResultStatus.METRIC_OR_ANSWER_MISSING, None)


def test_predictions_that_overflow_are_the_submissions_fault() -> None:
    truth, huge = example("number", y=[1.0]), example("number", y=[1e200])  # type: ignore[list-item]
    scored = made(math.inf).score(truth, huge, [0])
    assert scored.status is ResultStatus.SUBMISSION_INVALID
    assert "so large" in scored.message


def test_rounding_never_leaves_the_range() -> None:
    rows = example(y=[1])
    assert made(-1e-12)(rows, rows) == 0.0


@pytest.mark.parametrize("error", [ZeroDivisionError("secret"), ValueError("secret"), KeyError("secret")])
def test_a_metric_that_fails_is_the_tasks_fault_and_keeps_its_words(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    rows = example(y=[1])
    scored = made(error).score(rows, rows, range(len(rows)))
    assert scored.status is ResultStatus.SCORING_FAILED
    assert "secret" not in scored.message + caplog.text
    assert f"made failed: {type(error).__name__}" in caplog.text


def test_rows_must_be_aligned() -> None:
    with pytest.raises(PackError, match="same ids"):
        metrics.get("accuracy")(example(y=[1, 2]), example(y=[1]))
    with pytest.raises(PackError, match="at least one"):
        metrics.get("accuracy")(example(y=[]), example(y=[]))


def test_a_metric_refuses_targets_that_it_is_not_defined_for() -> None:
    number = SubmissionSchema(id=Column(name="id", kind="integer"), targets=(Column(name="y", kind="number"),))
    with pytest.raises(PackError, match="column 'y' is of kind number"):
        metrics.get("accuracy").accepts(number)


def test_golden_examples_build_their_rows() -> None:
    _, truth, predicted = metrics.get("accuracy").example(
        Golden(kind="integer", truth=(1, 2), predicted=(1, 3), score=0.5)
    )
    assert np.array_equal(truth.ids, predicted.ids)
    assert truth.values["target"].tolist() == [1, 2]


def test_plain_values_score_as_the_cells_of_files() -> None:
    assert metrics.get("rmse").value([1.5, 2], np.array([1.5, 4])) == pytest.approx(math.sqrt(2))
    probabilities = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    for truth in ([[1, 0, 0], [0, 1, 0]], np.eye(3, dtype=bool)[:2]):
        assert metrics.get("mlogloss").value(truth, probabilities) == pytest.approx(math.log(2) / 2)  # type: ignore[arg-type]
    by_name = metrics.get("mlogloss", {"truth_column": "animal"})
    found = by_name.value((), probabilities, names=["cat", "dog", "eel"], answers={"animal": ["cat", "dog"]})
    assert found == pytest.approx(math.log(2) / 2)
    assert metrics.get("qwk").value(["low", "high"], ["low", "high"], kind="label", labels=["low", "high"]) == 1.0


@pytest.mark.parametrize(
    ("truth", "predicted", "rest", "message"),
    [
        ([1, 2], [1, math.nan], {}, "1 of 2 values of column 'target' are wrong for the kind number .not_finite"),
        ([1, "x"], [1, 2], {}, "Answers: 1 of 2 values .* such as 'x'"),
        ([1], [1, 2], {}, "should have 2 values, not 1"),
        ([], [], {}, "0 predicted columns"),
        ([1], [1], {"names": ["a", "b"]}, "1 predicted columns, and 2 names"),
        ([(1, 2), (1,)], [(1, 2), (1, 2)], {}, "Not every row"),
        ([(1, 2), (3, 4)], [1, 3], {}, "The truth has 2 columns, and 1 can be compared"),
        ([1, 3], [(1, 2), (3, 4)], {}, "'target1' should have 2 values, not 0"),
    ],
)
def test_plain_values_that_are_wrong(
    truth: list[float], predicted: list[float], rest: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        metrics.get("mae").value(truth, predicted, **rest)  # type: ignore[arg-type]


def test_plain_values_of_the_wrong_form_are_refused() -> None:
    with pytest.raises(UsageError, match=r"Column 'target': 1 of 2 rows have not the form.* id '1': "):
        metrics.get("rmsle").value([1, 2], [1, -0.5])


def test_a_column_is_read_in_one_way() -> None:
    labels = Column(name="y", kind="label", labels=("a", "b"))
    schema = SubmissionSchema(id=Column(name="id", kind="integer"), targets=(labels,))
    with pytest.raises(PackError, match="the column 'y' of the answers as number and as label"):
        metrics.get("accuracy", {"weight": "y"}).truth_columns(schema)
