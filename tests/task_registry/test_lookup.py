from __future__ import annotations

import json
import subprocess
import sys

import pytest

from openmle_env.errors import PackError, UnknownNameError, UsageError
from openmle_env.sandbox import select
from openmle_env.task_registry import index
from openmle_env.task_registry.lookup import find, load_task


@pytest.mark.parametrize("name", ["titanic", "OpenMLE/titanic-v0", "openmle_env:OpenMLE/titanic-v0"])
def test_built_in_tasks_have_names(name):
    assert find(name).root == index.PACKS.resolve() / "titanic"


def test_folders_are_found(write_pack, finished, monkeypatch):
    root = write_pack(finished)
    assert find(root) == find(str(root))
    monkeypatch.chdir(root.parent)
    assert find("./pets").root == root
    monkeypatch.setenv("HOME", str(root.parent))
    assert find("~/pets").root == root


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("titanc", "Did you mean 'titanic'"),
        ("OpenMLE/titanik-v0", "Did you mean 'titanic'"),
        ("pets", "say './pets'"),
        ("nothing-like-it", "openmle list"),
        ("./nothing", "no folder 'nothing'"),
        ("/nothing/\0", "no folder"),
        ("/" + "x" * 5000, "no folder"),
        ("OpenMLE/titanic-v9", "Did you mean 'OpenMLE/titanic-v0'"),
        ("OpenMLE/titanic-v00", "Did you mean 'OpenMLE/titanic-v0'"),
    ],
)
def test_unknown_names_are_told_what_is_known(write_pack, finished, monkeypatch, *, name, message):
    monkeypatch.chdir(write_pack(finished).parent)
    with pytest.raises(UnknownNameError, match=message):
        find(name)


def test_an_unknown_users_home_is_wrong_use():
    with pytest.raises(UsageError, match="'~nosuchuser/x' begins with is not known"):
        find("~nosuchuser/x")


def test_no_name_is_wrong_use():
    with pytest.raises(UsageError, match="empty"):
        find("")


def test_a_folder_that_is_no_pack(tmp_path):
    with pytest.raises(PackError, match="no task pack"):
        find(tmp_path)


def test_the_index_is_up_to_date():
    assert index.INDEX.read_text(encoding="utf-8") == index.render(), (
        "run python -m openmle_env.task_registry.index --write"
    )


def test_an_index_of_another_score_is_not_written(monkeypatch, write_pack, finished, capsys):
    root = write_pack(finished, {"pack.yaml": 'version: "1.0.0"\n'})
    monkeypatch.setattr(index, "PACKS", root.parent)
    monkeypatch.setattr(index, "INDEX", root.parent / "index.json")
    assert index.main(["--write"]) == 0
    (root / "data/public/train.csv").write_text("id,weight,kind\n1,3,dog\n2,9,cat\n")
    assert index.main(["--write"]) == 1
    assert "Raise 'version'" in capsys.readouterr().err
    assert index.main(["--write", "--unreleased"]) == 0
    capsys.readouterr()
    assert index.main([]) == 0
    assert capsys.readouterr().out == index.INDEX.read_text()
    assert index.main(["--wirte"]) == 2


def test_among_thousands_of_names_the_near_one_is_found(monkeypatch, tmp_path):
    entry = index.builtin()["titanic"]
    names = [f"competition-{number}" for number in range(3000)] + ["house-prices", "spaceship-titanic"]
    text = index.text_of(entry._replace(slug=name, folder=name) for name in names)
    (tmp_path / "index.json").write_text(text)
    monkeypatch.setenv("OPENMLE_PACKS", str(tmp_path))
    with pytest.raises(UnknownNameError, match="Did you mean 'house-prices'"):
        find("house-price")
    with pytest.raises(UnknownNameError, match="'spaceship-titanic'"):
        find("OpenMLE/spaceshiptitanic-v0")


def test_reading_the_index_loads_nothing_heavy():
    program = (
        "import json, sys; from openmle_env.task_registry import index; index.builtin();"
        "print(json.dumps([name for name in ('yaml', 'pydantic', 'numpy', 'pandas') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_sandbox_is_started_only_where_code_has_to_run(write_pack, finished, unfinished, box, monkeypatch):
    made = []

    def create(name, *, image=None):
        made.append(name)
        return box

    monkeypatch.setattr(select, "create", create)
    load_task(write_pack(finished, {"pack.yaml": "metric: {name: accuracy}"}, name="one"))
    assert made == []
    load_task(write_pack(unfinished, name="two"))
    assert made == ["auto"]
    assert box.closed
    load_task(write_pack(unfinished, name="two"))
    assert made == ["auto"]
