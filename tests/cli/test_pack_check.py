"""``openmle pack check``: many packs at once, counts, the report, and exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from openmle_env.main import invoke
from openmle_env.task_registry.quality.report import Report

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PACK = {
    "pack.yaml": 'version: "1"\nmetric: {name: accuracy}\n',
    "data/public/description.md": "Predict kind, by train.csv, for test.csv; accuracy counts.",
    "data/public/train.csv": "id,x,kind\n1,3,cat\n2,9,dog\n",
    "data/public/test.csv": "id,x\n" + "".join(f"{n},{n}\n" for n in range(3, 11)),
    "data/public/sample_submission.csv": "id,kind\n" + "".join(f"{n},cat\n" for n in range(3, 11)),
    "data/private/test_answer.csv": "id,kind\n" + "".join(f"{n},{'cat' if n % 3 else 'dog'}\n" for n in range(3, 11)),
}


def write(root: Path, **changes: str) -> str:
    for name, text in {**PACK, **{name.replace("__", "/") + ".csv": text for name, text in changes.items()}}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return str(root)


def test_one_bad_pack_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENMLE_SANDBOX", "scripted")
    (tmp_path / "empty").mkdir()
    leaky = write(tmp_path / "leaky", data__public__test=PACK["data/private/test_answer.csv"])
    packs = [str(tmp_path / "empty"), leaky, write(tmp_path / "fine"), str(tmp_path / "nowhere")]
    code = invoke(
        ["pack", "check", *packs, "--checks", "structure,columns", "--report", str(tmp_path / "r.json"), "--json"]
    )
    assert code == 1
    document = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "r.json").read_text()) == document
    assert document["counts"] == {"candidates": 4, "eligible": 2, "executable": 1, "passed": 1, "stored": 4}
    reports = [one["report"] and Report.model_validate(one["report"]) for one in document["packs"]]
    assert [report.failed_hard for report in reports[:3]] == [True, True, False]
    assert reports[3] is None
    assert "There is no folder" in document["packs"][3]["error"]


def test_misspelt_check_and_no_pack_are_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["pack", "check", "titanic", "--checks", "leeks"]) == 2
    assert "Did you mean 'leaks'" in capsys.readouterr().err
    assert invoke(["pack", "check"]) == 2
    assert "--suite" in capsys.readouterr().err
