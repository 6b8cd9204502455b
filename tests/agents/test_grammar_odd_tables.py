"""The programs run on tables that leave little to learn from, and still answer every id."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from openmle_env.agents.grammar.families import FAMILIES
from openmle_env.agents.grammar.genome import Features, Origin
from openmle_env.agents.grammar.layout import read_layout
from openmle_env.agents.grammar.render import render
from tests.agents.grammar_tasks import make_spec
from tests.agents.test_grammar_runs import RICH, Ran, genome, run, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from openmle_env.types import ColumnKind


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., list[Ran]]:
    """Write a table, the columns that the test rows lack being the targets; run programs of each family and check ids.

    Each family runs with rich features and with none.
    """

    def run_all(
        names: Sequence[str],
        train: Sequence[Sequence[object]],
        test: Sequence[Sequence[object]],
        *,
        kind: ColumnKind = "label",
        metric: str = "accuracy",
        families: Sequence[str] = tuple(FAMILIES),
        header: Sequence[str] | None = None,
        rows: int = 0,
    ) -> list[Ran]:
        header, known, features = header or names, tuple(names), len(test[0])
        write(tmp_path / "train.csv", header, train)
        write(tmp_path / "test.csv", header[:features], test)
        spec = make_spec(kind=kind, metric=metric, targets=known[features:], train=known, test=known[:features])
        layout, genes = read_layout(spec), {"rich": RICH, "plain": Features()}
        programs = {
            f"{name}-{how}": render(replace(genome(spec, name, genes[how]), rows=rows), layout, Origin("draft"))
            for name in families
            for how in genes
        }
        ran = list(run(programs, tmp_path, tmp_path).values())
        for one in ran:
            assert [row[known[0]] for row in one.rows] == [str(row[0]) for row in test]
        return ran

    return run_all


def values(ran: Ran) -> list[str]:
    return [row["y"] for row in ran.rows]


@pytest.mark.parametrize("count", [1, 3])
def test_fewer_rows_than_folds(play: Callable[..., list[Ran]], count: int) -> None:
    train = [[i, i * 0.5, "ab"[i % 2], "xyz"[i]] for i in range(count)]
    for ran in play(("id", "a", "b", "y"), train, [[8, 0.5, "a"], [9, 1, "b"]]):
        assert set(values(ran)) <= set("xyz"[:count])


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_rows_of_numbers_than_folds(play: Callable[..., list[Ran]], count: int) -> None:
    train = [[i, i * 0.5, "ab"[i % 2], i * 10.0] for i in range(count)]
    for ran in play(("id", "a", "b", "y"), train, [[8, 0.5, "a"], [9, 1, "b"]], kind="number", metric="mae"):
        assert all(0 <= float(value) <= 10 * (count - 1) for value in values(ran))


def test_one_class(play: Callable[..., list[Ran]]) -> None:
    train = [[i, i % 3, "only"] for i in range(8)]
    for ran in play(("id", "a", "y"), train, [[8, 0], [9, 1]]):
        assert values(ran) == ["only", "only"]
        assert math.isnan(ran.score)


def test_probabilities_of_one_class(play: Callable[..., list[Ran]]) -> None:
    """A column of the class that means no asks for no probability of a yes."""
    expected = {"1": 1.0, "0": 0.0, "no": 0.0, "True": 1.0, "False": 0.0}
    train = [[i, i % 3, *expected] for i in range(8)]
    names = ("id", "a", *(f"y{only}" for only in expected))
    for ran in play(names, train, [[8, 0]], kind="probability", metric="log_loss", families=["linear"]):
        assert [float(ran.rows[0][f"y{only}"]) for only in expected] == list(expected.values())


FEATURELESS = {
    "missing": lambda i: "",
    "constant": lambda i: "same",
    "bad dates": lambda i: f"2020-{20 + i % 3}-99",
    "symbols": lambda i: f"!! {'?' * (i % 30 + 1)} .. {'+' * (i + 1)}",
    "different words": lambda i: f"{i:x}word {i:x}other {i:x}third",
}


@pytest.mark.parametrize("cell", FEATURELESS.values(), ids=FEATURELESS)
def test_nothing_to_learn_from(play: Callable[..., list[Ran]], cell: Callable[[int], object]) -> None:
    train = [[i, cell(i), "often" if i % 3 else "seldom"] for i in range(40)]
    for ran in play(("id", "a", "y"), train, [[i, cell(i)] for i in range(40, 43)]):
        assert set(values(ran)) <= {"often", "seldom"}


def test_no_column_but_the_id(play: Callable[..., list[Ran]]) -> None:
    train = [[i, i % 4] for i in range(20)]
    for ran in play(("id", "y"), train, [[20], [21]], kind="number", metric="rmse", families=["linear", "bayes"]):
        assert [float(value) for value in values(ran)] == pytest.approx([1.5, 1.5])


def test_huge_features(play: Callable[..., list[Ran]]) -> None:
    train = [[i, (-1) ** i * 1e308, 1e308, 10.0**i, "ab"[i % 2]] for i in range(30)]
    for ran in play(("id", "a", "b", "c", "y"), train, [[30, 1e308, 1e308, 5], [31, -1e308, 1e308, 5]]):
        assert set(values(ran)) <= {"a", "b"}


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_huge_and_tiny_answers(play: Callable[..., list[Ran]], size: float) -> None:
    train = [[i, i % 5, (i % 5 + 1) * size] for i in range(30)]
    families = ["linear", "random_forest", "svm", "bayes"]
    for ran in play(("id", "a", "y"), train, [[30, 0], [31, 4]], kind="number", metric="mae", families=families):
        low, high = (float(value) / size for value in values(ran))
        assert 0.99 <= low < high <= 5.01


def test_large_whole_numbers_are_written_in_full(play: Callable[..., list[Ran]]) -> None:
    train = [[i, i % 5, 10**25 * (i % 5 + 1)] for i in range(30)]
    for ran in play(("id", "a", "y"), train, [[30, 0]], kind="integer", metric="mae", families=["random_forest"]):
        assert all(value.isdigit() and len(value) >= 25 for value in values(ran))


def test_a_class_with_one_row_is_calibrated_and_may_be_left_out_of_a_sample(play: Callable[..., list[Ran]]) -> None:
    train = [[i, i % 7, f"rare {i}" if i < 9 else "ab"[i % 2]] for i in range(60)]
    for ran in play(("id", "a", "y"), train, [[60, 0], [61, 1]], families=["svm", "linear"], rows=30):
        assert set(values(ran)) <= {row[2] for row in train}


@pytest.mark.parametrize("kind", ["label", "number"])
def test_columns_called_like_placeholders(play: Callable[..., list[Ran]], kind: ColumnKind) -> None:
    metric = "accuracy" if kind == "label" else "mae"
    names = ("SCALE", "GUESS", "QUESTIONS", "my TABLE", "COMPONENTS", "CAP MODELS RATES REPEAT")
    train = [[i, i % 3, *[i % 3 for _ in names]] for i in range(12)]
    for ran in play(("id", "a", *names), train, [[12, 1]], kind=kind, metric=metric, families=["linear"]):
        assert list(ran.rows[0]) == ["id", *names]


def test_blanks_around_names(play: Callable[..., list[Ran]]) -> None:
    train = [[i, i % 2, i % 2] for i in range(12)]
    rans = play(
        ("id", "a", "y"), train, [[12, 1], [13, 0]], header=(" id ", "a ", " y"), families=["random_forest", "linear"]
    )
    for ran in rans:
        assert values(ran) == ["1", "0"]
