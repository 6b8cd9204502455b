"""Choosing among tasks, and suites of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openmle_env.errors import UnknownNameError, UsageError
from openmle_env.task_registry import catalogue, index, suites
from openmle_env.task_registry.filters import select
from openmle_env.task_registry.lookup import find
from openmle_env.task_registry.places import Place

HERE = Place("built-in", Path("/packs"), Path("/packs/index.json"))
THERE = Place("/mine", Path("/mine"), Path("/mine/index.json"))
BASE = index.builtin()["titanic"]._replace(higher_is_better=True)
TASKS = [
    catalogue.Known(BASE._replace(slug=slug, **facts), place)
    for place, slug, facts in [
        (HERE, "wine", {"modality": "tabular", "task_type": "regression", "licence": "CC-BY-4.0", "size": 5_000}),
        (
            HERE,
            "cats",
            {"modality": "image", "task_type": "binary classification", "gpus": 1, "size": 9**9, "tier": 1},
        ),
        (HERE, "memes", {"modality": "image+text", "task_type": "multilabel classification", "licence": "MIT OR X"}),
        (THERE, "birds", {"modality": "time series", "task_type": "forecasting", "fetched": True, "title": "Of Terns"}),
    ]
]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, "wine cats memes birds"),
        ({"modality": "IMAGE"}, "cats memes"),
        ({"modality": ["text", "time series"]}, "memes birds"),
        ({"modality": "text + image"}, "memes"),
        ({"task_type": "classification"}, "cats memes"),
        ({"task_type": "binary classification", "gpu": True}, "cats"),
        ({"gpu": False, "modality": "image"}, "memes"),
        ({"licence": ("mit", "cc-by-4.0")}, "wine memes birds cats"),
        ({"licence": "X"}, "memes"),
        ({"max_size": "5kB"}, "wine"),
        ({"max_size": 4_999}, ""),
        ({"tier": 1}, "cats"),
        ({"fetched": True}, "birds"),
        ({"source": "/mine"}, "birds"),
        ({"text": "terns TIME"}, "birds"),
        ({"suite": {"suite": "s", "tasks": ["wine", "Birds", "unknown"]}}, "wine birds"),
        ({"prepared": True}, ""),
    ],
)
def test_what_is_asked_has_to_hold(asked, found, tmp_path, home):
    if "suite" in asked:
        (tmp_path / "s.json").write_text(json.dumps(asked["suite"]))
        asked = {"suite": tmp_path / "s.json"}
    assert {task.entry.slug for task in select(TASKS, **asked)} == set(found.split())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"modality": "imag"}, "no modality 'imag'. Did you mean 'image'"),
        ({"task_type": "binary"}, "no task type 'binary'. Did you mean 'binary classification'"),
        ({"licence": "MI"}, "no licence 'mi'"),
        ({"source": "/min"}, "Did you mean '/mine'"),
        ({"tier": 4}, "no tier '4'. Known: 1, 2, 3"),
        ({"suite": "smok"}, "no suite 'smok'. Did you mean 'smoke'"),
    ],
)
def test_values_that_no_task_has_are_refused(asked, message):
    with pytest.raises(UnknownNameError, match=message):
        select(TASKS, **asked)


@pytest.mark.parametrize("size", ["", "MB", "-1MB", "1e3", "1 XB", "1,5GB", "9" * 400])
def test_what_is_no_size_is_refused(size):
    with pytest.raises(UsageError, match="such as 100MB"):
        select(TASKS, max_size=size)


def test_the_suites_of_this_package_are_of_its_tasks():
    known = index.builtin()
    for name in suites.names():
        assert set(suites.members(name)) <= known.keys(), name
    assert suites.members("all") == list(known)
    assert suites.load("smoke").gaps(find) == {}


def test_a_suite_is_written_with_versions_and_hashes(tmp_path, write_pack, finished):
    path = tmp_path / "mine.json"
    suites.write(path, "mine", [find("titanic")])
    assert suites.load(str(path)).gaps(find) == {}
    content = json.loads(path.read_text())
    content["tasks"][0]["version"] = "0.9"
    content["tasks"].append("no-such-task")
    path.write_text(json.dumps(content))
    suite = suites.load(path)
    assert suite.denominator == 2
    gaps = suite.gaps(find)
    assert "0.9" in gaps["titanic"]
    assert "no task" in gaps["no-such-task"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ('{"suite": "a", "tasks": []}', "tasks"),
        ('{"suite": "a", "tasks": ["x", "x"]}', "'x' stands twice"),
        ('{"suite": "a", "tasks": [{"task": "x", "verison": "1"}]}', "verison"),
        ('{"suite": "a", "tasks": [{"task": "x", "version": 1}]}', "version"),
    ],
)
def test_a_file_that_is_no_suite_is_refused(tmp_path, text, message):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(UsageError, match=message):
        suites.load(tmp_path / "s.json")


def test_an_empty_suite_is_not_written(tmp_path):
    with pytest.raises(UsageError, match="No task is left"):
        suites.write(tmp_path / "s.json", "s", [])
    with pytest.raises(UsageError, match=r"should end with \.json"):
        suites.write(tmp_path / "s.txt", "s", [find("titanic")])
    assert list(tmp_path.iterdir()) == []
