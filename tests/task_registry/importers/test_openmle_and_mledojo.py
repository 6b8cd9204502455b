"""OpenMLE packs and MLE-Dojo's competitions, and the command that imports them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openmle_env.main import invoke
from openmle_env.task_registry.importers import importing
from openmle_env.task_registry.importers.drafts import Status, commit_of
from openmle_env.task_registry.lookup import load_task
from openmle_env.types import Part
from tests.task_registry.importers.checkouts import PETS, mledojo, write


def run(collection, path: Path, to: Path, *only: str, **options):
    names = importing.choose(collection, path, only)
    return {one.name: one for one in importing.run(collection, path, names, to, **options)}


def test_a_dojo_competition_is_a_pack_that_can_be_played(tmp_path, box):
    write(tmp_path / "raw", {"Pets-Playground/train.csv": PETS, "Pets-Playground/notes.txt": "of Kaggle"})
    checkout = mledojo(tmp_path / "checkout")
    outcome = run("mledojo", checkout, tmp_path / "packs", raw=tmp_path / "raw")["Pets-Playground"]
    assert (outcome.status, outcome.slug) == (Status.IMPORTED, "pets-playground")
    task = load_task(tmp_path / "packs/pets-playground", sandbox=box)
    assert (task.spec.higher_is_better, task.leaderboard.teams) == (True, 20)
    assert task.grader(box).grade(task._gold(), Part.TEST).score == 1.0
    assert (tmp_path / "raw/Pets-Playground/train.csv").exists()  # though its script removes what it read
    assert (task.public / "notes.txt").read_text() == "of Kaggle"  # moved, though it was a link there


def test_a_board_that_cannot_be_used_costs_the_medals_only(tmp_path):
    board = "mledojo/competitions/Pets-Playground/info/private_leaderboard.csv"
    checkout = mledojo(tmp_path / "checkout", {board: "rank,score\n1,none\n"})
    outcome = run("mledojo", checkout, tmp_path / "packs")["Pets-Playground"]
    assert outcome.status is Status.NEEDS_DATA
    assert outcome.notes[0].startswith("no medals: ")
    assert not (tmp_path / "packs/pets-playground/leaderboard.csv").exists()


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("utils/prepare.py", "", "is empty"),
        ("utils/metric.py", "x = 1\n", "no class with evaluate"),
        ("info/description.txt", None, "no info/description.txt"),
    ],
)
def test_what_a_dojo_competition_lacks_is_named(tmp_path, file, text, says):
    checkout = mledojo(tmp_path / "checkout", {f"mledojo/competitions/Pets-Playground/{file}": text})
    outcome = run("mledojo", checkout, tmp_path / "packs")["Pets-Playground"]
    assert outcome.status is Status.FAILED
    assert says in outcome.reason


def test_openmle_packs_full_and_of_scripts_only(tmp_path, finished, unfinished, box, monkeypatch):
    metric = finished["utils/metric.py"]
    scripts = {"utils/prepare.py": unfinished["utils/prepare.py"], "utils/metric.py": metric, "description.md": "Pets."}
    table = "\ufeffName,Modality,Task,CPU/GPU\nFull.Pets,Tabular,Classification,GPU\n"
    folder = write(
        tmp_path / "openmle",
        {
            **{f"Full.Pets/{name}": text for name, text in finished.items()},
            **{f"scripts/{name}": text for name, text in scripts.items()},
            "empty/utils/metric.py": "",
            "overview.csv": table,
        },
    )
    write(tmp_path / "raw", {"scripts/pets.csv": unfinished["raw/pets.csv"]})
    outcomes = run("openmle", folder, tmp_path / "packs", raw=tmp_path / "raw")
    assert {name: one.status for name, one in outcomes.items()} == {
        "Full.Pets": Status.IMPORTED,
        "scripts": Status.IMPORTED,
        "empty": Status.FAILED,
    }
    full = load_task(tmp_path / "packs/full-pets", sandbox=box)
    assert (full.pack.config.modality, full.pack.config.task_type) == ("tabular", "classification")
    assert load_task(tmp_path / "packs/scripts", sandbox=box).spec.reward_bounds[1] == 1.0
    monkeypatch.chdir(folder / "Full.Pets")
    assert run("openmle", Path(), tmp_path / "packs")["Full.Pets"].status is Status.THERE
    (folder / "overview.csv").write_bytes(table.encode() + b"x" * 200_000)
    assert "cannot be read as a table" in run("openmle", Path(), tmp_path / "packs")["Full.Pets"].reason


def test_the_command_says_what_came_of_each(tmp_path, capsys):
    checkout = mledojo(tmp_path / "checkout")
    to = str(tmp_path / "packs")
    assert invoke(["pack", "import", "mledojo", str(checkout), "--to", to, "--all", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["status"], document["slug"]) == ("needs data", "pets-playground")
    assert invoke(["pack", "import", "mledojo", str(checkout), "--to", to]) == 2
    assert "--only NAME" in capsys.readouterr().err
    assert invoke(["pack", "import", "mlebnch", str(checkout), "--to", to, "--all"]) == 2
    assert "Did you mean 'mlebench'" in capsys.readouterr().err
    assert invoke(["pack", "import", "mledojo", str(checkout), "--to", to, "--all", "--dry-run"]) == 0
    assert "Pets-Playground -> " in capsys.readouterr().out


def test_the_commit_of_a_checkout_is_read_from_its_files(tmp_path):
    commit = "0123456789" * 4
    write(
        tmp_path,
        {".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": f"# pack-refs\n{commit} refs/heads/main\n"},
    )
    assert commit_of(tmp_path / "below") == commit
    write(tmp_path, {".git/HEAD": "ref: ../../etc/passwd\n"})
    assert commit_of(tmp_path) == ""
