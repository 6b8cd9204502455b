"""The programs really run: on made-up tables, as processes of their own, and print no warnings."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from statistics import pstdev
from typing import TYPE_CHECKING

import pytest

from openmle_env.agents.grammar.families import FAMILIES
from openmle_env.agents.grammar.genome import Features, Genome, Origin
from openmle_env.agents.grammar.layout import read_layout
from openmle_env.agents.grammar.operators import cheaper, crossover, draft, generator
from openmle_env.agents.grammar.render import render
from tests.agents.grammar_tasks import make_spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from openmle_env.types import ColumnKind, TaskSpec

RICH = Features(
    categories="onehot",
    rare=3,
    missing=True,
    logs=True,
    small=True,
    titles=True,
    prefixes=True,
    lengths=True,
    groups=True,
    rates=True,
    crosses=True,
    components=20,
)
FIRST = ("Ada", "Carl", "Emmy", "Kurt", "Maria", "Paul")
LAST = ("Baker", "Clark", "Evans", "Green", "Hill", "King", "Moore", "Reed", "Scott", "Wood")
WORDS = ("storm", "rain", "hail", "mist", "snow", "ice", "frost", "sleet", "sun", "heat", "dust", "sand")


def write(path: Path, names: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(names), *rows])


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class Ran:
    """What a program left: the rows of its submission, and the score that it printed."""

    rows: list[dict[str, str]]
    score: float


BATCH = """
import contextlib, os, pathlib, runpy, sys
for folder in map(pathlib.Path, sys.argv[1:]):
    os.environ["OUTPUT_DIR"] = str(folder)
    with (folder / "stdout").open("w") as file, contextlib.redirect_stdout(file):
        runpy.run_path(str(folder / "program.py"), run_name="__main__")
"""


def run(programs: Mapping[str, str], data: Path, output: Path) -> dict[str, Ran]:
    """Run programs in one process, since importing the libraries takes longer than anything else."""
    for name, program in programs.items():
        (output / name).mkdir()
        (output / name / "program.py").write_text(program, encoding="utf-8")
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment |= {"DATA_DIR": str(data), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", BATCH, *(str(output / name) for name in programs)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return {name: _ran(output / name) for name in programs}


def _ran(folder: Path) -> Ran:
    printed = (folder / "stdout").read_text()
    return Ran(rows=read(folder / "submission.csv"), score=float(printed.rpartition("Final Validation Score: ")[2]))


def genome(spec: TaskSpec, family: str, features: Features = RICH) -> Genome:
    """A quick genome of one family."""
    drafted = draft(generator(7), read_layout(spec), family)
    quick = cheaper(read_layout(spec), replace(drafted, folds=3))
    assert quick is not None
    return replace(quick.genome, features=features)


def program(spec: TaskSpec, family: str, features: Features = RICH) -> str:
    return render(genome(spec, family, features), read_layout(spec), Origin("draft"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names, codes, categories, dates, gaps; ids with leading zeros; labels that read as missing or as numbers."""
    folder = tmp_path_factory.mktemp("mixed")
    rng = generator("mixed")

    def row(index: int) -> list[object]:
        sex = rng.choice(("Mr", "Mrs"))
        weight = rng.expovariate(0.1)
        code = f"{rng.choice('ABC')}{rng.randrange(30)}" if rng.random() < 0.7 else ""
        family = rng.choice(LAST)
        answer = (sex == "Mrs") + (weight > 8)
        return [
            f"{index:04}",
            f"{family}, {sex}. {rng.choice(FIRST)} {rng.choice(FIRST)}",
            code,
            rng.choice(("north", "south", "")),
            f"2020-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
            round(weight, 2) if rng.random() < 0.9 else "",
            rng.randrange(3),
            rng.choice((True, False)),
            ("NA", "01", 'it\'s "1"')[answer],
            round(10 * answer + weight, 3),
        ]

    names = ["key", "full name", "code", "region", "day", "we{igh}t", "class", "flag", "label", "amount"]
    rows = [row(index) for index in range(200)]
    write(folder / "train.csv", names, rows[:150])
    write(folder / "test.csv", names[:8], [row[:8] for row in rows[150:]])
    return folder


MIXED = ("key", "full name", "code", "region", "day", "we{igh}t", "class", "flag")


def mixed_spec(target: str, kind: ColumnKind, metric: str, *, higher_is_better: bool) -> TaskSpec:
    train = (*MIXED, "label", "amount")
    return make_spec(
        targets=(target,), kind=kind, metric=metric, higher_is_better=higher_is_better, train=train, test=MIXED
    )


def test_labels_and_ids_are_written_as_they_were_spelled(mixed: Path, tmp_path: Path) -> None:
    spec = mixed_spec("label", "label", "accuracy", higher_is_better=True)
    known = [row["label"] for row in read(mixed / "train.csv")]
    for ran in run({name: program(spec, name) for name in FAMILIES}, mixed, tmp_path).values():
        assert list(ran.rows[0]) == ["key", "label"]
        assert [row["key"] for row in ran.rows] == [f"{index:04}" for index in range(150, 200)]
        assert {row["label"] for row in ran.rows} <= {"NA", "01", 'it\'s "1"'}
        assert ran.score > max(Counter(known).values()) / len(known)  # better than the most frequent label


def test_regression_predicts_within_the_range_of_the_answers(mixed: Path, tmp_path: Path) -> None:
    spec = mixed_spec("amount", "number", "rmse", higher_is_better=False)
    known = [float(row["amount"]) for row in read(mixed / "train.csv")]
    for ran in run({name: program(spec, name) for name in FAMILIES}, mixed, tmp_path).values():
        assert list(ran.rows[0]) == ["key", "amount"]
        assert min(known) <= min(float(row["amount"]) for row in ran.rows)
        assert max(float(row["amount"]) for row in ran.rows) <= max(known)
        assert ran.score < pstdev(known)  # better than the mean


def test_coded_categories_and_samples_of_rows(mixed: Path, tmp_path: Path) -> None:
    spec = mixed_spec("amount", "integer", "rmsle", higher_is_better=False)
    programs = {
        style: program(spec, "hist_boosting", Features(categories=style, rates=True))
        for style in ("ordinal", "frequency")
    }
    for ran in run(programs, mixed, tmp_path).values():
        assert all(row["amount"].isdigit() for row in ran.rows)


@pytest.fixture(scope="module")
def tweets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes that only the words of a text give away, one of them with a single example."""
    folder = tmp_path_factory.mktemp("tweets")
    rng = generator("tweets")
    topics = {"wet": WORDS[:4], "cold": WORDS[4:8], "dry": WORDS[8:]}

    def row(index: int) -> list[object]:
        topic = "dry" if index == 0 else rng.choice(("wet", "cold"))
        text = " ".join(rng.choice(topics[topic] if rng.random() < 0.6 else WORDS) for _ in range(8))
        return [index, f"{text} 雨 {index}", topic]

    rows = [row(index) for index in range(140)]
    write(folder / "train.csv", ["id", "text", "topic"], rows[:100])
    write(folder / "test.csv", ["id", "text"], [row[:2] for row in rows[100:]])
    return folder


def test_texts_are_classified_though_one_class_is_rare(tweets: Path, tmp_path: Path) -> None:
    spec = make_spec(metric="f1_macro", targets=("topic",), train=("id", "text", "topic"), test=("id", "text"))
    programs = {
        "labels": render(
            crossover(generator(1), genome(spec, "linear"), genome(spec, "random_forest")).genome,
            read_layout(spec),
            Origin("crossover", (1, 2)),
        )
    }
    ran = run(programs, tweets, tmp_path)["labels"]
    assert {row["topic"] for row in ran.rows} <= {"wet", "cold", "dry"}
    assert ran.score > 0.45  # two of three classes are learnt; the third has one example


def test_one_column_of_classes_is_answered_with_a_column_for_each(tweets: Path, tmp_path: Path) -> None:
    targets = ("cold", "dry", "topic_wet")
    spec = make_spec(
        kind="probability", metric="log_loss", targets=targets, train=("id", "text", "topic"), test=("id", "text")
    )
    ran = run({"shares": program(spec, "random_forest")}, tweets, tmp_path)["shares"]
    assert list(ran.rows[0]) == ["id", *targets]
    for row in ran.rows:
        assert sum(float(row[name]) for name in targets) == pytest.approx(1)
    assert ran.score < 1.1


def test_two_questions_of_yes_and_no_are_answered_with_probabilities(tmp_path: Path) -> None:
    rng = generator("questions")
    rows = [[index, x := rng.random(), rng.random(), int(x > 0.5), int(x > 0.7)] for index in range(120)]
    write(tmp_path / "train.csv", ["id", "x", "noise", "half", "most"], rows[:80])
    write(tmp_path / "test.csv", ["x", "noise"], [row[1:3] for row in rows[80:]])
    write(tmp_path / "sample_submission.csv", ["id", "half", "most"], [[row[0], 0, 0] for row in rows[80:]])
    spec = make_spec(
        kind="probability",
        metric="roc_auc",
        targets=("half", "most"),
        train=("id", "x", "noise", "half", "most"),
        test=("x", "noise"),
    )
    ran = run({"answers": program(spec, "linear")}, tmp_path, tmp_path)["answers"]
    assert [row["id"] for row in ran.rows] == [str(index) for index in range(80, 120)]
    assert all(0 <= float(row[name]) <= 1 for row in ran.rows for name in ("half", "most"))
    assert ran.score > 0.9
