from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders.submission import Report, check
from openmle_env.types import Column, SubmissionSchema

if TYPE_CHECKING:
    import random
    from pathlib import Path

IDS = ["1", "2", "3"]
TEXT_IDS = SubmissionSchema(
    id=Column(name="id", kind="text"), targets=(Column(name="target", kind="label", labels=("0", "1")),)
)
WIDE = SubmissionSchema(
    id=Column(name="id", kind="integer"),
    targets=(
        Column(name="p", kind="probability"),
        Column(name="n", kind="number"),
        Column(name="k", kind="integer"),
        Column(name="c", kind="label", labels=("False", "True")),
        Column(name="t", kind="text"),
    ),
)


def codes(report: Report) -> list[str]:
    return [problem.code for problem in report.problems]


def test_a_good_submission(survival: SubmissionSchema) -> None:
    report = check(b"id,target\n3,0\n1,1.0\n2.0,true\n", survival, IDS)
    assert report.valid
    assert not report.problems
    assert not report.warnings
    assert report.predictions is not None
    assert report.predictions.ids.tolist() == [1, 2, 3]
    assert report.predictions.cells("target") == ["1", "1", "0"]


def test_each_failure_has_its_own_code(survival: SubmissionSchema, tmp_path: Path) -> None:
    cases: dict[str, Path | bytes] = {
        "no_file": tmp_path / "none.csv",
        "empty_file": b"",
        "header_only": b"id,target\n",
        "wrong_columns": b"id,label\n1,0\n2,0\n3,0\n",
        "missing_ids": b"id,target\n1,0\n2,0\n",
        "unknown_ids": b"id,target\n1,0\n2,0\n3,0\n4,0\n",
        "duplicate_ids": b"id,target\n1,0\n2,0\n3,0\n3,0\n",
        "blank_ids": b"id,target\n1,0\n2,0\n3,0\n,0\n",
        "malformed_ids": b"id,target\n1,0\n2,0\n3,0\nx,0\n",
        "too_many_rows": b"id,target\n" + b"1,0\n" * 2000,
        "blank_values": b"id,target\n1,0\n2,\n3,0\n",
        "unknown_label": b"id,target\n1,0\n2,maybe\n3,0\n",
    }
    for code, source in cases.items():
        report = check(source, survival, IDS)
        assert codes(report) == [code]
        assert not report.valid
        assert report.predictions is None
        assert report.message.endswith((".", "more"))


def test_messages_name_counts_and_the_first_few(survival: SubmissionSchema) -> None:
    report = check(b"id,target\n1,0\n1,0\n7,nope\n", survival, IDS)
    assert codes(report) == ["missing_ids", "unknown_ids", "duplicate_ids", "unknown_label"]
    missing, unknown, duplicate, label = report.problems
    assert missing.count == 2
    assert missing.message.startswith("Missing ids (2): '2', '3'.")
    assert "'7'" in unknown.message
    assert duplicate.examples == ("'1'",)
    assert label.message == (
        "Column 'target': 1 of 3 values are not a label of the task. Its labels are '0', '1'. See id '7': 'nope'."
    )


def test_all_problems_with_values_are_told_at_once() -> None:
    report = check(b"id,p,n,k,c,t\n1,1.5,nan,0.5,2,\n2,x,1e400,,True,a\n", WIDE, ["1", "2"])
    assert codes(report) == [
        "out_of_range",
        "not_a_number",
        "not_finite",
        "not_an_integer",
        "blank_values",
        "unknown_label",
        "blank_values",
    ]
    assert all("id '1'" in problem.message or "id '2'" in problem.message for problem in report.problems)


def test_lost_zeros_are_noticed() -> None:
    report = check(b"id,target\n7,0\n10,0\n100,1\n", TEXT_IDS, ["007", "010", "100"])
    assert codes(report) == ["missing_ids", "unknown_ids"]
    assert "Leading zeros seem to be lost, as in '007'" in report.message
    assert check(b'id,target\n"007",0\n010,0\n100,1\n', TEXT_IDS, ["007", "010", "100"]).valid


def test_no_known_id_is_said_so(survival: SubmissionSchema) -> None:
    assert "No id of the task was found" in check(b"id,target\n7,0\n8,0\n", survival, IDS).message


def test_wrong_columns_get_hints(survival: SubmissionSchema) -> None:
    message = check(b"ID,Target\n1,0\n", survival, IDS).message
    assert "Found 'Target', expected 'target'." in message
    assert "Separate fields with commas." in check(b"id;target\n1;0\n", survival, IDS).message


def test_extra_and_index_columns_are_ignored_with_a_warning(survival: SubmissionSchema) -> None:
    report = check(b",id,target,raw\n0,1,0,x\n1,2,0,y\n2,3,1,z\n", survival, IDS)
    assert report.valid
    assert ["index" in report.warnings[0], "'raw'" in report.warnings[1]] == [True, True]


def test_columns_are_matched_by_name() -> None:
    one = check(b"id,p,n,k,c,t\n1,0.5,2,3,yes,w\n", WIDE, ["1"])
    two = check(b"t,c,k,n,p,id\nw,yes,3,2,0.5,1\n", WIDE, ["1"])
    for report in (one, two):
        assert report.predictions is not None
        assert {name: report.predictions.cells(name) for name in report.predictions.columns} == {
            "p": [0.5],
            "n": [2.0],
            "k": [3],
            "c": ["True"],
            "t": ["w"],
        }


def test_a_message_never_repeats_a_huge_or_armed_cell(survival: SubmissionSchema) -> None:
    evil = "\x1b[2J\u202e" + "x" * 1_000_000
    source = f'{evil},id,target,"{evil}\n2"\n1,{evil},{evil},2\n'.encode()
    report = check(source, survival, IDS)
    text = report.message + "".join(report.warnings) + "".join(e for p in report.problems for e in p.examples)
    assert not report.valid
    assert len(text) < 2000
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_many_columns_give_a_bounded_report() -> None:
    targets = tuple(Column(name=f"t{i}", kind="number") for i in range(200))
    schema = SubmissionSchema(id=Column(name="id", kind="text"), targets=targets)
    source = ",".join(schema.columns) + "\n1" + "," * 200 + "\n"
    report = check(source.encode(), schema, ["1"])
    assert len(report.problems) == 21
    assert report.problems[-1].count == 180
    assert len(check(b"id\n1\n", schema, ["1"]).message) < 1000


@pytest.mark.parametrize("ids", [[], ["1", "1.0"], ["x"], [""]])
def test_a_task_with_wrong_ids_is_the_tasks_fault(survival: SubmissionSchema, ids: list[str]) -> None:
    with pytest.raises(PackError):
        check(b"id,target\n1,0\n", survival, ids)


@given(st.permutations(["0", "1", "0", "1", "true", "0.0", "no"]), st.sampled_from(["", "9,0\n", "1,0\n"]))
def test_permuting_valid_predictions_changes_nothing(values: list[str], more: str) -> None:
    schema = SubmissionSchema(
        id=Column(name="id", kind="integer"), targets=(Column(name="target", kind="label", labels=("0", "1")),)
    )
    ids = [str(i) for i in range(1, 8)]
    rows = "".join(f"{key},{value}\n" for key, value in zip(ids, values, strict=True))
    report = check(f"id,target\n{rows}{more}".encode(), schema, ids)
    base = "".join(f"{key},0\n" for key in ids)
    expected = check(f"id,target\n{base}{more}".encode(), schema, ids)
    assert (report.valid, report.problems, report.warnings) == (expected.valid, expected.problems, expected.warnings)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.text("ab,\"'\n\r x", min_size=1)), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(0, 2),
)
def test_the_dress_of_a_file_never_changes_what_is_read(
    values: list[tuple[float, str]], shuffler: random.Random, ending: str, marks: int
) -> None:
    schema = SubmissionSchema(
        id=Column(name="id", kind="text"),
        targets=(Column(name="p", kind="probability"), Column(name="t", kind="text")),
    )
    ids = [f"{i:03}" for i in range(len(values))]
    columns = ["id", "p", "t"]
    rows = [dict(zip(columns, (key, repr(p), t), strict=True)) for key, (p, t) in zip(ids, values, strict=True)]
    report = check(_write(rows, columns, "\n", quote=lambda: True), schema, ids)
    shuffler.shuffle(rows)
    shuffler.shuffle(columns)
    dressed = "\ufeff".encode() * marks + _write(rows, columns, ending, quote=lambda: shuffler.random() < 0.5)
    assert report.valid
    again = check(dressed, schema, ids)
    assert (again.problems, again.warnings) == (report.problems, report.warnings)
    assert again.predictions is not None
    assert report.predictions is not None
    assert again.predictions.ids.tolist() == report.predictions.ids.tolist() == ids
    assert [again.predictions.cells(name) for name in "pt"] == [report.predictions.cells(name) for name in "pt"]


def _write(rows: list[dict[str, str]], columns: list[str], ending: str, *, quote: object) -> bytes:
    def field(cell: str) -> str:
        must = any(character in cell for character in ',"\r\n')
        return '"' + cell.replace('"', '""') + '"' if must or (callable(quote) and quote()) else cell

    lines = [columns, *([row[name] for name in columns] for row in rows)]
    return "".join(",".join(map(field, line)) + ending for line in lines).encode()
