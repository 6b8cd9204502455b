"""Packs go to the hub and come back byte by byte; answers go where they were asked to go, and nowhere else."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path

import pytest

from openmle_env.errors import DiskFullError, InfrastructureError, PackError, UsageError
from openmle_env.main import invoke
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.hub import card, edition, specs, transfer
from openmle_env.task_registry.lookup import load_task
from openmle_env.task_registry.prepare import prepare
from tests.task_registry.hub.standin import TOKEN, Hub

# The hub's library uploads in a way that its own HTTP library would have otherwise.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content:DeprecationWarning")
REPO = "maker/pets"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    import huggingface_hub
    from huggingface_hub import constants

    with Hub() as hub:
        for module in [module for name, module in sys.modules.items() if name.startswith("huggingface_hub")]:
            for name, value in (("ENDPOINT", hub.address), ("HF_HUB_CACHE", str(tmp_path / "cache"))):
                if name in vars(module):
                    monkeypatch.setattr(module, name, value)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        assert huggingface_hub.HfApi().endpoint == hub.address
        yield hub


@pytest.fixture
def pack(make_pack, unfinished):
    return make_pack(unfinished, {"raw/large.csv": "x\n" * 3000, "raw/a[1]*.csv": "no pattern\n"})


def test_a_pack_comes_back_as_it_was(hub, pack, tmp_path, home):
    pushed = transfer.push(pack, REPO)
    assert (pushed.edition, hub.repos[REPO].private) == ("whole", True)
    assert hub.large  # the large file went its own way
    pulled = transfer.pull(REPO, tmp_path / "pulled")
    assert (pulled.commit, pulled.edition) == (pushed.commit, "whole")
    assert open_pack(pulled.folder).hash == pack.hash == pulled.hash
    assert [path.name for path in (tmp_path / "pulled").iterdir()] == ["pets"]
    with pytest.raises(UsageError, match="--force"):
        transfer.pull(REPO, tmp_path / "pulled")
    (tmp_path / "other/pets").mkdir(parents=True)
    (tmp_path / "other/pets/thesis.txt").write_text("years")
    with pytest.raises(UsageError, match="no task pack"):
        transfer.pull(REPO, tmp_path / "other", force=True)
    assert (tmp_path / "other/pets/thesis.txt").exists()
    assert transfer.pull(REPO, tmp_path / "pulled", force=True).hash == pack.hash


def test_a_revision_stays_what_it_was(hub, pack, write_pack, unfinished, tmp_path):
    first = transfer.push(pack, REPO)
    newer = open_pack(write_pack(unfinished, {"about.md": "Tell cats from dogs, again."}, name="newer"))
    second = transfer.push(newer, REPO)
    assert "raw/large.csv" not in hub.repos[REPO].files  # what the newer one lacks is gone
    assert transfer.pull(f"{REPO}@{first.commit}", tmp_path / "a").hash == pack.hash
    assert transfer.pull(f"{REPO}@{second.commit}", tmp_path / "b").hash == newer.hash
    with pytest.raises(InfrastructureError, match="no such revision"):
        transfer.pull(f"{REPO}@{'5' * 40}", tmp_path / "c")


def test_answers_do_not_become_public_unasked(hub, pack, box, tmp_path):
    prepared = prepare(pack, sandbox=box)
    pushed = transfer.push(pack, REPO, public=True, prepared=prepared.public)
    assert pushed.edition == "public"
    files = hub.repos[REPO].files
    assert b"size_categories:\n- n<1K\n" in files["README.md"]
    assert sorted(files) == [
        "README.md",
        "about.md",
        "data/public/sample_submission.csv",
        "data/public/test.csv",
        "data/public/train.csv",
        "openmle.json",
        "pack.yaml",
    ]
    assert transfer.pull(REPO, tmp_path / "pulled").edition == "public"
    with pytest.raises(PackError, match="no answers"):
        open_pack(tmp_path / "pulled/pets")
    assert transfer.push(pack, REPO, public=True, with_answers=True).edition == "whole"
    with pytest.raises(UsageError, match="is public"):
        transfer.push(pack, REPO)


def test_what_was_changed_on_the_way_is_noticed(hub, pack, tmp_path, home):
    transfer.push(pack, REPO)
    repo = hub.repos[REPO]
    good = dict(repo.files)
    changes = {
        "it has 3 bytes": {"raw/pets.csv": b"id\n"},
        "its SHA-256 is": {"raw/pets.csv": bytes(len(good["raw/pets.csv"]))},
        "larger than 64 MiB": {"openmle.json": bytes((64 << 20) + 1)},
        "the pack's hash is": {"openmle.json": good["openmle.json"].replace(pack.hash.encode(), b"0" * 64)},
        "not a list of files": {"openmle.json": b"[1]"},
        "later version": {"openmle.json": b'{"format": 99}'},
        "hidden file": {"openmle.json": good["openmle.json"].replace(b'"about.md"', b'".hidden"')},
    }
    for says, change in changes.items():
        repo.commit({**good, **change})
        with pytest.raises(PackError, match=says):
            transfer.pull(REPO, tmp_path / "pulled")
    escape = good["openmle.json"].replace(b'"about.md"', b'"../about.md"')
    repo.commit({**good, "openmle.json": escape})
    with pytest.raises(PackError, match="not a list of files"):
        transfer.pull(REPO, tmp_path / "pulled")
    repo.commit({name: content for name, content in good.items() if name != "about.md"})
    with pytest.raises(PackError, match=r"about\.md is listed"):
        transfer.pull(REPO, tmp_path / "pulled")
    repo.commit({"README.md": b"a data set of another kind"})
    with pytest.raises(PackError, match="holds no task pack"):
        transfer.pull(REPO, tmp_path / "pulled")
    assert list((tmp_path / "pulled").iterdir()) == []


def test_refusals_are_told_without_the_key(hub, pack, tmp_path, monkeypatch):
    with pytest.raises(InfrastructureError, match="knows no data set maker/nothing"):
        transfer.pull("maker/nothing", tmp_path)
    hub.refuse = {"/api/": 403}
    with pytest.raises(InfrastructureError, match=r"refused maker/pets \(403\)") as caught:
        transfer.push(pack, REPO)
    assert TOKEN not in str(caught.value)
    hub.refuse = {}
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(InfrastructureError, match=r"[Ll]og in"):
        transfer.pull(REPO, tmp_path)
    with pytest.raises(DiskFullError, match="HF_HOME"), transfer._worded(REPO):
        raise OSError(errno.ENOSPC, "No space left on device")
    hub.refuse = {"/api/": 0}
    with pytest.raises(InfrastructureError, match="could not be reached"):
        transfer.pull(REPO, tmp_path)
    for address in ("pets", "a/b/c", "a/b@", "../x"):
        with pytest.raises(UsageError, match="OWNER/NAME"):
            transfer.split_address(address)


def test_the_card_says_what_the_hub_reads(make_pack, unfinished):
    text = "title: Pets\nmetric: {name: accuracy}\ndescription: about.md\nmodality: image+text\n"
    pack = make_pack(unfinished, {"pack.yaml": text + 'data: {licence: "CC-BY-4.0 (a house)", source: "a | b"}\n'})
    made = card.render(pack, edition.whole(pack).shared, rows=1500)
    front = made.split("---\n")[1]
    assert "license: cc-by-4.0\n" in front
    assert "- 1K<n<10K\n" in front
    assert "modality:image" in front
    assert "a \\| b" in made


def test_specifications_are_rows_without_answers(write_pack, finished, box, tmp_path):
    pack = write_pack(finished)
    file = tmp_path / "specs.jsonl"
    load_task(pack, sandbox=box)
    assert specs.write(file, [pack], sandbox=box) == 1
    row = json.loads(file.read_text())
    assert row["task"] == "pets"
    assert "Tell cats from dogs" in row["prompt"]
    assert "test_answer" not in file.read_text()


@pytest.mark.usefixtures("home", "hub")
def test_the_command_pushes_what_the_gate_passes(write_pack, finished, tmp_path, capsys):
    pack = write_pack(finished, {"data/private/test_answer.csv": None})
    assert invoke(["pack", "push", f"{pack}/", REPO]) == 1
    assert "no answers" in capsys.readouterr().err
    assert invoke(["pack", "push", "titanic", "no-owner"]) == 2
    assert invoke(["pack", "push", "titanic", REPO, "--force", "--json"]) == 0
    pushed = json.loads(capsys.readouterr().out)
    to = tmp_path / "pulled"
    assert invoke(["pack", "pull", f"{REPO}@{pushed['commit']}", "--to", str(to), "--json"]) == 0
    assert Path(json.loads(capsys.readouterr().out)["folder"]) == to / "titanic"
    assert os.listdir(to) == ["titanic"]  # noqa: PTH208  hidden ones, too
