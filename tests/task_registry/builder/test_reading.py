"""What a model is let see of raw files, and what the files of its script have to satisfy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.policies.protocol import Reply, ToolCall
from openmle_env.policies.scripted import ScriptedPolicy
from openmle_env.task_registry.builder import checks, conversation, info, perceive, reading, splitting
from openmle_env.task_registry.builder.plan import Plan
from openmle_env.task_registry.builder.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

PLAN = Plan.model_validate(
    {"title": "Pets", "modality": "image", "task_type": "x", "sources": ["a"], "id": "id", "targets": ["kind"]}
)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    root = tmp_path / "work" / "raw"
    (root / "images").mkdir(parents=True)
    (root / "train.csv").write_text('\ufeffid,kind,"note, long"\n1,cat,\n2,dog,"x\ny"\n3,cat\n', encoding="utf-8")
    (root / "images" / "1.png").write_bytes(b"\x89PNG\0")
    (root / "long.txt").write_text("\u00e4" * 9000)
    (root / "inside").symlink_to(root / "images")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    return root


@pytest.mark.parametrize(
    "name",
    ["../secret.txt", "/etc/passwd", "out.txt", "up/secret.txt", "images/../../../secret.txt", "a\0b", "..", "a\\b"],
)
def test_nothing_outside_is_read(raw: Path, name: str) -> None:
    for look in (reading.read_text, reading.list_folder, reading.summarise_table):
        with pytest.raises(reading.RefusedError):
            look(raw, name)


def test_what_is_shown_of_raw_files_is_bounded(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (raw / "images" / str(number)).mkdir()
    monkeypatch.setattr(reading, "MAX_LISTED", 10)
    lines = reading.survey(raw).splitlines()
    assert (len(lines), lines[-1]) == (11, "... and more: only the first 10 lines are shown")
    monkeypatch.setattr(reading, "MAX_LINE", 5)
    with pytest.raises(reading.RefusedError, match="a line of more than 5"):
        reading.summarise_table(raw, "train.csv")
    monkeypatch.undo()
    (raw / "open.csv").write_text('a,b\n1,"never\n' + "closed\n" * 10)
    monkeypatch.setattr(reading, "MAX_TABLE", 60)
    with pytest.raises(reading.RefusedError, match="more than 60 characters"):
        reading.summarise_table(raw, "open.csv")


def test_rows_are_counted_whatever_their_cells_hold() -> None:
    table = b'id,note\n1,"two\nlines"\n2,x'
    facts = splitting.facts_of(dict.fromkeys(checks.TABLES, table))
    assert facts["rows"] == dict.fromkeys(checks.TABLES, 2)


def test_what_is_inside_is_told(raw: Path) -> None:
    assert "link out.txt" in reading.list_folder(raw, ".")
    assert reading.list_folder(raw, "images") == "file 1.png 5 bytes"
    table = reading.summarise_table(raw, "train.csv").splitlines()
    assert table[0] == "3 rows, 3 columns, separated by ','"
    assert table[1] == "1 rows have another number of cells than the header"
    assert table[2] == "- id: whole numbers from 1 to 3; 3 different, 0 empty; such as 1 (1), 2 (1), 3 (1)"
    assert table[3] == "- kind: text of up to 3 characters; 2 different, 0 empty; such as cat (2), dog (1)"
    first = reading.read_text(raw, "long.txt")
    assert first.endswith("[18000 bytes in all; to go on: start=16000]")
    assert reading.read_text(raw, "long.txt", 16000) == "\u00e4" * 1000
    with pytest.raises(reading.RefusedError, match="holds NUL bytes"):
        reading.read_text(raw, "images/1.png")


def test_a_model_has_forty_calls_and_one_file_to_write(raw: Path) -> None:
    work = Workspace(raw.parent.parent, "work")
    work = type("Work", (Workspace,), {"folder": raw.parent})(work.to, work.slug)
    work.make()
    work.listing.write_text(reading.survey(raw))

    def call(tool: str, /, **arguments: object) -> Reply:
        return Reply(text="", tool_calls=(ToolCall(id="1", name=tool, arguments=json.dumps(arguments)),))

    endless = ScriptedPolicy(lambda _request: call("list_folder", name="."))
    with pytest.raises(conversation.GivenUpError, match="no calls left; 40 of 40 calls"):
        perceive.perceive(work, endless, conversation.Spent())
    policy = ScriptedPolicy(
        [call("read_text", name="../../secret.txt"), call("rm", name="x"), "Done!", call("save", text="word " * 20)]
    )
    perceive.perceive(work, policy, conversation.Spent())
    assert work.data_notes.read_text() == ("word " * 20).strip() + "\n"
    told = [message.content for message in policy.requests[-1].messages]
    assert not any("secret" in text and "refused" not in text for text in told if "secret.txt" not in text)
    assert any("There is no tool 'rm'" in text for text in told)
    assert any("call the tool `save`" in text for text in told)


def sound() -> dict[str, bytes]:
    train = "".join(f"{n},train/{n}.png,{'cat' if n % 3 else 'dog'}\n" for n in range(40))
    test = "".join(f"{n},test/{n}.png\n" for n in range(40, 50))
    files = {f"public/train/{n}.png" for n in range(40)} | {f"public/test/{n}.png" for n in range(40, 50)}
    return {
        checks.TRAIN: f"id,file,kind\n{train}".encode(),
        checks.TEST: f"id,file\n{test}".encode(),
        checks.SAMPLE: ("id,kind\n" + "".join(f"{n},cat\n" for n in range(40, 50))).encode(),
        checks.ANSWERS: ("id,kind\n" + "".join(f"{n},{'cat' if n % 3 else 'dog'}\n" for n in range(40, 50))).encode(),
        **dict.fromkeys(sorted(files), b"x"),
    }


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        (checks.TEST, b"", None, "wrote no public/test.csv"),
        (checks.TRAIN, b"\n7,", b"\n7,7,", "Row 8 of public/train.csv has 4 cells"),
        (checks.TRAIN, b"file,kind", b"file,file", "two of one name"),
        (checks.TRAIN, b"cat", b"", "have no 'kind'"),
        (checks.TEST, b"id,file", b"id,kind", "which is to be predicted"),
        (checks.TEST, b"id,file", b"id,name", "which public/train.csv lacks"),
        (checks.TEST, b"\n41,", b"\n40,", "are not unique"),
        (checks.TEST, b"\n41,", b"\n7,", "1 ids are in public/train.csv and in public/test.csv"),
        (checks.SAMPLE, b"40,cat\n41,cat", b"41,cat\n40,cat", "does not have the ids of public/test.csv in its order"),
        (checks.SAMPLE, b"id,kind", b"id,sort", "has the columns"),
        (checks.ANSWERS, b"dog", b"cat", "holds the right answers"),
        (checks.TEST, b"test/44.png", b"test/cat.png", "there is no such file"),
        ("public/train/cat/1.png", b"", b"x", "says the class 'cat'"),
        ("private/more.csv", b"", b"x", "is in private/"),
    ],
)
def test_each_fault_of_a_script_is_worded(name: str, old: bytes, new: Any, fault: str) -> None:
    made = sound()
    checks.check_files(made, PLAN)
    if new is None:
        del made[name]
    else:
        made[name] = made[name].replace(old, new) if name in made else new
    with pytest.raises(conversation.WrongAnswerError, match=fault):
        checks.check_files(made, PLAN)


def test_runs_that_differ_and_too_many_test_rows_are_refused() -> None:
    with pytest.raises(conversation.WrongAnswerError, match="b differs between two runs"):
        checks.check_same({"a": b"1", "b": b"1"}, {"a": b"1", "b": b"2"})
    made = sound()
    for name, row in ((checks.TEST, "{0},test/40.png\n"), (checks.SAMPLE, "{0},cat\n"), (checks.ANSWERS, "{0},dog\n")):
        made[name] += "".join(row.format(n) for n in range(100, 150)).encode()
    with pytest.raises(conversation.WrongAnswerError, match=r"60% of the rows are test rows \(60 of 100\)"):
        checks.check_files(made, PLAN)


def test_what_is_known_of_a_source_comes_from_a_table(tmp_path: Path) -> None:
    from openmle_env.task_registry.builder import sources

    (tmp_path / "info.csv").write_text("\ufeffTitle,Slug,EvaluationAlgorithm\nTitanic,titanic,Accuracy\nX,,\n")
    table = info.read_table(tmp_path / "info.csv")
    facts = info.of(sources.parse("titanic"), table, {"title": "T", "licence": ""})
    assert facts["table.EvaluationAlgorithm"] == "Accuracy"
    assert "licence" not in facts
    assert not any(key.startswith("table.") for key in info.of(sources.parse("other"), table, {}))
