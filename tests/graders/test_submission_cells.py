from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders.loading.cells import CellFault, canonical_id, check_schema, convert
from openmle_env.types import Column, ColumnKind, SubmissionSchema

BLANK, INFINITE, WORD, FRACTION, HUGE, RANGE, LABEL = CellFault


def one(cell: str, kind: ColumnKind, labels: tuple[str, ...] = ()) -> object:
    values, faults = convert([cell], Column(name="x", kind=kind, labels=labels))
    if faults:
        return next(iter(faults))
    return labels[values[0]] if kind == "label" else values.tolist()[0]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1", 1.0),
        (" -0.5 ", -0.5),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("1E-3", 0.001),
        ("1e-400", 0.0),
        ("", BLANK),
        ("  ", BLANK),
        ("nan", INFINITE),
        ("NaN", INFINITE),
        ("-Infinity", INFINITE),
        ("inf", INFINITE),
        ("1e400", INFINITE),
        ("1_0", WORD),
        ("0x1F", WORD),
        ("1,5", WORD),
        ("1 000", WORD),
        ("\u0661", WORD),
        ("None", WORD),
        ("50%", WORD),
        ("1e", WORD),
        (".", WORD),
        ("nano", WORD),
        ("__import__('os')", WORD),
        ("1" * 2000, WORD),
    ],
)
def test_numbers(cell: str, value: object) -> None:
    assert one(cell, "number") == value


@pytest.mark.parametrize(("cell", "value"), [("0", 0.0), ("1.0", 1.0), ("1.0000001", RANGE), ("-1e-9", RANGE)])
def test_probabilities(cell: str, value: object) -> None:
    assert one(cell, "probability") == value


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("7", 7),
        ("-7", -7),
        ("007", 7),
        ("-0", 0),
        ("1.0", 1),
        ("1e3", 1000),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775808.0", -(2**63)),
        ("9223372036854775808", HUGE),
        ("12345678901234567890123", HUGE),
        ("1.5", FRACTION),
        ("1e-1", FRACTION),
        ("1e300", FRACTION),
        ("1e999999999", INFINITE),
        ("True", WORD),
        ("", BLANK),
    ],
)
def test_integers(cell: str, value: object) -> None:
    assert one(cell, "integer") == value


@pytest.mark.parametrize(
    ("labels", "cells"),
    [
        (("False", "True"), {"True": "True", "TRUE": "True", "1": "True", "1.0": "True", "yes": "True", "0": "False"}),
        (("0", "1"), {"true": "1", "False": "0", " 1.0 ": "1", "no": "0", "1e0": "1", "+1": "1"}),
        (("no", "yes"), {"Y": "yes", "n": "no", "0.0": "no"}),
        (("0", "1", "2"), {"2.0": "2", "True": LABEL, "3": LABEL, "1.5": LABEL}),
        (("007", "7"), {"007": "007", "7": "7", "7.0": "7", "07": LABEL}),
        (("1.0", "2.0"), {"1": "1.0", "2.00": "2.0"}),
        (("M", "F"), {"F": "F", "false": LABEL, "f": LABEL}),
        (("1", "2"), {"true": LABEL}),
        (("NA", "None", "null", "Mild"), {"NA": "NA", "None": "None", "null": "null", "mild": LABEL, "": BLANK}),
        ((" a", "a"), {" a": " a", "a": "a", "a ": "a"}),
    ],
)
def test_labels(labels: tuple[str, ...], cells: dict[str, object]) -> None:
    for cell, expected in cells.items():
        assert one(cell, "label", labels) == expected, cell


def test_text_is_kept_as_it_is() -> None:
    assert one(" nan ", "text") == " nan "
    assert one("", "text") is BLANK


def test_ids() -> None:
    number, text = Column(name="id", kind="integer"), Column(name="id", kind="text")
    assert [canonical_id(cell, number) for cell in ("1", " 1.0", "007", "1.5", "")] == ["1", "1", "7", FRACTION, BLANK]
    assert [canonical_id(cell, text) for cell in ("007", " a b ", "1.0", " ")] == ["007", "a b", "1.0", BLANK]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_is_read_back_exactly(value: float) -> None:
    read = one(repr(value), "number")
    assert isinstance(read, float)
    assert math.copysign(1.0, read) == math.copysign(1.0, value)
    assert read == value


@given(st.text(max_size=12), st.sampled_from(["integer", "number", "probability", "text", "label"]))
def test_any_text_is_a_value_or_a_fault(cell: str, kind: ColumnKind) -> None:
    value = one(cell, kind, ("0", "1") if kind == "label" else ())
    assert isinstance(value, CellFault | int | str) or math.isfinite(value)  # type: ignore[arg-type]  # a float otherwise


@pytest.mark.parametrize(
    ("id_column", "target", "words"),
    [
        (Column(name="id", kind="number"), Column(name="y", kind="number"), "integer or text"),
        (Column(name="y", kind="text"), Column(name="y", kind="number"), "twice"),
        (Column(name="id", kind="text"), Column(name=" y", kind="number"), "blanks"),
        (Column(name="id", kind="text"), Column(name="y", kind="label"), "every label"),
        (Column(name="id", kind="text"), Column(name="y", kind="label", labels=("a", "a")), "every label"),
    ],
)
def test_impossible_schemas(id_column: Column, target: Column, words: str) -> None:
    with pytest.raises(PackError, match=words):
        check_schema(SubmissionSchema(id=id_column, targets=(target,)))


def test_a_schema_without_targets() -> None:
    with pytest.raises(PackError, match="no target"):
        check_schema(SubmissionSchema(id=Column(name="id", kind="text"), targets=()))
