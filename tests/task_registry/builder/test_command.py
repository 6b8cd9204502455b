"""``openmle pack build`` as people type it: a dry run touches nothing, wrong use is named, the counts are shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from openmle_env import main
from openmle_env.task_registry.builder import state
from openmle_env.task_registry.builder.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


def test_a_dry_run_shows_the_plan_and_touches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert main.invoke(["pack", "build", "./data", "AI4Code", "titanic", "--to", "out", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(one["slug"], len(one["stages"])) for one in shown["plan"]] == [("data", 7), ("ai4code", 0), ("titanic", 7)]
    assert "MLE-bench" in shown["plan"][1]["note"]
    assert [text.split(":")[0] for text in shown["lacks"]] == ["a model", "Kaggle"]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["./data", "--stage", "prepair"], "Did you mean 'prepare'?"),
        (["./data", "--stage", "check", "--from-stage", "check"], "not both"),
        ([], "Name what to build from"),
        (["--status"], "Nothing was built into packs so far"),
        (["./data", "--execute"], "none was named"),
        (["./data", "--to", "data/a.csv"], "is not a folder"),
        (["./data", "--check-access"], "none of the sources is from there"),
        (["./data", "--info", "data/a.csv"], "has no column that names the source"),
    ],
)
def test_wrong_use_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    assert main.invoke(["pack", "build", *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_the_status_counts_what_the_state_files_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = {name: state.Stage(outcome="done", inputs="x") for name in state.STAGES}
    refused = state.Stage(outcome="unobtainable", inputs="x", reason="rules")
    failed = state.Stage(outcome="failed", inputs="x", reason="leak")
    tasks = {
        "a": {"stages": done},
        "b": {"stages": {"download": refused}},
        "c": {"stages": {**done, "check": failed}},
        "d": {"excluded": "MLE-bench"},
        "e": {"stages": {"download": done["download"]}},
    }
    for slug, values in tasks.items():
        work = Workspace(tmp_path, slug)
        work.make()
        state.write(
            work.folder, state.TaskState.model_validate({"slug": slug, "kind": "folder", "name": slug, **values})
        )
    assert main.invoke(["pack", "build", "--status", "--to", str(tmp_path), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["funnel"]
    lost = {one["slug"]: one["status"] for one in counts.pop("lost")}
    assert counts == {
        "candidates": 5, "eligible": 3, "executable": 2, "passed": 1,
        "excluded": 1, "unobtainable": 1, "failed": 1, "unfinished": 1,
    }  # fmt: skip
    assert lost == {"b": "unobtainable", "c": "failed", "d": "excluded", "e": "unfinished"}
