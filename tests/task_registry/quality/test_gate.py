"""The quality gate: a sound pack passes every check; packs with one fault each are caught for it and nothing else."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
import zlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from openmle_env.errors import PackError, UnknownNameError
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.quality import check_grading, checks, gate
from openmle_env.task_registry.quality.report import Report
from openmle_env.types import ResultStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.sandbox.protocol import Sandbox

    Files = dict[str, Any]
    """Of a pack by name: rows of a table, a text, bytes, the contents of pack.yaml, or None for no such file."""

TRAIN, TEST = "data/public/train.csv", "data/public/test.csv"
SAMPLE, ANSWERS = "data/public/sample_submission.csv", "data/private/test_answer.csv"


def unit(what: str) -> float:
    """A number in [0, 1) that looks random, and is the same everywhere."""
    return int.from_bytes(hashlib.sha256(what.encode()).digest()[:6], "big") / 2**48


def pieces(count: int) -> list[dict[str, str]]:
    """Fruit whose length says much of its kind, and not all."""
    rows = []
    for number in range(count):
        pear = unit(f"kind {number}") < 0.4
        length = 7 + 2 * unit(f"length {number}") + (1.2 if pear else 0)
        rows.append({
            "number": f"n{int(unit(f'name {number}') * 1e9):09d}",
            "length": f"{length:.3f}",
            "weight": f"{150 + 40 * unit(f'weight {number}'):.2f}",
            "note": "" if unit(f"note {number}") < 0.5 else "ripe",
            "fruit": "pear" if pear else "apple",
        })  # fmt: skip
    return rows


def sound() -> Files:
    """A small pack without fault."""
    rows = pieces(220)
    train, test = rows[:120], rows[120:]
    return {
        "pack.yaml": {
            "slug": "fruit",
            "version": "1.0.0",
            "description": "about.md",
            "modality": "tabular",
            "task_type": "binary classification",
            "metric": {"name": "accuracy"},
            "submission": {
                "id": {"name": "number", "kind": "text"},
                "targets": [{"name": "fruit", "kind": "label", "labels": ["apple", "pear"]}],
            },
            "data": {"licence": "CC0-1.0", "source": "made up for the tests"},
            "limits": {"wall_seconds": 20},
            "accepted": [{"check": "contents_pinned", "reason": "The tests make it anew each time."}],
            "references": [reference("apples", 0.74, 0.62), reference("rule", 0.76, 0.74)],
            "broken": {"program": "references/broken.py", "status": "submission_invalid"},
        },
        "about.md": "Tell the fruit of each piece in test.csv, by train.csv. The metric is accuracy.",
        "references/apples.py": APPLES,
        "references/rule.py": RULE,
        "references/broken.py": 'open("/output/submission.csv", "w").write("number,fruit\\n")',
        TRAIN: train,
        TEST: without(test, "fruit"),
        SAMPLE: [{"number": row["number"], "fruit": "apple"} for row in test],
        ANSWERS: [{"number": row["number"], "fruit": row["fruit"]} for row in test],
    }


RULE = """\
import csv
with open("/data/test.csv", newline="") as file, open("/output/submission.csv", "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["number", "fruit"])
    writer.writerows([row["number"], "pear" if float(row["length"]) > 8.6 else "apple"] for row in csv.DictReader(file))
"""


APPLES = 'import shutil\n\nshutil.copyfile("/data/sample_submission.csv", "/output/submission.csv")\n'


def reference(name: str, validation: float, test: float) -> dict[str, Any]:
    program = f"references/{name}.py"
    return {"name": name, "title": name, "program": program, "validation_score": validation, "test_score": test}


def without(rows: list[dict[str, str]], *names: str) -> list[dict[str, str]]:
    return [{name: cell for name, cell in row.items() if name not in names} for row in rows]


def table(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@pytest.fixture
def report_of(tmp_path: Path, home: Path) -> Callable[..., Report]:
    """Writes a pack and runs the gate over it; without a sandbox, no program of the pack runs."""

    def run(files: Files, *, sandbox: Sandbox | None = None, only: list[str] | None = None) -> Report:
        root = tmp_path / "packs" / "fruit"
        for name, content in files.items():
            if content is None:
                continue
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name == "pack.yaml":
                path.write_text(yaml.safe_dump(content))
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(table(content) if isinstance(content, list) else content)
        groups = [group for group in checks.GROUPS if sandbox is not None or group != "programs"]
        try:
            pack = open_pack(root)
        except PackError as error:
            return gate.not_opened("fruit", error)
        return gate.check_pack(pack, sandbox=sandbox, checks=checks.named(only or groups)).report

    return run


def failed(report: Report) -> dict[str, str]:
    """The checks that failed, each with the first thing that it says."""
    found: dict[str, str] = {}
    for finding in report.findings:
        if finding.outcome == "failed":
            found.setdefault(finding.check, f"{finding.message} {finding.evidence}")
    return found


def test_sound_pack_passes_every_check(report_of: Callable[..., Report], box: Sandbox) -> None:
    report = report_of(sound(), sandbox=box)
    assert failed(report) == {}
    assert {finding.check for finding in report.findings} == checks.registered().keys()
    assert [finding.check for finding in report.findings if finding.outcome == "accepted"] == ["contents_pinned"]
    assert report.recommendation is None
    assert Report.model_validate_json(report.model_dump_json()) == report


def no_answers(files: Files) -> None:
    files[ANSWERS] = None


def empty_script(files: Files) -> None:
    for name in (TRAIN, TEST, SAMPLE, ANSWERS):
        files[name] = None
    files["raw/fruit.csv"] = pieces(30)
    files["utils/prepare.py"] = "def prepare(raw, public, private):\n    pass\n"


def dice_in_script(files: Files) -> None:
    empty_script(files)
    files["utils/prepare.py"] = (
        "import time\n\ndef prepare(raw, public, private):\n"
        "    for path in (public / 'sample_submission.csv', private / 'test_answer.csv'):\n"
        "        path.write_text(f'number,fruit\\n{time.time_ns()},apple\\n')\n"
    )


def header_only(files: Files) -> None:
    files[TRAIN] = "number,length,weight,note,fruit\n"


def column_twice(files: Files) -> None:
    files[TEST] = table(files[TEST]).replace("weight", "length", 1)


def ragged_row(files: Files) -> None:
    lines = table(files[TRAIN]).splitlines()
    lines[3] += ",1"
    files[TRAIN] = "\n".join(lines) + "\n"


def row_missing_in_test(files: Files) -> None:
    files[TEST] = files[TEST][:-1]


def other_order(files: Files) -> None:
    files[SAMPLE] = sorted(files[SAMPLE], key=lambda row: unit(row["number"]))


def target_in_test(files: Files) -> None:
    files[TEST] = [row | {"fruit": right["fruit"]} for row, right in zip(files[TEST], files[ANSWERS], strict=True)]


def extra_column_in_sample(files: Files) -> None:
    files[SAMPLE] = [row | {"ripe": "1"} for row in files[SAMPLE]]


def unstated_label(files: Files) -> None:
    files["pack.yaml"]["submission"]["targets"][0]["labels"] = ["apple", "plum"]


def label_that_is_nowhere(files: Files) -> None:
    files["pack.yaml"]["submission"]["targets"][0]["labels"] = ["apple", "pear", "plum"]


def silent_description(files: Files) -> None:
    files["about.md"] = "Do something good with train.csv and test.csv, as well as you can."


def column_filled_for_pears(files: Files) -> None:
    right = {row["number"]: row["fruit"] for row in [*files[TRAIN], *files[ANSWERS]]}
    for name in (TRAIN, TEST):
        files[name] = [
            row | {"juice": f"{unit(row['number']):.3f}" if right[row["number"]] == "pear" else ""}
            for row in files[name]
        ]


def sorted_by_class(files: Files) -> None:
    right = {row["number"]: row["fruit"] for row in files[ANSWERS]}
    for name in (TEST, SAMPLE, ANSWERS):
        files[name] = sorted(files[name], key=lambda row: right[row["number"]])


def log_with_answers(files: Files) -> None:
    files["data/public/run.log"] = "".join(f"{row['number']}: sorted as {row['fruit']}\n" for row in files[ANSWERS])


def table_with_answers(files: Files) -> None:
    rows = [{"piece": row["number"], "box": row["fruit"]} for row in files[ANSWERS]]
    files["data/public/boxes.csv"] = sorted(rows, key=lambda row: unit(row["piece"]))


def packed_answers(files: Files) -> None:
    known = {row["number"].replace("n", "n_"): row["fruit"] for row in files[ANSWERS][:60]}  # on one line
    for name in (TEST, SAMPLE, ANSWERS):
        files[name] = [row | {"number": row["number"].replace("n", "n_")} for row in files[name]]
    files["data/public/state.bin"] = zlib.compress(json.dumps(known).encode())


def zipped_table_of_answers(files: Files) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("all.csv", table([{"piece": row["number"], "box": row["fruit"]} for row in files[ANSWERS]]))
    files["data/public/all.zip"] = content.getvalue()


def metadata_with_answers(files: Files) -> None:
    for row in files[ANSWERS]:
        files[f"data/public/pictures/{row['number']}.json"] = json.dumps(
            {"camera": "x1", "seen": row["fruit"].ljust(5)}
        )


def archive_comments_with_answers(files: Files) -> None:
    for row in files[ANSWERS]:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("pixels.bin", b"\0" * 8)
            archive.comment = f"label={row['fruit']:5}".encode()
        files[f"data/public/pictures/{row['number']}.zip"] = content.getvalue()


def names_with_answers(files: Files) -> None:
    for row in files[ANSWERS]:
        files[f"data/public/pictures/{row['fruit']}_{row['number']}.bin"] = b"\0\1\2\3"


def copies_in_train(files: Files) -> None:
    right = {row["number"]: row["fruit"] for row in files[ANSWERS]}
    copies = [row | {"number": f"c{row['number']}", "fruit": right[row["number"]]} for row in files[TEST][:40]]
    files[TRAIN] = files[TRAIN] + copies


def near_copies_in_train(files: Files) -> None:
    copies_in_train(files)
    files[TRAIN] = [
        row | {"length": f"{float(row['length']):.2f}", "note": row["note"].upper()} if row["number"][0] == "c" else row
        for row in files[TRAIN]
    ]


def sample_of_answers(files: Files) -> None:
    files[SAMPLE] = [row | {"fruit": row["fruit"] if unit(row["number"]) < 0.5 else "apple"} for row in files[ANSWERS]]


def wrong_bound(files: Files) -> None:
    files["pack.yaml"]["rewards"] = {"worst": 0.2, "best": 1.0}


def unknown_origin(files: Files) -> None:
    files["pack.yaml"]["data"] = {"licence": "CC0-1.0"}


def endless_program(files: Files) -> None:
    files["pack.yaml"]["budget"] = {"seconds": 10}


def misspelt_acceptance(files: Files) -> None:
    files["pack.yaml"]["accepted"] += [{"check": "one_featur", "reason": "It is known before."}]


def accepted_structure(files: Files) -> None:
    files["pack.yaml"]["accepted"] += [{"check": "prepares", "reason": "It works for me."}]


BROKEN: list[tuple[Callable[[Files], None], dict[str, str]]] = [
    (no_answers, {"opens": "has no answers"}),
    (header_only, {"tables": "train.csv has a header and no rows"}),
    (column_twice, {"tables": "appear more than once"}),
    (ragged_row, {"tables": "Line 4: expected 5 fields"}),
    (row_missing_in_test, {"row_counts": "99 rows", "ids": "lacks 1 ids"}),
    (other_order, {"id_order": "another order"}),
    (target_in_test, {"target_in_test": "'fruit'"}),
    (extra_column_in_sample, {"columns_agree": "'ripe'"}),
    (unstated_label, {"prepares": "none of its labels", "labels_agree": "not stated", "metric_defined": "labels"}),
    (label_that_is_nowhere, {"labels_agree": "occur nowhere: 'plum'"}),
    (silent_description, {"description_names": "what is predicted"}),
    (column_filled_for_pears, {"one_feature": "juice is there or not alone predicts 'fruit' almost perfectly"}),
    (sorted_by_class, {"row_order": "shuffle the rows", "lazy_attackers": "in the order of rows"}),
    (log_with_answers, {"ids_to_answers": "run.log names ids"}),
    (table_with_answers, {"ids_to_answers": "has ids in 'piece' and the answers of 'fruit' in 'box'"}),
    (packed_answers, {"ids_to_answers": "state.bin names ids"}),
    (zipped_table_of_answers, {"ids_to_answers": "all.zip names ids"}),
    (metadata_with_answers, {"side_files": "A row's file says"}),
    (archive_comments_with_answers, {"side_files": "A row's file says"}),
    (names_with_answers, {"side_files": "The name of a row's file says"}),
    (copies_in_train, {"duplicate_rows": "for 40 all copies have the answer"}),
    (near_copies_in_train, {"near_duplicates": "nearly the same as training rows"}),
    (sample_of_answers, {"sample_knows_nothing": "Fill it with one value"}),
    (wrong_bound, {"reward_bounds": "'rewards.worst' is 0.2"}),
    (unknown_origin, {"licence": "data.source"}),
    (endless_program, {"budgets": "the episode ends after 10 s"}),
    (misspelt_acceptance, {"accepted_names": "Did you mean 'one_feature'?"}),
    (accepted_structure, {"accepted_names": "nobody can answer for 'prepares'"}),
]


@pytest.mark.parametrize(("change", "expected"), BROKEN, ids=[change.__name__ for change, _ in BROKEN])
def test_broken_pack_is_caught_for_its_fault_and_no_other(
    change: Callable[[Files], None], expected: dict[str, str], report_of: Callable[..., Report]
) -> None:
    files = sound()
    change(files)
    found = failed(report_of(files))
    assert found.keys() == expected.keys(), found
    for name, words in expected.items():
        assert words in found[name]


@pytest.mark.parametrize(("change", "words"), [(empty_script, "no answers"), (dice_in_script, "not deterministic")])
def test_script_without_sound_data_is_caught(
    change: Callable[[Files], None], words: str, report_of: Callable[..., Report], box: Sandbox
) -> None:
    files = sound()
    change(files)
    found = failed(report_of(files, sandbox=box, only=["structure", "leaks"]))
    assert found.keys() == {"prepares"}
    assert words in found["prepares"]


@pytest.mark.parametrize(
    ("gold", "noisy", "sample", "words"),
    [
        (0.3, 0.4, 0.5, "The sample submission is as good as the answers, though higher is said to be better"),
        (0.9, 0.9, 0.5, "A noisy copy of the answers is as good as the answers"),
        (0.9, 0.5, 0.5, "no better than the sample"),
        (0.9, 0.8, 0.5, ""),
    ],
)
def test_metric_that_lies_about_its_direction_is_caught(gold: float, noisy: float, sample: float, words: str) -> None:
    scores = {"gold": gold, "noisy gold": noisy, "sample": sample}
    probes = SimpleNamespace(
        grader=SimpleNamespace(higher_is_better=True), grade=lambda name, _part: SimpleNamespace(score=scores[name])
    )
    subject: Any = SimpleNamespace(probes=probes)
    found = list(checks.registered()["metric_direction"].function(subject))
    assert {one.outcome for one in found} == {"failed" if words else "passed"}
    assert all(words in one.message for one in found)


def test_programs_that_do_not_do_what_is_said_are_caught(report_of: Callable[..., Report], box: Sandbox) -> None:
    files = sound()
    files["pack.yaml"]["references"][1]["test_score"] = 0.9
    files["references/broken.py"] = files["references/rule.py"]
    found = failed(report_of(files, sandbox=box, only=["references_score", "broken_program"]))
    assert "recorded 0.9000" in found["references_score"]
    assert "ends as success" in found["broken_program"]


def test_hard_failure_is_nothing_in_every_dimension(report_of: Callable[..., Report]) -> None:
    files = sound()
    log_with_answers(files)
    report = report_of(files)
    assert (report.recommendation, report.source) == ("not_recommended", "deterministic_hard_gate")
    assert {dimension.score for dimension in report.dimensions} == {0.0}


def test_finding_that_the_author_answers_for_is_shown_with_the_reason(report_of: Callable[..., Report]) -> None:
    files = sound()
    column_filled_for_pears(files)
    files["pack.yaml"]["accepted"] += [{"check": "one_feature", "reason": "Juice is pressed before."}]
    report = report_of(files, only=["one_feature"])
    assert not report.failed_hard
    assert {(finding.outcome, finding.reason) for finding in report.findings} == {
        ("accepted", "Juice is pressed before.")
    }


def test_report_holds_no_hidden_answer(report_of: Callable[..., Report]) -> None:
    files = sound()
    for row in files[ANSWERS]:
        row["fruit"] = {"apple": "apple", "pear": "secretpear"}[row["fruit"]]
    assert "secretpear" not in report_of(files).model_dump_json()


def test_refusal_of_the_moved_answers_is_not_quoted() -> None:
    def grade(name: str, _part: object) -> SimpleNamespace:
        moved = name.startswith("permuted")
        status = ResultStatus.SUBMISSION_INVALID if moved else ResultStatus.SUCCESS
        return SimpleNamespace(valid=not moved, status=status, message=f"row 1 of the {name} says secretpear")

    subject = SimpleNamespace(probes=SimpleNamespace(grade=grade), metric=None)
    of_sample, of_gold = check_grading.permuted_stays_valid(subject)  # type: ignore[arg-type]
    assert "secretpear" in of_sample.evidence
    assert (of_gold.outcome, "secretpear" in f"{of_gold}") == ("failed", False)


def test_damaged_files_and_huge_numbers_are_no_accident_of_the_gate(report_of: Callable[..., Report]) -> None:
    files = sound()
    for name, sign in ((TRAIN, ""), (TEST, "-")):
        for row in files[name]:
            row["weight"] = f"{sign}1e308"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.txt", "pear " * 1000)
    damaged = bytearray(packed.getvalue())
    damaged[45:70] = bytes(byte ^ 255 for byte in damaged[45:70])
    files |= {
        "data/public/a.zip": bytes(damaged),
        "data/public/a.npz": b"PK\x03\x04 no archive",
        "data/public/zip.npy": packed.getvalue(),
        "data/public/cut.npy": b"\x93NUMPY\x01\x00v\x00",
    }
    assert failed(report_of(files, only=["answer_values", "ids_to_answers", "lazy_attackers"])) == {}


def test_unknown_check_is_refused_with_the_near_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'one_feature'"):
        checks.named(["one_featur"])
