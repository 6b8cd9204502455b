from __future__ import annotations

import logging
import math

import pytest

from openmle_env.errors import PackError, UnknownNameError, UsageError
from openmle_env.graders import metrics
from openmle_env.graders.metrics import Golden, Metric
from openmle_env.graders.rows import Rows
from openmle_env.types import Column, ColumnKind, ResultStatus, SubmissionSchema


@pytest.mark.parametrize("name", metrics.names())
def test_golden_values(name: str) -> None:
    metric = metrics.get(name)
    assert metric.golden
    for golden in metric.golden:
        assert metric(*golden.rows()) == pytest.approx(golden.score, rel=1e-12)


@pytest.mark.parametrize("name", metrics.names())
def test_every_metric_is_described(name: str) -> None:
    metric = metrics.get(name)
    low, high = metric.range
    assert metric.name == name
    assert low < high
    assert metric.description.endswith(".")
    assert metric.source
    assert metric.degenerate
    assert {golden.kind for golden in metric.golden} <= metric.kinds


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'accuracy'"):
        metrics.get("acuracy")


def test_a_name_is_given_once() -> None:
    with pytest.raises(UsageError, match="already a metric 'accuracy'"):

        @metrics.metric(higher_is_better=True, range=(0, 1), kinds=(), source="", degenerate="", golden=())
        def accuracy(truth: Rows, predicted: Rows) -> float:
            raise NotImplementedError


def example(kind: ColumnKind = "integer", **columns: list[int]) -> Rows:
    targets = tuple(Column(name=name, kind=kind) for name in columns)
    schema = SubmissionSchema(id=Column(name="id", kind="integer"), targets=targets)
    return Rows(schema, [str(i) for i in range(len(next(iter(columns.values()))))], columns)


def test_accuracy_of_several_targets_asks_for_all_of_them() -> None:
    assert metrics.get("accuracy")(example(a=[1, 1], b=[2, 2]), example(a=[1, 1], b=[2, 3])) == 0.5


def test_accuracy_ranks_perfect_above_noisy_above_constant() -> None:
    truth = example(y=[0, 1, 2, 0, 1, 2])
    perfect, noisy, constant = ([0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 1, 0], [0] * 6)
    scores = [metrics.get("accuracy")(truth, example(y=values)) for values in (perfect, noisy, constant)]
    assert scores == [1.0, 5 / 6, 1 / 3]


def made(value: float | Exception) -> Metric:
    def function(truth: Rows, predicted: Rows) -> float:
        if isinstance(value, Exception):
            raise value
        return value

    return Metric(
        name="made",
        function=function,
        higher_is_better=True,
        range=(0.0, math.inf),
        kinds=frozenset({"integer"}),
        source="",
        degenerate="",
        golden=(),
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.1])
def test_a_value_is_finite_and_in_range_or_an_error(value: float) -> None:
    rows = example(y=[1])
    with pytest.raises(PackError, match="no value"):
        made(value)(rows, rows)
    scored = made(value).score(rows, rows, range(len(rows)))
    assert (scored.status, scored.score) == (ResultStatus.METRIC_OR_ANSWER_MISSING, None)


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
    with pytest.raises(PackError, match="column 'y' is of kind number"):
        metrics.get("accuracy").accepts(example("number", y=[1]).schema)


def test_golden_examples_build_their_rows() -> None:
    truth, predicted = Golden(kind="integer", truth=(1, 2), predicted=(1, 3), score=0.5).rows()
    assert truth.ids == predicted.ids
    assert truth.columns["target"] == (1, 2)
