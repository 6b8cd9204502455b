"""What kind of task a pack is: by rules, by a model's reply, and in a table."""

from __future__ import annotations

import csv
import io
import json

import pytest

from openmle_env.errors import PolicyError, UsageError
from openmle_env.main import invoke
from openmle_env.policies.scripted import ScriptedPolicy
from openmle_env.task_registry import index
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.metadata import asking, overview, rules
from openmle_env.task_registry.metadata.rules import describe, guess_modality, guess_task

TABLE = "id,a,b,c,d\n" + "".join(f"{n},{n},{n},{n},{n}\n" for n in range(9))
REVIEWS = "id,review,stars\n" + "".join(f'{n},"a film of many words, and quite long",3\n' for n in range(9))
HOUSES = "id,advert,rooms,price,year,area\n" + "".join(f'{n},"nice house in a calm street",3,9,1,2\n' for n in range(9))


@pytest.mark.parametrize(
    ("contents", "modality"),
    [
        ({"train.csv": TABLE}, "tabular"),
        ({"train.csv": REVIEWS, "sample_submission.csv": TABLE}, "text"),
        ({"train.csv": HOUSES}, "tabular+text"),
        ({"train.csv": "id,label\n1,cat\n", **{f"train/{n}.png": "x" for n in range(9)}}, "image"),
        ({"train.csv": REVIEWS, **{f"{n}.jpg": "x" for n in range(9)}}, "text+image"),
        ({"clips/a.wav": "x", "train.csv": "id,label\n1,2\n"}, "audio"),
        ({"train_images.npy": "x", "train.csv": "id,label\n1,2\n"}, "image"),
        ({"frames.npz": "x"}, "video"),
        ({"logo.png": "x", **{f"{n}.wav": "x" for n in range(40)}}, "audio"),
        ({}, ""),
    ],
)
def test_files_tell_the_modality(tmp_path, contents, modality):
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert guess_modality({name: tmp_path / name for name in contents}) == modality


@pytest.mark.parametrize(
    ("metric", "family"),
    [
        ("accuracy", "classification"),
        ("multilabel_fbeta", "classification"),
        ("rmsle", "regression"),
        ("smape", "forecasting"),
        ("dice", "segmentation"),
        ("box_map", "object detection"),
        ("adjusted_rand", "clustering"),
        ("concordance_index", "survival"),
        ("psnr", "generation"),
        ("wer", "generation"),
        ("ndcg_at_k", "ranking"),
        ("pack", ""),
    ],
)
def test_metrics_tell_the_family(metric, family):
    assert guess_task(metric) == family


def test_every_built_in_pack_states_what_the_rules_find_possible():
    for entry in index.builtin().values():
        found = describe(open_pack(index.PACKS / entry.folder), None)
        assert found.modality != "unknown"
        assert [note for note in found.notes if "generation" not in note] == [], found.name


def test_what_is_stated_counts_and_what_is_left_out_is_filled(make_pack, finished):
    pack = make_pack(finished, {"pack.yaml": "metric: {name: accuracy}\ntask_type: regression\nhardware: {gpus: 1}\n"})
    found = describe(pack, pack.root / "data/public", pack.root / "data/private")
    assert (found.modality, found.task_type, found.compute) == ("tabular", "regression", "GPU")
    assert found.notes == ("its type is said to be regression, and its metric, accuracy, is of classification",)
    sizes = [path.stat().st_size for path in (pack.root / "data").rglob("*.*")]
    assert found.final_bytes == found.raw_bytes == sum(sizes)


def test_a_model_fills_what_is_not_stated(make_pack, finished):
    pack = make_pack(finished, {"pack.yaml": "metric: {name: accuracy}\nmodality: tabular\n"})
    policy = ScriptedPolicy(["<out>Text@Classification</out>\n<out>GPU</out>"])
    found = asking.ask(policy, pack, rules.describe(pack, None))
    assert (found.modality, found.task_type, found.compute) == ("tabular", "classification", "CPU")
    assert found.notes == ("a model calls the modality text", "a model thinks that it needs a GPU")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Image@Classification GPU",
        "<out>Image@Classification</out>",
        "<out>Image@Classification</out><out>TPU</out>",
        "<out>Smell@Classification</out><out>CPU</out>",
        "<out>Image@Guessing</out><out>CPU</out>",
        "<out>Image@Classification@Text</out><out>CPU</out>",
        "<out>CPU</out><out>Image@Classification</out>",
        "<out>@Classification</out><out>CPU</out>",
    ],
)
def test_any_other_reply_is_none(reply):
    with pytest.raises(PolicyError):
        asking.read(reply)


def test_tables_are_merged_by_name_or_refused():
    assert overview.merge([{"name": "a", "x": 1}], {"a": {"y": 2}}) == {"a": {"name": "a", "x": 1, "y": 2}}
    with pytest.raises(UsageError, match="'a' stands twice"):
        overview.merge([{"name": "a"}, {"name": "a"}])
    with pytest.raises(UsageError, match="b is not in both"):
        overview.merge([{"name": "a"}], [{"name": "a"}, {"name": "b"}])


def test_the_table_opens_in_spreadsheets_and_holds_no_formula(tmp_path, write_pack, finished, capsys):
    formula = 'title: Pets\nmetric: {name: accuracy}\ndata: {licence: "=1+1", source: "\\t=2+2"}\n'
    pack = write_pack(finished, {"pack.yaml": formula})
    bad = write_pack(finished, {"utils/metric.py": None}, name="bad")
    file = tmp_path / "table.csv"
    assert invoke(["pack", "overview", f"{pack}/", f"{bad}/", "--output", str(file), "--json"]) == 1
    captured = capsys.readouterr()
    assert "bad: " in captured.err
    (document,) = json.loads(captured.out)
    assert document["task_type"] == "classification"
    content = file.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    (row,) = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    assert (row["name"], row["licence"], row["source"]) == ("pets", "'=1+1", "'\t=2+2")
