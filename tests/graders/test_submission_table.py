from __future__ import annotations

import csv
import io
import os
import pickle
import socket
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.graders.loading.source import Refused, read_bytes
from openmle_env.graders.loading.table import read_table
from openmle_env.types import Artifact, ArtifactState

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = b"id,target\n1,a\n2,b\n"


def refusal(content: bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        read_table(content)
    return caught.value


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        b"\xef\xbb\xbf" + PLAIN,
        b"\xef\xbb\xbf\xef\xbb\xbf" + PLAIN,
        b'\xef\xbb\xbf"\xef\xbb\xbfid","target"\n"1","a"\n"2","b"\n',
        b'\xef\xbb\xbf"id","target"\n"1","a"\n"2","b"\n',
        PLAIN.replace(b"\n", b"\r\n"),
        PLAIN.replace(b"\n", b"\r"),
        PLAIN.replace(b"\n", b"\r\r\n"),
        PLAIN.rstrip(b"\n"),
        PLAIN + b"\n\n",
        b'"id","target"\r\n"1","a"\r\n"2","b"',
        b"id , target\n1,a\n2,b\n",
        b"id,target\n1,a,\n2,b,\n",
        b"id,target,\n1,a,\n2,b, \n",
        b",id,target\n0,1,a\n1,2,b\n",
        b",id,target,\n1,1,a,\n0,2,b,\n",
    ],
)
def test_the_same_table_in_every_dress(content: bytes) -> None:
    table = read_table(content)
    assert table.names == ("id", "target")
    assert table.columns == {"id": ["1", "2"], "target": ["a", "b"]}
    assert bool(table.warnings) == (b",id" in content)


def test_cells_are_the_text_of_the_file() -> None:
    table = read_table(b"id,target\n007,NA\n010,nan\n1.0, None \n,\n")
    assert table.columns == {"id": ["007", "010", "1.0", ""], "target": ["NA", "nan", " None ", ""]}


def test_quoted_cells_hold_separators_quotes_and_breaks() -> None:
    table = read_table(b'id,target\n1,"a, ""b""\nc\rd\r\ne"\n2,f"g\n')
    assert table.columns["target"] == ['a, "b"\nc\rd\r\ne', 'f"g']


def test_a_cell_may_be_larger_than_the_csv_module_reads() -> None:
    cell = "x" * 200_000
    assert read_table(f'id,target\n1,"{cell}"\n'.encode()).columns["target"] == [cell]


def test_only_wanted_columns_are_kept() -> None:
    table = read_table(b"id,target,note\n1,a,b\n", wanted={"id", "target"})
    assert table.names == ("id", "target", "note")
    assert set(table.columns) == {"id", "target"}


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"", "empty_file", "header"),
        (b"\n\r\n", "empty_file", "header"),
        (b"\xef\xbb\xbf", "empty_file", "header"),
        (b"id,id\n1,2\n", "duplicate_columns", "'id'"),
        (b"id, id\n1,2\n", "duplicate_columns", "'id'"),
        (b"id,target\n1,a\n2,b,c\n", "ragged_row", "Line 3: expected 2 fields, as in the header, found 3"),
        (b"id,target\n1,a\n\n2\n", "ragged_row", "Line 4: expected 2 fields, as in the header, found 1"),
        (b'id,target\n1,"a\nb"\n2\n', "ragged_row", "Line 4"),
        (b'\r\n"id",target\r\n\r\n1,a\r\r\n2\r\n', "ragged_row", "Line 6"),
        (b'\n"id",target\n1,"\r\n\n\r"\n\n"2', "bad_quoting", "Line 8"),
        (b"id,target\n1,a,\n2,b\n", "ragged_row", "Line 2: expected 2 fields, as in the header, found 3"),
        (b"id,target\n1,a\n2,b,\n", "ragged_row", "Line 3"),
        (b"id,target,\n1,a\n2,b\n", "ragged_row", "Line 2: expected 3 fields"),
        (b"id,target,\n1,a,x\n2,b,\n", "unnamed_column", "Column 3"),
        (b"id,,target\n1,,a\n", "unnamed_column", "Column 2"),
        (b",id,target\n1,1,a\n2,2,b\n", "unnamed_column", "index=False"),
        (b",id,target\n0,1,a\n0,2,b\n", "unnamed_column", "index=False"),
        (b'id,target\n1,"a\n2,b\n', "bad_quoting", "Line 2"),
        (b'id,target\n1,a\n2,"b\n"c\n', "bad_quoting", "Line 4"),
        (b"id,target\n1,\xe9\n", "not_utf8", "byte 0xe9 at offset 12"),
        ("id,target\n1,a\n".encode("utf-16"), "not_utf8", "UTF-16"),
        (b"id,target\n1,\0\n", "nul_byte", "offset 12"),
        (b"," * 20_000, "ragged_row", "10,000"),
        (b'"",' + b"," * 20_000, "ragged_row", "10,000"),
    ],
)
def test_refused_with_a_reason(content: bytes, code: str, words: str) -> None:
    problem = refusal(content).problem
    assert problem.code == code
    assert words in problem.message


def test_a_flood_of_rows_ends_the_reading() -> None:
    with pytest.raises(Refused) as caught:
        read_table(b"id,target\n" + b"1,2\n" * 11, max_rows=10)
    assert caught.value.problem.code == "too_many_rows"


def test_a_refusal_survives_pickling() -> None:
    error = refusal(b"")
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    assert copied.problem == error.problem


cells = st.text(st.characters(exclude_characters="\0\ufeff", exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.lists(cells, min_size=2, max_size=2), max_size=6), st.sampled_from(["\n", "\r\n", "\r"]))
def test_reads_what_the_csv_module_writes(rows: list[list[str]], ending: str) -> None:
    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator=ending)
    writer.writerows([["a", "b"], *rows])
    table = read_table(file.getvalue().encode())
    assert [list(row) for row in zip(table.columns["a"], table.columns["b"], strict=True)] == rows


@given(st.text(st.sampled_from('a1,"\r\n '), max_size=40))
def test_never_raises_anything_but_a_refusal(text: str) -> None:
    try:
        table = read_table(text.encode())
    except Refused as refused:
        message = refused.problem.message
    else:
        message = ""
        assert all(len(column) == table.rows for column in table.columns.values())
    assert len(message) < 500


@given(st.lists(st.lists(st.text("ab ", max_size=3), min_size=2, max_size=2), min_size=1, max_size=5))
def test_quotes_change_nothing(rows: list[list[str]]) -> None:
    plain = "x,y\n" + "".join(",".join(row) + "\n" for row in rows)
    quoted = '"x",y\n' + "".join(",".join(row) + "\n" for row in rows)
    assert read_table(plain.encode()) == read_table(quoted.encode())


def test_reads_a_regular_file(tmp_path: Path) -> None:
    path = tmp_path / "submission.csv"
    path.write_bytes(PLAIN)
    assert read_bytes(path) == PLAIN


def test_each_irregular_file_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").write_bytes(PLAIN)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("socket")
    for path, words in {
        tmp_path / "link": "a symbolic link",
        tmp_path / "pipe": "a named pipe",
        tmp_path / "socket": "a socket",
        tmp_path: "a directory",
        type(tmp_path)("/dev/null"): "a character device",
    }.items():
        with pytest.raises(Refused, match=words) as caught:
            read_bytes(path)
        assert caught.value.problem.code == "not_a_file"


def test_a_sparse_giant_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "giant"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(Refused, match="1,099,511,627,776 bytes"):
        read_bytes(path)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (Artifact(name="submission.csv", state=ArtifactState.MISSING), "no_file"),
        (Artifact(name="submission.csv", state=ArtifactState.NOT_A_FILE, detail="a symbolic link"), "not_a_file"),
        (Artifact(name="submission.csv", state=ArtifactState.TOO_LARGE, detail="90 MiB"), "too_large"),
    ],
)
def test_what_a_sandbox_could_not_read_is_refused(source: Artifact, code: str) -> None:
    with pytest.raises(Refused) as caught:
        read_bytes(source)
    assert caught.value.problem.code == code


def test_what_a_sandbox_read_is_not_measured_again(tmp_path: Path) -> None:
    content = b"x" * 101
    (tmp_path / "submission.csv").write_bytes(content)
    assert read_bytes(content, max_bytes=100) == content
    assert read_bytes(Artifact(name="x", state=ArtifactState.OK, content=content), max_bytes=100) == content
    with pytest.raises(Refused, match="101 bytes"):
        read_bytes(tmp_path / "submission.csv", max_bytes=100)


def test_a_path_that_leads_nowhere_is_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "none", tmp_path / "file" / "below"):
        with pytest.raises(Refused) as caught:
            read_bytes(path)
        assert caught.value.problem.code == "no_file"
