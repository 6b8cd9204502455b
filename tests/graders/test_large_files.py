"""Large files are read in blocks, and by a faster parser where they are plain: what is read never depends on it."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders import answers
from openmle_env.graders.grader import Grader
from openmle_env.graders.loading import batches, plain_blocks, records, table
from openmle_env.graders.loading.id_index import NOT_FOUND, IdIndex, RowLookup, repeated
from openmle_env.graders.loading.plain_blocks import _BlockReader
from openmle_env.graders.loading.source import MAX_BYTES, Refused, open_source
from openmle_env.graders.loading.table import TextReader, read_table
from openmle_env.graders.split import Split
from openmle_env.graders.submission import check, load
from openmle_env.types import Column, ColumnKind, Part, SubmissionSchema

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from openmle_env.graders.loading.batches import Batch
    from openmle_env.graders.rows import Rows
    from openmle_env.graders.submission import Loaded, Report

KINDS: tuple[ColumnKind, ...] = ("integer", "number", "probability", "label", "text")
LABELS = ("0", "1", "true story")


@contextmanager
def blocks_of(size: int | None) -> Iterator[None]:
    """Read every file in plain blocks of about so many bytes; with None, read none so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_blocks, "MIN_BYTES", MAX_BYTES + 1 if size is None else 0)
        if size is not None:
            patch.setattr(plain_blocks, "BLOCK", size)
        yield


@contextmanager
def no_text_reader() -> Iterator[None]:
    """Fail where a file is not read in plain blocks."""

    def batches(*_: object, **__: object) -> None:
        raise AssertionError("the file was read cell by cell")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextReader, "batches", batches)
        yield


@contextmanager
def no_closer_look() -> Iterator[None]:
    """Fail where a block is converted cell by cell."""

    def from_cells(*_: object) -> None:
        raise AssertionError("a block was converted cell by cell")

    with no_text_reader(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_blocks, "from_cells", from_cells)
        yield


def schema(kind: ColumnKind, id_kind: ColumnKind = "integer", *, alone: bool = False) -> SubmissionSchema:
    """A target of the kind; and one of numbers, unless it stands alone."""
    y = Column(name="y", kind=kind, labels=LABELS if kind == "label" else ())
    return SubmissionSchema(
        id=Column(name="id", kind=id_kind), targets=(y,) if alone else (y, Column(name="z", kind="number"))
    )


def contents(rows: Rows | None) -> object:
    """Everything that rows hold, bit by bit."""
    if rows is None:
        return None
    values = [array.tolist() if array.dtype == np.object_ else array.tobytes() for array in rows.values.values()]
    return rows.ids.tolist(), str(rows.ids.dtype), list(rows.values), values, dict(rows.columns)


def everything(report: Report | Loaded) -> object:
    rows = report.rows if hasattr(report, "rows") else report.predictions
    return report.problems, report.warnings, contents(rows)


ODD = (
    *("nan", "inf", "-Infinity", "", " ", "1_0", "0x1F", "1e400", "1e-400", "2.4e-324", "1d", "NA", "None", "-", "+7"),
    *("True", "true", "FALSE", "+1e 5", "+1E\t5", "1 e5", " 1", "1 ", "\t1", "\u00a01", "\u0661", "007", "-0", "1.0"),
    *("9007199254740993", "9007199254740993.0", "9007199254740992.99999", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "-9223372036854775809", "18446744073709551615", "99999999999999999999", "1" * 400),
    *("0." + "0" * 400 + "1", "1" * 1001, "0." + "3" * 1001, "true story", " true story", "no\u0301", "\ufeff1", "a b"),
    *("0.1000000000000000055511151231257827021181583404541015625", "2.2250738585072011e-308", "1.8e308"),
)
numbers = st.floats(allow_nan=False).map(repr) | st.integers(-(10**20), 10**20).map(str) | st.floats(0, 1).map(repr)
odd = st.sampled_from(ODD) | st.text(st.sampled_from("019+-.eE \t_'x"), max_size=7)
small = st.integers(0, 9).map(str)


@st.composite
def columns(draw: st.DrawFn, rows: int) -> list[str]:
    """Cells as a program may write them: alike in most columns, and anything at times."""
    alike = draw(st.sampled_from([numbers, small, st.sampled_from(LABELS), odd, st.sampled_from(["true", "False"])]))
    cells = draw(st.lists(alike, min_size=rows, max_size=rows))
    if rows and draw(st.booleans()):
        cells[draw(st.integers(0, rows - 1))] = draw(odd)
    return cells


@st.composite
def tables(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """A file, and the ids that are expected of it."""
    rows = draw(st.integers(0, 12))
    plain_ids = st.integers(0, 15) | st.integers(-(2**63), 2**63 - 1)
    expected = draw(st.lists(plain_ids, min_size=max(rows, 1), max_size=max(rows, 1), unique=True))
    found = [str(key) for key in draw(st.permutations(expected))][:rows]
    if rows and draw(st.booleans()):
        found[draw(st.integers(0, rows - 1))] = draw(odd | plain_ids.map(str))
    parts = {"id": found, "y": draw(columns(rows)), "z": draw(columns(rows)), "more": draw(columns(rows))}
    for name in draw(st.sampled_from([(), (), ("more",), ("more", "z")])):
        del parts[name]
    names = draw(st.permutations(list(parts)))
    quotes = draw(st.sampled_from(["", "", '"']))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    lines = [names, *zip(*(parts[name] for name in names), strict=True)]
    text = end.join(",".join(f"{quotes}{cell}{quotes}" for cell in line) for line in lines)
    return (text + draw(st.sampled_from(["", end, end, end + end]))).encode(), [str(key) for key in expected]


@settings(deadline=None, max_examples=300)
@given(
    tables(),
    st.builds(schema, st.sampled_from(KINDS), st.sampled_from(["integer", "text"]), alone=st.booleans()),
    st.sampled_from([24, 60, 1 << 20]),
)
def test_blocks_and_cells_agree(made: tuple[bytes, list[str]], wanted: SubmissionSchema, size: int) -> None:
    content, ids = made
    with blocks_of(None):
        exact, exactly = check(content, wanted, ids), load(content, wanted)
    with blocks_of(size):
        assert everything(check(content, wanted, ids)) == everything(exact)
        assert everything(load(content, wanted)) == everything(exactly)


@settings(deadline=None, max_examples=300)
@given(
    st.text(st.sampled_from('01,,"\r\n\n a\u00e9'), max_size=60).map(lambda rest: f"id,y,z\n{rest}"),
    st.sampled_from([7, 20, 1 << 20]),
)
def test_any_text_is_read_alike(text: str, size: int) -> None:
    wanted = schema("text", "text")
    with blocks_of(None):
        exact = load(text.encode(), wanted)
    with blocks_of(size):
        assert everything(load(text.encode(), wanted)) == everything(exact)


@pytest.mark.parametrize("id_kind", ["integer", "text"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_plain_files_need_no_closer_look(kind: ColumnKind, id_kind: ColumnKind, end: str, quote: str) -> None:
    cells = {"integer": "-12", "number": "1e-3", "probability": "0.25", "label": " true story", "text": "caf\u00e9"}
    lines = [f"{quote}{i}{quote},{cells[kind]},-1.5{end}" for i in reversed(range(50))]
    content = f"\ufeff{quote}id{quote},y,z{end}{''.join(lines)}".encode()
    with blocks_of(64), no_closer_look():
        report = check(content, schema(kind, id_kind), map(str, range(50)))
    assert report.valid, report.message
    assert report.predictions is not None
    value = {"integer": -12, "number": 0.001, "probability": 0.25}.get(kind, cells[kind].strip())
    assert report.predictions.cells("y") == [value] * 50
    assert report.predictions.cells("z") == [-1.5] * 50


@given(st.lists(st.integers(0, 10**16 - 1) | st.integers(0, 10**9), min_size=1, max_size=20, unique=True), st.data())
def test_digits_are_joined_to_integers(values: list[int], data: st.DataObject) -> None:
    found = data.draw(st.permutations(values))
    zeros = data.draw(st.integers(0, 3))
    text = "id,y\n" + "".join(f"{'0' * zeros if value < 10**13 else ''}{value},{value}\n" for value in found)
    with blocks_of(100), no_closer_look():
        report = check(text.encode(), schema("integer", alone=True), map(str, values))
    assert report.predictions is not None
    assert report.predictions.cells("y") == values


def test_a_block_with_a_wrong_cell_is_looked_at_alone() -> None:
    looked: list[int] = []

    def from_cells(*arguments: object) -> Batch:
        batch = batches.from_cells(*arguments)  # type: ignore[arg-type]  # passed on
        looked.append(batch.rows)
        return batch

    rows = [f"{i},1,{'nan' if i == 70 else 0.5}\n" for i in range(100)]
    with blocks_of(100), no_text_reader(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_blocks, "from_cells", from_cells)
        report = check(("id,y,z\n" + "".join(rows)).encode(), schema("integer"), map(str, range(100)))
    assert len(looked) == 1
    assert looked[0] < 20
    assert report.message == (
        "Column 'z': 1 of 100 values are not finite (NaN, infinite or too large). "
        "Write a finite number for each row. See id '70': 'nan'."
    )


def test_wrong_ids_of_a_large_file_are_counted_in_its_order() -> None:
    ids = [*range(90), 5, 3, 5, 3, 7, 1000, 1001, 1000]
    content = ("id,y,z\n" + "".join(f"{i},1,2\n" for i in ids)).encode()
    with blocks_of(50), no_closer_look():
        problems = check(content, schema("integer"), map(str, range(100))).problems
    assert [(problem.code, problem.count, problem.examples) for problem in problems] == [
        ("missing_ids", 10, ("'90'", "'91'", "'92'", "'93'", "'94'")),
        ("unknown_ids", 3, ("'1000'", "'1001'", "'1000'")),
        ("duplicate_ids", 3, ("'5'", "'3'", "'7'")),
    ]


keys = st.integers(-20, 20) | st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=9)


@given(st.lists(keys, min_size=1, max_size=40, unique=True), st.lists(keys, max_size=20))
def test_integers_are_found(expected: list[int], others: list[int]) -> None:
    index = IdIndex(np.array(expected, np.int64), Column(name="id", kind="integer"))
    wanted = [*expected[::-1], *others]
    places = {key: place for place, key in enumerate(expected)}
    assert index.find(np.array(wanted, np.int64)).tolist() == [places.get(key, NOT_FOUND) for key in wanted]


@settings(deadline=None)
@given(
    st.lists(texts, min_size=1, max_size=40, unique=True),
    st.lists(texts | st.integers(60, 70).map("x".__mul__), max_size=20),
    st.sampled_from(["", "long " * 40]),
    st.booleans(),
)
def test_texts_are_found(expected: list[str], others: list[str], start: str, clash: bool) -> None:
    expected = [start + text for text in expected]
    wanted = [*expected[::-1], *others, *(start + text for text in others), *(text + "x" for text in expected)]
    places = {key: place for place, key in enumerate(expected)}
    with pytest.MonkeyPatch.context() as patch:
        if clash:  # whatever the hash is, ids are what is compared

            def slot(lookup: RowLookup, words: np.ndarray[tuple[int, int], np.dtype[np.uint64]]) -> object:
                return np.zeros(len(words), np.intp), np.ones(len(words), np.intp)

            patch.setattr(RowLookup, "_slot", slot)
        index = IdIndex(np.array(expected, np.dtypes.StringDType()), Column(name="id", kind="text"))
        assert index.find(wanted).tolist() == [places.get(key, NOT_FOUND) for key in wanted]
        copied = pickle.loads(pickle.dumps(index))  # noqa: S301  our own bytes
        assert copied.find(expected).tolist() == list(range(len(expected)))


@given(st.lists(st.integers(0, 6) | st.sampled_from([2**62, -(2**62)]), max_size=12))
def test_repeated_ids_are_found_once_each(ids: list[int]) -> None:
    seen: set[int] = set()
    twice: dict[int, int] = {}
    for position, key in enumerate(ids):
        if key in seen:
            twice.setdefault(key, position)
        seen.add(key)
    assert repeated(np.array(ids, np.int64)).tolist() == sorted(twice.values())
    assert repeated(np.array([str(key) for key in ids], np.dtypes.StringDType())).tolist() == sorted(twice.values())


def test_integers_beyond_64_bits_are_ids_all_the_same() -> None:
    ids = ["1", "12345678901234567890", "-12345678901234567890123"]
    rows = ["12345678901234567890.0,1,2", "-12345678901234567890123,1,2", "1,1,2"]
    content = "\n".join(["id,y,z", *rows, ""]).encode()
    for size in (None, 30):
        with blocks_of(size):
            assert check(content, schema("integer"), ids).valid
            assert "'12345678901234567890'" in check(content, schema("integer"), ["1"]).message
            loaded = load(content, schema("integer"))
        assert loaded.rows is not None
        assert loaded.rows.ids.tolist() == [ids[1], ids[2], ids[0]]


def test_load_reads_without_ids_to_compare() -> None:
    loaded = load(b"more,z,id,y\nm,1,b,2\nm,3,a,4\n", schema("integer", "text"))
    assert loaded.valid
    assert loaded.warnings == ("Columns that the task does not ask for are ignored: 'more'.",)
    assert loaded.rows is not None
    assert loaded.rows.ids.tolist() == ["b", "a"]
    assert (loaded.rows.cells("y"), loaded.rows.cells("z")) == ([2, 4], [1.0, 3.0])


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"", "empty_file", "Write a header line"),
        (b"id,y,z\n", "header_only", "Write one row for each id."),
        (b"id,y\n1,2\n", "wrong_columns", "'z'"),
        (b"id,y,z\n1,2,3\n2,2,3\n1,2,3\n1,2,3\n", "duplicate_ids", "Ids in more than one row (1): '1'."),
        (b"id,y,z\n,2,3\n", "blank_ids", "1"),
        (b"id,y,z\nx,2,3\n", "malformed_ids", "'x'"),
        (b"id,y,z\n1,2,nan\n", "not_finite", "See id '1': 'nan'."),
        (b"id,y,z\n1,2\n", "ragged_row", "Line 2"),
    ],
)
@pytest.mark.parametrize("size", [None, 30])
def test_what_load_refuses(content: bytes, code: str, words: str, size: int | None) -> None:
    with blocks_of(size):
        loaded = load(content, schema("integer"))
    assert [problem.code for problem in loaded.problems] == [code]
    assert words in loaded.message
    assert loaded.rows is None


# The score


N = 24


def _dressed(
    rows: Sequence[dict[str, str]], names: Sequence[str], end: str, quote: Callable[[], bool], marks: int
) -> bytes:
    def cell(text: str) -> str:
        return f'"{text}"' if quote() else text

    lines = [names, *([row[name] for name in names] for row in rows)]
    return (b"\xef\xbb\xbf" * marks) + "".join(",".join(map(cell, line)) + end for line in lines).encode()


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=N, max_size=N),
    st.randoms(use_true_random=False),
    st.tuples(st.sampled_from(["\n", "\r\n", "\r"]), st.integers(0, 2), st.sampled_from([None, 40])),
)
def test_the_dress_of_a_file_never_changes_the_score(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[float],
    shuffler: random.Random,
    dress: tuple[str, int, int | None],
) -> None:
    end, marks, size = dress
    path = tmp_path_factory.getbasetemp() / "answers.csv"
    path.write_text("id,y\n" + "".join(f"{i:02},{i / N!r}\n" for i in range(N)))
    wanted = SubmissionSchema(id=Column(name="id", kind="text"), targets=(Column(name="y", kind="number"),))
    grader = Grader(schema=wanted, metric="rmse", answers=path, salt="s")
    rows = [{"id": f"{i:02}", "y": repr(value), "note": "x y" * (i % 2)} for i, value in enumerate(values)]
    plain = _dressed(rows, ["id", "y", "note"], "\n", lambda: False, 0)
    names = ["id", "y", "note"]
    shuffler.shuffle(rows)
    shuffler.shuffle(names)
    dressed = _dressed(rows, names, end, lambda: shuffler.random() < 0.5, marks)
    for part in Part:
        expected = grader.grade(plain, part)
        with blocks_of(size):
            found = grader.grade(dressed, part)
        assert expected.score is not None
        assert (found.score, found.warnings) == (expected.score, expected.warnings)


@settings(deadline=None)
@given(st.permutations([repr(i / N) for i in range(N)]), st.sampled_from(["", "x,1,2\n", "3,1,2\n"]))
def test_permuting_predictions_never_changes_the_report(values: list[str], more: str) -> None:
    rows = "".join(f"{i},{i},{value}\n" for i, value in enumerate(values))
    base = "".join(f"{i},{i},{i / N!r}\n" for i in range(N))
    for size in (None, 40):
        with blocks_of(size):
            found = check(f"id,y,z\n{rows}{more}".encode(), schema("integer"), map(str, range(N)))
            expected = check(f"id,y,z\n{base}{more}".encode(), schema("integer"), map(str, range(N)))
        assert (found.valid, found.problems, found.warnings) == (expected.valid, expected.problems, expected.warnings)


# Answers


@pytest.mark.parametrize("size", [None, 50])
def test_answers_are_read_in_blocks(tmp_path: Path, size: int | None) -> None:
    path = tmp_path / "answers.csv"
    lines = [f"{i},{i % 2},{i / 8},{'public' if i < 10 else 'private'},{i % 4}" for i in range(40)]
    path.write_text("\n".join(["id,y,z,Usage,kept", *lines, ""]))
    wanted = schema("label")
    split = Split(method="column", column="Usage")
    with blocks_of(size):
        read = answers.load(path, wanted, split, wanted.targets, scored_rows=answers.Condition.parse("kept != 3"))
        everything_read = answers.load(path, wanted, split, None)
    assert read.rows.ids.tolist() == list(range(40))
    assert read.rows.cells("y") == ["0", "1"] * 20
    assert read.rows.cells("z") == [i / 8 for i in range(40)]
    scored = [i for i in range(40) if i % 4 != 3]
    assert read.positions[Part.VALIDATION].tolist() == [i for i in scored if i < 10]
    assert read.positions[Part.TEST].tolist() == [i for i in scored if i >= 10]
    assert read.positions[Part.ALL].tolist() == scored
    assert everything_read.rows.cells("z") == [str(i / 8) for i in range(40)]
    assert list(everything_read.rows.values) == ["y", "z", "Usage", "kept"]


@pytest.mark.parametrize("size", [None, 20])
def test_one_column_of_the_answers_may_be_read_in_two_ways(tmp_path: Path, size: int | None) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("id,y\n" + "".join(f"{i},{i % 4}\n" for i in range(12)))
    wanted = SubmissionSchema(id=Column(name="id", kind="integer"), targets=(Column(name="y", kind="number"),))
    with blocks_of(size):
        for condition, scored in (("y != 3", [0, 1, 2, 4, 5, 6, 8, 9, 10]), ("id = 7", [7])):
            parsed = answers.Condition.parse(condition)
            read = answers.load(path, wanted, Split(method="none"), wanted.targets, scored_rows=parsed)
            assert read.positions[Part.ALL].tolist() == scored
            assert read.rows.cells("y") == [float(i % 4) for i in range(12)]


@pytest.mark.parametrize("size", [None, 20])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("id,y,z\n1,0,1\n1.0,0,1\n", "'1' appears twice"),
        ("id,y,z\n1,0,1\n,0,1\n", "'' is no integer id"),
        ("id,y,z\n1,0,1\n2,5,1\n", "column 'y', .* is one. Of those cells 1 are none of its labels: correct them"),
        ("id,y,z\n", "no ids"),
        ("id,y\n1,0\n", "the column 'z' is missing"),
    ],
)
def test_wrong_answers(tmp_path: Path, content: str, words: str, size: int | None) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(content)
    wanted = schema("label")
    with blocks_of(size), pytest.raises(PackError, match=words):
        answers.load(path, wanted, Split(method="none"), wanted.targets)


# Pieces, limits and files that change


@settings(max_examples=300)
@given(st.text(st.sampled_from('a1,"\r\n \u00e9\U0001f600\ufeff'), max_size=40), st.integers(2, 9))
def test_pieces_never_change_what_is_read(text: str, piece: int) -> None:
    content = f"\ufeff\ufeffx,y\n{text}".encode()

    def read() -> object:
        try:
            found = read_table(content)
        except Refused as refused:
            return refused.problem
        return found

    whole = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "PIECE", piece)
        assert read() == whole


def test_a_faulty_byte_is_named_by_its_place_in_the_file() -> None:
    for content, words in (
        (b"id,y\n" + "\u00e9".encode() * 9 + b"\xe9\n", "byte 0xe9 at offset 23"),
        (b"id,y\n1234567890,\0", "NUL byte at offset 16"),
        (b"id,y\n1,2\n3,\xc3", "byte 0xc3 at offset 11"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(records, "PIECE", 5)
            with pytest.raises(Refused, match=words):
                read_table(content)


def test_a_quote_that_is_never_closed_does_not_take_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "PIECE", 16)
    monkeypatch.setattr(records, "MAX_RECORD", 1000)
    with pytest.raises(Refused, match="Line 2: a row of more than 1,000 characters"):
        read_table(b'id,y\n1,"' + b"2\n" * 100_000)


def test_cells_are_handed_on_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "BATCH_CELLS", 100)
    content = b"id,y,z\n" + b'1,"2",3\n' * 1000
    with open_source(content) as source:
        reader = TextReader(source)
        sizes = [len(cells[0]) for cells in reader.batches(["y", "id"])]
    assert max(sizes) <= 50
    assert sum(sizes) == reader.rows == 1000


def test_a_line_that_never_ends_is_not_kept_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_blocks, "MAX_LINE", 1000)
    content = b"id,y,z\n1,2,3\n" + b"4" * 5000 + b",5,6\n"
    with blocks_of(100):
        report = check(content, schema("integer"), ["1"])
    assert [problem.code for problem in report.problems] == ["malformed_ids"]


@pytest.mark.parametrize("change", [b"", b"id,y,z\n1,1", b"y,z\n1,2\n", b"\0" * 400, b"id,y,z\n" + b"1,1,1\n" * 200])
def test_a_file_that_changes_while_it_is_read_gives_a_report(tmp_path: Path, change: bytes) -> None:
    path = tmp_path / "submission.csv"
    path.write_bytes(b"id,y,z\n" + b"".join(b"%d,1,2\n" % i for i in range(100)))
    batch = _BlockReader.batch

    def changing(reader: _BlockReader, block: bytes) -> Batch | None:
        path.write_bytes(change)
        return batch(reader, block)

    with blocks_of(50), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_BlockReader, "batch", changing)
        report = check(path, schema("integer"), map(str, range(100)))
    assert not report.valid
    assert report.message


def test_a_file_that_grows_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "submission.csv"
    path.write_bytes(b"x" * 100)
    with open_source(path, max_bytes=150) as source:
        path.write_bytes(b"x" * 200)
        with pytest.raises(Refused, match="more than 150 bytes"):
            source.read(1000)


def test_a_sparse_file_is_refused_at_its_first_hole(tmp_path: Path) -> None:
    path = tmp_path / "submission.csv"
    with path.open("wb") as file:
        file.write(b"id,y,z\n1,2,3\n")
        file.truncate(MAX_BYTES)
    report = check(path, schema("integer"), ["1"])
    assert [problem.code for problem in report.problems] == ["nul_byte"]
