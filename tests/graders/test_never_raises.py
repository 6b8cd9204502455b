"""Whatever a submission holds, checking it gives a report."""

from __future__ import annotations

import csv
import gzip
import io
import unicodedata
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders.loading import table
from openmle_env.graders.loading.cells import CellFault, canonical_id, convert
from openmle_env.graders.loading.id_index import IdIndex
from openmle_env.graders.loading.source import Refused, open_source
from openmle_env.graders.loading.table import TextReader, read_table
from openmle_env.graders.submission import Report, check
from openmle_env.types import Column, ColumnKind, SubmissionSchema

IDS = ("1", "2")
KINDS: tuple[ColumnKind, ...] = ("integer", "number", "probability", "label", "text")
BEYOND = ("0e99999999999999999999999", "1e-99999999999999999999999")
"""Finite as a float, and beyond the exponents of a Decimal."""


def schema(kind: ColumnKind, id_kind: ColumnKind = "integer") -> SubmissionSchema:
    labels = ("0", "1", "1e9") if kind == "label" else ()
    return SubmissionSchema(id=Column(name="id", kind=id_kind), targets=(Column(name="y", kind=kind, labels=labels),))


def file(*rows: tuple[str, ...]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def codes(report: Report) -> list[str]:
    return [problem.code for problem in report.problems]


schemas = st.builds(schema, st.sampled_from(KINDS), st.sampled_from(["integer", "text"]))
numbers = st.builds(
    "{}{}.{}e{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.sampled_from(["0", "1", "00", "10", "9" * 45]),
    st.sampled_from(["", "0", "0001", "9" * 30]),
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 400) | st.integers(10**18 - 30, 10**18 + 30) | st.integers(0, 10**30),
)
cells = numbers | st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from([*IDS, *BEYOND])


@settings(deadline=None)
@given(st.binary(max_size=80) | st.binary(max_size=40).map(lambda rest: b"id,y\n1," + rest), schemas)
def test_any_bytes_give_a_report(content: bytes, wanted: SubmissionSchema) -> None:
    assert check(content, wanted, IDS).valid in {True, False}


@settings(deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=3), schemas)
def test_any_cells_give_a_report(rows: list[tuple[str, str]], wanted: SubmissionSchema) -> None:
    report = check(file(("id", "y"), *rows), wanted, IDS)
    assert report.valid == (report.predictions is not None)


@pytest.mark.parametrize("cell", BEYOND)
def test_numbers_beyond_the_limits_are_faults(cell: str) -> None:
    rows = (("id", "y"), ("1", "0"), ("2", cell))
    assert codes(check(file(*rows), schema("label"), IDS)) == ["unknown_label"]
    assert codes(check(file(*rows), schema("integer"), IDS)) == ["not_an_integer"]
    assert codes(check(file(*rows[:2], (cell, "0")), schema("text"), IDS)) == ["malformed_ids", "missing_ids"]
    with pytest.raises(PackError, match="not_an_integer"):
        IdIndex.build([cell], Column(name="id", kind="integer"))
    assert canonical_id(cell, Column(name="id", kind="text")) == cell
    values, faults = convert([cell], Column(name="y", kind="label", labels=(cell, "0")))
    assert (values.tolist(), faults) == ([0], {})


def test_zero_is_an_integer_in_any_spelling() -> None:
    values, faults = convert(["0e50", "-0.0", "0e-400", "1e40"], Column(name="y", kind="integer"))
    assert values.tolist()[:3] == [0, 0, 0]
    assert faults == {CellFault.NOT_AN_INTEGER: [3]}


def zipped() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("submission.csv", "id,y\n1,0\n2,1\n" * 50)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"), [(gzip.compress(b"id,y\n1,0\n2,1\n"), "gzip"), (zipped(), "zip")], ids=["gzip", "zip"]
)
def test_compressed_files_are_called_so(content: bytes, kind: str) -> None:
    (problem,) = check(content, schema("label"), IDS).problems
    assert problem.code == "not_utf8"
    assert f"compressed ({kind}" in problem.message


def test_texts_that_only_look_alike_are_told_apart() -> None:
    composed = "\u00e9"
    apart = unicodedata.normalize("NFD", composed)
    wanted = SubmissionSchema(
        id=Column(name="id", kind="text"), targets=(Column(name="y", kind="label", labels=(composed, "a")),)
    )
    named = SubmissionSchema(id=Column(name=composed, kind="text"), targets=(Column(name="y", kind="text"),))
    for report in (
        check(file(("id", "y"), (apart, "a")), wanted, [composed]),
        check(file(("id", "y"), ("1", apart)), wanted, ["1"]),
        check(file((apart, "y"), ("1", "a")), named, ["1"]),
    ):
        assert "only by Unicode normalisation" in report.message
    other = check(file(("id", "y"), ("other", "a")), wanted, [composed])
    assert "normalisation" not in other.message


def test_a_wrong_header_is_refused_before_the_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(*_: object) -> None:
        raise AssertionError("the rows were read")

    monkeypatch.setattr(table.TextReader, "batches", rows)
    for header, code in (
        (("id", "z"), "wrong_columns"),
        (("id", "", "y"), "unnamed_column"),
        (("id", "y", "y"), "duplicate_columns"),
    ):
        assert codes(check(file(header, ("1", "2", "3")), schema("text"), IDS)) == [code]


def test_names_are_read_without_the_rows() -> None:
    content = b'\xef\xbb\xbf,id , y,\n"never closed\n'
    with open_source(content) as source:
        assert TextReader(source).names == ("id", "y")
    with pytest.raises(Refused, match="never closed"):
        read_table(content)
