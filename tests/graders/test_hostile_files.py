"""What a file is made to do to its reader: take its time or its memory, break it off half-way, or learn the answers."""

from __future__ import annotations

import csv
import signal
import threading
import tracemalloc
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmle_env.errors import PackError
from openmle_env.graders import answers
from openmle_env.graders.loading import plain_blocks, problems, reading, records
from openmle_env.graders.loading.batches import MAX_HINTS, MAX_LABEL_HINTS, Alignment, Plan, Wrong, from_cells
from openmle_env.graders.loading.cells import MAX_SPELLINGS, _Spellings
from openmle_env.graders.loading.id_index import IdIndex, RowLookup
from openmle_env.graders.loading.source import Refused, Source
from openmle_env.graders.loading.table import TextReader, read_table
from openmle_env.graders.split import Split
from openmle_env.graders.submission import check, load
from openmle_env.types import Column, ColumnKind, SubmissionSchema

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator, Sequence

    from openmle_env.graders.loading.batches import Batch
    from openmle_env.graders.loading.plain_blocks import _BlockReader

ENGINES = [None, 24, 1 << 20]
"""Cell by cell, and by blocks of so many bytes."""


def schema(kind: ColumnKind, id_kind: ColumnKind = "integer", labels: tuple[str, ...] = ()) -> SubmissionSchema:
    return SubmissionSchema(id=Column(name="id", kind=id_kind), targets=(Column(name="y", kind=kind, labels=labels),))


def read_by(patch: pytest.MonkeyPatch, block: int | None) -> None:
    """Read by blocks of a size, or, with None, cell by cell."""
    patch.setattr(plain_blocks, "MIN_BYTES", 1 << 40 if block is None else 0)
    patch.setattr(plain_blocks, "BLOCK", block or 1 << 20)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    read_by(monkeypatch, request.param)


def codes(found: Sequence[object]) -> list[str]:
    return [problem.code for problem in found]  # type: ignore[attr-defined]  # they are problems


# Both readers agree where one of them once did not


@pytest.mark.usefixtures("engine")
def test_cells_shorter_than_any_label() -> None:
    wanted = schema("label", labels=("melanoma, benign", "melanoma, other"))
    report = check(b"id,y\n1,0\n2,1\n", wanted, ["1", "2"])
    assert [(problem.code, problem.count) for problem in report.problems] == [("unknown_label", 2)]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("content", "line"), [(b"id,y\n1,2,3\n4\n", 2), (b"id,y\n1,2\n1,2,3\n4\n", 3)])
def test_rows_whose_lengths_make_up_for_each_other(content: bytes, line: int) -> None:
    (problem,) = load(content, schema("number")).problems  # no warning either: those are errors here
    assert (problem.code, problem.message.split(":")[0]) == ("ragged_row", f"Line {line}")


# Time


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("place", ["id", "label", "name"])
def test_long_texts_are_not_normalised(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To put 40,000 accents of one character in order takes Python half a minute, and more with their square."""
    lengths: list[int] = []

    def normalize(form: str, text: str) -> str:
        lengths.append(len(text))
        return unicodedata.normalize(form, text)  # type: ignore[arg-type]  # passed on

    class Recording:
        pass

    recording = Recording()
    recording.normalize = normalize  # type: ignore[attr-defined]
    monkeypatch.setattr(problems, "unicodedata", recording)
    long = "a" + "\u0301" * 500 + "\u0327" * 500
    name, key, label = (long if place == part else "e\u0301" for part in ("name", "id", "label"))
    content = f"id,{'y' if place != 'name' else name}\n{key},{label}\n".encode()
    report = check(content, schema("label", "text", ("\u00e9", "b")), ["\u00e9"])
    assert not report.valid
    assert lengths
    assert max(lengths) <= 60


def test_a_million_labels_are_indexed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for the file, whether it is read by blocks or cell by cell, not for each few rows."""
    tables: list[int] = []
    readers: list[int] = []
    build_table, build_reader = RowLookup.__init__, _Spellings.__init__

    def count_table(self: RowLookup, words: np.ndarray[tuple[int, int], np.dtype[np.uint64]]) -> None:
        tables.append(len(words))
        build_table(self, words)

    def count_reader(self: _Spellings, labels: tuple[str, ...]) -> None:
        readers.append(len(labels))
        build_reader(self, labels)

    index = IdIndex(np.arange(300), Column(name="id", kind="integer"))
    monkeypatch.setattr(RowLookup, "__init__", count_table)
    monkeypatch.setattr(_Spellings, "__init__", count_reader)
    labels = tuple(f"once{i}" for i in range(1_000))
    content = ("id,y\n" + "".join(f"{i},once{i}\n" for i in range(300))).encode()
    for block in (100, None):
        read_by(monkeypatch, block)
        monkeypatch.setattr(records, "PIECE", 100)
        assert check(content, schema("label", labels=labels), index).valid
    assert tables.count(1_000) <= plain_blocks.MAX_THREADS + 1  # threads may start at the same moment
    assert readers.count(1_000) <= plain_blocks.MAX_THREADS + 1


def test_strange_spellings_of_labels_are_remembered_within_bounds() -> None:
    column = Column(name="y", kind="label", labels=("0", "1"))
    reader = _Spellings(column.labels)
    assert all(reader(f"0e{i}") == 0 for i in range(3 * MAX_SPELLINGS))
    assert reader("1." + "0" * 38) == 1
    assert len(reader._others) <= MAX_SPELLINGS


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("piece", [7, 64, 1 << 20])
def test_empty_lines_are_counted_and_skipped(quote: str, end: str, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines 1 to 3 are empty, 4 is the header, 5 to 24 are empty, 25 is a row, 26 to 28 are empty, 29 is ragged."""
    monkeypatch.setattr(records, "PIECE", piece)
    lines = [*[""] * 3, f"{quote}id{quote},y", *[""] * 20, f"{quote}1{quote},2", *[""] * 3, "3", ""]
    with pytest.raises(Refused, match=r"^Line 29: expected 2 fields, as in the header, found 1\."):
        read_table(end.join(lines).encode())
    assert read_table(end.join([*lines[:-2], ""]).encode()).columns == {"id": ["1"], "y": ["2"]}


@pytest.mark.parametrize("block", ENGINES)
def test_too_many_rows_are_read_once(block: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    read_by(monkeypatch, block)
    if block is not None:
        monkeypatch.delattr(TextReader, "batches")
    (problem,) = check(b"id,y\n" + b"1,2\n" * 1_003, schema("number"), ["1"]).problems
    assert problem.message == "The file has more than 1,002 rows. Write one row for each id."


def test_quotes_do_not_make_empty_lines_costly(monkeypatch: pytest.MonkeyPatch) -> None:
    handed_on: list[str] = []
    split = csv.reader

    def reader(file: io.StringIO, *, strict: bool) -> object:
        handed_on.append(file.getvalue())
        return split(file, strict=strict)

    monkeypatch.setattr(csv, "reader", reader)
    content = b'"id",y\n' + b"\n" * 1_000 + b'"1",2\n' + b"\n" * 1_000
    assert read_table(content).columns == {"id": ["1"], "y": ["2"]}
    assert not any(handed_on)


# Memory


def test_of_huge_wrong_ids_and_cells_little_is_kept() -> None:
    """Each cell takes 4 MiB, since one of its characters needs four bytes; kept, they would take 128 MiB."""
    huge = ("\U0001f600" + "x" * (1 << 20)).encode()
    content = b"id,y\n" + b"".join(b"%s,%s\n" % (huge, huge) for _ in range(16))
    tracemalloc.start()
    try:
        report = check(content, schema("number"), ["1"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert codes(report.problems) == ["malformed_ids", "missing_ids", "not_a_number"]
    assert "(1,048,577 characters)" in report.message
    assert len(report.message) < 3_000
    assert peak < 100 << 20
    assert Wrong.of(["x" * 60, "x" * 61], 2).hints == ["x" * 60]


def test_what_is_kept_of_wrong_cells_does_not_grow_with_the_file() -> None:
    columns = (Column(name="y", kind="number"), Column(name="z", kind="label", labels=("a", "b")))
    index = IdIndex(np.arange(10), Column(name="id", kind="integer"))
    alignment = Alignment(index, columns)
    plan = Plan(index.column, columns, as_text=False)
    for start in range(0, 3 * MAX_HINTS, 1_000):
        cells = [f"w{i}" for i in range(start, start + 1_000)]
        kept = alignment.keep(from_cells(plan, [[str(i + 10) for i in range(start, start + 1_000)], cells, cells]))
        alignment.add(kept)
    assert alignment.unknown.count == alignment.findings.rows == 3 * MAX_HINTS
    assert len(alignment.unknown.hints) == MAX_HINTS
    (numbers,), (labels,) = (list(faults.values()) for faults in alignment.findings.columns)
    assert (numbers.count, numbers.labels, len(numbers.examples)) == (3 * MAX_HINTS, [], 5)
    assert (labels.count, len(labels.labels), len(labels.examples)) == (3 * MAX_HINTS, MAX_LABEL_HINTS, 5)


# Files that change, and what only looks like a file


def test_a_kernel_file_that_makes_a_reader_wait_is_refused() -> None:
    class Waiting:
        def read(self, _: int) -> None:
            return None

        def seek(self, _: int) -> None:
            raise OSError(29, "Illegal seek")

    source = Source(Waiting(), 10)  # type: ignore[arg-type]  # as much of a file as is needed
    with pytest.raises(Refused, match="cannot be read"):
        source.read(5)
    with pytest.raises(Refused, match="cannot be read: Illegal seek"):
        source.rewind()


def test_a_name_that_no_file_has(tmp_path: Path) -> None:
    for name in ("a\0b", "\ud800"):
        assert codes(check(tmp_path / name, schema("number"), ["1"]).problems) == ["no_file"]


def test_a_header_that_changes_before_the_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"id,y\n99999999999999999999,1\n")  # an integer for which ids have to be read as texts

    def changing(source: Source, reader: TextReader) -> TextReader:
        path.write_bytes(b"id,z\n99999999999999999999,1\n")
        return read_again(source, reader)

    read_again = reading.read_again
    monkeypatch.setattr("openmle_env.graders.submission.read_again", changing)
    monkeypatch.setattr("openmle_env.graders.answers.read_again", changing)
    assert codes(load(path, schema("number")).problems) == ["unreadable"]
    path.write_bytes(b"id,y\n99999999999999999999,1\n")
    with pytest.raises(PackError, match="changed while it was read"):
        answers.load(path, schema("number"), Split(method="none"), schema("number").targets)


def test_nothing_of_a_first_reading_is_left_in_the_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read by blocks up to id 98; then it turns into one that repeats id 98 and lacks id 0."""
    path = tmp_path / "submission.csv"
    path.write_bytes(b"id,y\n" + b"".join(b"%d,1\n" % i for i in range(100)))
    read_by(monkeypatch, 50)
    batch = plain_blocks._BlockReader.batch

    def changing(reader: _BlockReader, block: bytes) -> Batch | None:
        if b"\n99," not in block:
            return batch(reader, block)
        path.write_bytes(b"id,y\n98,1\n" + b"".join(b"%d,1\n" % i for i in range(1, 100)))
        return None

    monkeypatch.setattr(plain_blocks._BlockReader, "batch", changing)
    report = check(path, schema("number"), map(str, range(100)))
    assert codes(report.problems) == ["missing_ids", "duplicate_ids"]


# Threads, and being broken off


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_eight_checks_at_once_on_one_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_by(monkeypatch, 200)
    path = tmp_path / "submission.csv"
    path.write_text("id,y\n" + "".join(f"{i},{i % 2}{('', '.0', '.00')[i % 3]}\n" for i in range(500)))
    wanted = schema("label", "text", ("0", "1"))
    index = IdIndex.build([str(i) for i in reversed(range(500))], wanted.id)
    before = threading.active_count(), open_files()
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda _: check(path, wanted, index), range(40)))
    expected = [i % 2 for i in reversed(range(500))]
    for report in reports:
        assert report.predictions is not None
        assert report.predictions.values["y"].tolist() == expected
    assert (threading.active_count(), open_files()) == before


def test_an_interrupt_leaves_no_thread_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_by(monkeypatch, 200)
    path = tmp_path / "submission.csv"
    path.write_text("id,y\n" + "".join(f"{i},1\n" for i in range(2_000)))
    before = threading.active_count(), open_files()
    added: list[object] = []
    add = Alignment.add

    def interrupted(self: Alignment, placed: object) -> None:
        added.append(placed)
        if len(added) == 9:
            signal.raise_signal(signal.SIGINT)
        add(self, placed)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(Alignment, "add", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        check(path, schema("number"), map(str, range(2_000)))
    assert caught.tb is not None  # it keeps what the interrupted functions held
    assert (threading.active_count(), open_files()) == before


# What no file can hold


@pytest.mark.parametrize("text", ["a\0", "\ud800"])
def test_a_task_that_no_file_could_satisfy(text: str) -> None:
    ids = IdIndex.build(["a"], Column(name="id", kind="text"))
    with pytest.raises(PackError, match="a NUL or half a character"):
        IdIndex.build(["b", text], Column(name="id", kind="text"))
    with pytest.raises(PackError, match="A label of column 'y' holds a NUL or half a character"):
        check(b"", schema("label", "text", ("b", text)), ids)
    named = SubmissionSchema(id=Column(name="id", kind="text"), targets=(Column(name=f"y{text}", kind="text"),))
    with pytest.raises(PackError, match="rename it"):
        check(b"", named, ids)


def test_a_name_with_a_mark_is_no_name() -> None:
    named = SubmissionSchema(id=Column(name="id", kind="text"), targets=(Column(name="y\ufeff", kind="text"),))
    with pytest.raises(PackError, match="a byte-order mark"):
        check("id,y\ufeff\n1,2\n".encode(), named, ["1"])


def test_a_long_list_of_labels_is_not_repeated() -> None:
    labels = tuple(str(i) for i in [*range(5_000), 0])
    with pytest.raises(PackError, match="lists 5,001: '0', '1', '2', '3', '4' and 4,996 more") as caught:
        check(b"", schema("label", labels=labels), ["1"])
    assert len(str(caught.value)) < 200


# What a report tells of the answers: nothing

N = 12
VALUES: dict[ColumnKind, tuple[list[str], list[str]]] = {
    "integer": (["3", "-3", "1.0", "0", "1e3"], ["1.5", "", "x", "9" * 30]),
    "number": (["3", "-0.5", " 1", "1e-400", "-0"], ["nan", "", "1_0", "1e400"]),
    "probability": (["0.5", "1", "0", "1e-9"], ["1.01", "", "-1", "inf"]),
    "label": (["yes", "no", "True", "0", "Y"], ["maybe", "", "2"]),
    "text": (["a", " ", "\u00e9", "a,b", "0"], [""]),
}
"""Valid and wrong cells of each kind."""


@st.composite
def permuted(draw: st.DrawFn) -> tuple[SubmissionSchema, list[str], list[str], list[str]]:
    """A schema, the cells of N rows, the same with valid cells permuted, and rows with wrong ids."""
    kind = draw(st.sampled_from(list(VALUES)))
    valid, wrong = VALUES[kind]
    cells = draw(st.lists(st.sampled_from(valid), min_size=N, max_size=N))
    wrong_at = draw(st.dictionaries(st.integers(0, N - 1), st.sampled_from(wrong), max_size=7))
    other = draw(st.permutations([cell for i, cell in enumerate(cells) if i not in wrong_at]))
    rest = iter(other)
    first = [wrong_at.get(i, cell) for i, cell in enumerate(cells)]
    second = [wrong_at[i] if i in wrong_at else next(rest) for i in range(N)]
    ids = draw(st.sampled_from([[], ["3"], ["77"], ["x"], [""], ["77", "3", "x"]]))
    id_kind: ColumnKind = "text" if draw(st.booleans()) else "integer"
    return schema(kind, id_kind, ("no", "yes") if kind == "label" else ()), first, second, ids


def table(cells: Sequence[str], more: Sequence[str], rows: Iterator[int] | range = range(N)) -> bytes:
    lines = [f'{i},"{cells[i]}"' for i in rows] + [f'{key},"{cells[0]}"' for key in more]
    return ("id,y\n" + "\n".join(lines)).encode()


@settings(deadline=None, max_examples=200)
@given(permuted(), st.sampled_from(ENGINES), st.permutations(range(N)), st.integers(0, N - 1))
def test_neither_values_nor_the_order_of_the_answers_change_a_report(
    made: tuple[SubmissionSchema, list[str], list[str], list[str]],
    block: int | None,
    order: list[int],
    left_out: int,
) -> None:
    wanted, first, second, more = made
    rows = range(left_out, N)
    with pytest.MonkeyPatch.context() as patch:
        read_by(patch, block)
        one = check(table(first, more, rows), wanted, map(str, range(N)))
        two = check(table(second, more, rows), wanted, map(str, order))
    assert (one.problems, one.warnings, one.valid) == (two.problems, two.warnings, two.valid)


@settings(deadline=None)
@given(permuted(), st.permutations(range(N)), st.sampled_from(ENGINES))
def test_the_order_of_rows_never_changes_counts(
    made: tuple[SubmissionSchema, list[str], list[str], list[str]], order: list[int], block: int | None
) -> None:
    wanted, cells, _, _ = made
    with pytest.MonkeyPatch.context() as patch:
        read_by(patch, block)
        one, two = (check(table(cells, [], rows), wanted, map(str, range(N))) for rows in (range(N), iter(order)))
    assert {(problem.code, problem.count) for problem in one.problems} == {
        (problem.code, problem.count) for problem in two.problems
    }


# What authors of a pack are told


@pytest.mark.parametrize(
    ("kind", "cell", "words"),
    [
        ("number", "", "1 are blank: fill them in"),
        ("number", "nan", "1 are NaN, infinite or too large: write finite numbers"),
        ("number", "secret", "1 are no decimal numbers: write numbers"),
        ("integer", "4.5", "1 are no whole numbers: write integers"),
        ("integer", "9" * 20, "1 are integers of more than 64 bits: declare"),
        ("probability", "4.5", r"1 lie outside \[0, 1\]: write probabilities"),
        ("label", "secret", r"\(its labels: 'no', 'yes'\), is one. Of those cells 1 are none of its labels: correct"),
    ],
)
def test_faults_of_answers_name_a_remedy_and_no_answer(tmp_path: Path, kind: ColumnKind, cell: str, words: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"id,y\n1,{cell}\n2,{VALUES[kind][0][0]}\n")
    wanted = schema(kind, labels=("no", "yes") if kind == "label" else ())
    with pytest.raises(PackError, match=words) as caught:
        answers.load(path, wanted, Split(method="none"), wanted.targets)
    assert not cell or cell not in str(caught.value)


@pytest.mark.parametrize(
    ("split", "condition", "words"),
    [
        (Split(method="none"), "y = 7", "no row meets the condition y = 7, so that none is scored. Correct"),
        (Split(method="column", column="Usage"), "y != 7", "no row meets the condition y != 7"),
        (Split(method="column", column="Usage"), "Usage != public", "no row of the validation part meets the cond"),
        (Split(method="column", column="y"), "", "says another word for id '1'; write validation or test"),
    ],
)
def test_a_part_without_scored_rows(tmp_path: Path, split: Split, condition: str, words: str) -> None:
    path = tmp_path / "answers.csv"
    secret = "7" if "!=" in condition and "y" in condition else "8"
    path.write_text(f"id,y,Usage\n1,{secret},public\n2,{secret},private\n")
    parsed = answers.Condition.parse(condition)
    with pytest.raises(PackError, match=words) as caught:
        answers.load(path, schema("number"), split, schema("number").targets, scored_rows=parsed)
    assert "8" not in str(caught.value)


def test_answers_that_cannot_be_opened_are_not_called_a_submission(tmp_path: Path) -> None:
    wanted = schema("number")
    (tmp_path / "empty.csv").touch()
    for name, words in (("none.csv", "no file. Put the answers"), (".", "not a file"), ("empty.csv", "no header")):
        with pytest.raises(PackError, match=words) as caught:
            answers.load(tmp_path / name, wanted, Split(method="none"), wanted.targets)
        assert "submission" not in str(caught.value)


def test_missing_columns_of_answers_are_named_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(",".join(["id", *(f"c{i}" for i in range(5_000))]) + "\n")
    with pytest.raises(PackError, match=r"the column 'y' is missing; there are 'id', .* and 4,996 more") as caught:
        answers.load(path, schema("number"), Split(method="none"), schema("number").targets)
    assert len(str(caught.value)) < 300
