from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.task_registry import files
from openmle_env.task_registry.manifest import describe


def described(tmp_path, content: bytes, name: str = "public/a.csv"):
    path = tmp_path / name.rpartition("/")[2]
    path.write_bytes(content)
    return describe(name, path)


@pytest.mark.parametrize(
    ("content", "rows", "columns"),
    [
        (b"", 0, ()),
        (b"a,b", 0, ("a", "b")),
        (b"a,b\n", 0, ("a", "b")),
        (b"a,b\n1,2\n3,4", 2, ("a", "b")),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n", 1, ("a", "b")),
        (b"a,b\r1,2\r3,4\r", 2, ("a", "b")),
        (b"\n\na,b\n\n1,2\r\n\r\n3,4\n\n\n", 2, ("a", "b")),
        (b'a\n""\n"\n\n"\n', 2, ("a",)),
        (b'a,"b\nc"\n1,"x\n""y""\nz"\n', 1, ("a", "b\nc")),
        (b"\xff,b\n1,2\n", 1, ("\ufffd", "b")),
    ],
)
def test_tables_are_measured(tmp_path, content, rows, columns):
    found = described(tmp_path, content)
    assert (found.size, found.rows, found.columns) == (len(content), rows, columns)


ROWS = st.lists(st.lists(st.text(alphabet='ab",\n', max_size=4), min_size=2, max_size=2), min_size=1, max_size=8)


@given(ROWS, st.integers(1, 5))
def test_rows_are_counted_like_a_parser_does(tmp_path_factory, rows, chunk):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK", chunk)
        patch.setattr("openmle_env.task_registry.manifest._header", lambda path: ())
        found = described(tmp_path_factory.mktemp("rows"), text.getvalue().encode())
    assert found.rows == len(rows) - 1


def test_previews_are_bounded_and_hold_no_control_characters(tmp_path):
    content = b"a\x1b[31m\n" + b"x" * 5000 + b"\n" + b"y\n" * 50
    preview = described(tmp_path, content).preview
    assert preview.splitlines()[0] == "a [31m"
    assert [len(line) for line in preview.splitlines()] == [6, 240]


def test_of_answers_only_size_and_hash_are_kept(tmp_path):
    found = described(tmp_path, b"id,kind\n1,cat\n", "private/test_answer.csv")
    assert (found.rows, found.columns, found.preview) == (None, (), "")


def test_of_an_image_there_is_no_preview(tmp_path):
    assert described(tmp_path, b"\x89PNG", "public/a.png").preview == ""
