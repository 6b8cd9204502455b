"""Whether any public file, whatever it is, ties the rows that are predicted to their answers."""

from __future__ import annotations

import io
import lzma
import re
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.task_registry.quality.checks import bad, check, good, skip
from openmle_env.task_registry.quality.scan import SUFFIXES
from openmle_env.task_registry.quality.side_files import MAX_MEMBERS, MAX_ROWS, MAX_TEXT, WORDS, texts
from openmle_env.task_registry.quality.subject import SAMPLE_NAME, TEST, TRAIN
from openmle_env.task_registry.quality.target import MIN_ROWS, Target, to_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.quality.checks import Found
    from openmle_env.task_registry.quality.subject import Subject

TOLD, BY_CHANCE = 0.8, 0.5
"""A leak: so many rows have their answer there, and of what more there could be by chance at least this share."""
MAX_FILES = 400
"""As many files of single rows are read, evenly chosen."""
MAX_WORDS = 2_000_000
"""As many words of one file are looked at."""
MAX_LINE = 200
"""A line with more words than this is no row; as many are looked at behind an id."""
_PIECES = re.compile(r"""[\s"',:;{}\[\]()]+""")
_NO_ARRAY = (ValueError, OSError, EOFError, RuntimeError, MemoryError, OverflowError)
"""What numpy and zipfile say of files that are none of theirs, or lie about their sizes."""


@check("side_files", group="leaks", severity="high", source="processed_csv_evidence")
def side_files(subject: Subject) -> Iterator[Found]:
    """No file that belongs to a row holds its answer: not in its text, its metadata, its members or its name.

    Agents read side files, logs, comments of archives and EXIF, and had perfect scores by it.
    """
    owned = subject.owned_files
    if len(owned) < MIN_ROWS:
        yield skip("The rows that are predicted have no files of their own.")
        return
    rows = [list(owned)[int(i)] for i in np.linspace(0, len(owned) - 1, min(len(owned), MAX_FILES))]
    said = [_words(" ".join(PurePosixPath(name).as_posix() for name in owned[row])) for row in rows]
    held = [
        set().union(*(_words(text) for name in owned[row] for text in texts(subject.public_files[name], name)))
        for row in rows
    ]
    for target in subject.targets:
        for where, words in (("The name of a row's file", said), ("A row's file", held)):
            told, chance = _told(words, target, rows)
            if _is_leak(told, chance):
                yield bad(
                    f"{where} says what {target.name!r} of the row is. Rename the files, or take it out of them.",
                    f"in {told:.0%} of {len(rows):,} rows; {chance:.0%} by chance; such as {owned[rows[0]][0]}",
                )
    yield good(f"Files of {len(rows):,} of {len(owned):,} rows were read.")


@check("ids_to_answers", group="leaks", severity="high", source="processed_csv_evidence", acceptable=False)
def ids_to_answers(subject: Subject) -> Iterator[Found]:
    """No public table or text holds the ids of rows that are predicted beside their answers.

    A log or a table that was copied along with the rest is a key to all answers.
    """
    rows = subject.test_rows
    looked = 0
    for name in subject.table_names:
        if name == SAMPLE_NAME:
            continue
        table = subject.table(name)
        if table.problem is None and len(table.positions):
            looked += 1
            yield from _in_table(subject, name)
    chosen = np.linspace(0, len(rows.keys) - 1, min(len(rows.keys), MAX_ROWS)).astype(np.int64)
    owned = {name for names in subject.owned_files.values() for name in names}
    for name, path in subject.public_files.items():
        if name.lower().endswith(SUFFIXES) or name in owned:
            continue
        looked += 1
        text = "\n".join(texts(path, name))
        yield from _in_text(subject, f"public/{name}", text, chosen)
    yield from _in_text(subject, "The description", subject.pack.description, chosen)
    yield good(f"{looked:,} files and the description were searched for ids beside answers.")


@check("answer_values", group="leaks", severity="high", source="processed_csv_evidence")
def answer_values(subject: Subject) -> Iterator[Found]:
    """No public file holds the values of the answers in bulk, in whatever order.

    A list of targets without ids is as good as one with them, once somebody guesses the order.
    """
    for target in subject.targets:
        if target.kind == "classes":
            continue
        train = set() if target.train_texts is None else set(target.train_texts)
        telling = {text for text in target.texts if _is_telling(text)} - train
        if len(telling) < MIN_ROWS:
            yield skip(f"The answers of {target.name!r} are no values that could be told from others.")
            continue
        for name in subject.public_files:
            share = _share_held(subject, name, telling)
            if share >= TOLD:
                yield bad(f"public/{name} holds the answers of {target.name!r}.", f"{share:.0%} of {len(telling):,}")
    for name, array in _arrays(subject):
        for target in subject.targets:
            if target.kind != "texts" and _same_values(array, target):
                yield bad(f"public/{name} is an array of the answers of {target.name!r}, in their order.")


def _words(text: str) -> set[str]:
    return {word.casefold() for word in WORDS.findall(text.replace("_", " "))[:MAX_WORDS]}


def _told(words: Sequence[set[str]], target: Target, rows: Sequence[int]) -> tuple[float, float]:
    """In how many rows the words hold the answer, and in how many they hold that of another row with another one."""
    answers = [_words(target.texts[row]) or {target.texts[row].casefold()} for row in rows]
    return _shares(lambda row, other: answers[other] <= words[row], [target.texts[row] for row in rows])


def _shares(holds: Callable[[int, int], bool], answers: Sequence[str]) -> tuple[float, float]:
    count = len(answers)
    told = sum(holds(row, row) for row in range(count)) / count
    others = [
        (row, (row + shift) % count)
        for shift in (count // 2, count // 3, 1)
        for row in range(count)
        if answers[row] != answers[(row + shift) % count]
    ]
    chance = sum(holds(row, other) for row, other in others) / len(others) if others else 1.0
    return told, chance


def _is_leak(told: float, chance: float) -> bool:
    return told >= TOLD and told - chance >= BY_CHANCE * (1 - chance) and chance < TOLD


def _in_table(subject: Subject, name: str) -> Iterator[Found]:
    """A column of ids beside a column of answers; for `test.csv` and `train.csv` columns of the answers' own cells."""
    rows, table = subject.test_rows, subject.table(name)
    for column in table.names:
        cells = np.array([cell.strip() for cell in table.cells[column]], dtype=object)
        here, there = rows.rows_in(cells)
        if len(here) < max(MIN_ROWS, len(rows.keys) // 2):
            continue
        if name == TRAIN and column != subject.id_name:
            continue  # a number that happens to be an id somewhere else
        for other in table.names:
            beside = np.array([cell.strip() for cell in table.cells[other][there]], dtype=object)
            for target in subject.targets:
                if other == column or (name == TEST and target.kind != "texts"):
                    continue  # single columns of test.csv are tried by one_feature, with what is a model and what not
                share, chance = _equal(beside, target, here)
                if _is_leak(share, chance):
                    yield bad(
                        f"public/{name} has ids in {column!r} and the answers of {target.name!r} in {other!r}.",
                        f"equal in {share:.0%} of {len(here):,} rows; {chance:.0%} by chance",
                    )


def _equal(cells: Array, target: Target, here: Array) -> tuple[float, float]:
    truth = target.texts[here]
    if target.kind == "numbers":
        numbers, right = to_numbers(cells), target.codes[here]
        return _shares(lambda row, other: bool(np.isclose(numbers[row], right[other], rtol=1e-6)), list(truth))
    folded = [cell.casefold() for cell in cells]
    return _shares(lambda row, other: truth[other].casefold() == folded[row], list(truth))


def _in_text(subject: Subject, what: str, text: str, chosen: Array) -> Iterator[Found]:
    """Lines that hold an id and the answer, or ids with the answer of each between it and the next one."""
    rows = subject.test_rows
    row_of = {rows.keys[row].casefold(): int(row) for row in chosen}
    lines: dict[int, set[str]] = {}
    between: dict[int, set[str]] = {}
    for line in text.replace("},", "}\n").replace("],", "]\n").splitlines():
        words = [word.casefold() for word in WORDS.findall(line.replace("_", " "))]
        whole = {word.casefold() for word in WORDS.findall(line)} | {piece.casefold() for piece in line.split('"')}
        ids = {*words, *whole} & row_of.keys()
        if len(ids) > 1:
            _look_between(line, row_of, between)
        if len(words) <= MAX_LINE:
            for word in ids:
                lines.setdefault(row_of[word], set()).update(other for other in words if other != word)
    for held in (lines, between):
        found = list(held)
        if len(found) < max(MIN_ROWS, len(chosen) // 2):
            continue
        for target in subject.targets:
            told, chance = _told([held[row] for row in found], target, found)
            if _is_leak(told, chance):
                yield bad(
                    f"{what} names ids with the answers of {target.name!r} beside them.",
                    f"in {told:.0%} of {len(found):,} rows; {chance:.0%} by chance",
                )


def _look_between(line: str, row_of: Mapping[str, int], lines: dict[int, set[str]]) -> None:
    """For each id in a line, such as JSON without line ends, the first words from it to the next one."""
    found: set[str] = set()
    for piece in _PIECES.split(line):
        if (row := row_of.get(piece.casefold())) is not None:
            found = lines.setdefault(row, set())
        elif len(found) < MAX_LINE:
            found |= _words(piece)


def _is_telling(text: str) -> bool:
    digits = sum(character.isdigit() for character in text.lstrip("-0."))
    return digits >= 5 or len(text) >= 12


def _share_held(subject: Subject, name: str, telling: set[str]) -> float:
    if name.lower().endswith(SUFFIXES):
        table = subject.table(name)
        cells: set[str] = set()
        for column in table.names:
            cells.update(cell.strip() for cell in table.cells[column])
        return len(telling & cells) / len(telling)
    if all(len(text.split()) == 1 for text in telling):
        words: set[str] = set()
        for text in texts(subject.public_files[name], name):
            words.update(text.replace(",", " ").replace(";", " ").replace("]", " ").replace("[", " ").split())
        return len(telling & words) / len(telling)
    whole = "\n".join(texts(subject.public_files[name], name))
    return sum(text in whole for text in telling) / len(telling)


def _arrays(subject: Subject) -> Iterator[tuple[str, Array]]:
    """One-dimensional public arrays with one value for each row that is predicted."""
    count = len(subject.test_rows.keys)
    for name, path in subject.public_files.items():
        if name.lower().endswith((".npy", ".npz")):
            for inside, array in _loaded(path):
                if array.size == count and array.dtype.kind in "iufb":
                    yield f"{name}{inside}", array.reshape(-1).astype(np.float64)


def _loaded(path: Path) -> Iterator[tuple[str, Array]]:
    try:
        if path.suffix.lower() == ".npy":
            yield "", np.lib.format.open_memmap(path, mode="r")
            return
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist()[:MAX_MEMBERS]:
                if member.file_size <= MAX_TEXT:  # what unpacks to more is larger than one value for each row
                    content = io.BytesIO(archive.read(member))
                    yield f" ({member.filename})", np.lib.format.read_array(content, allow_pickle=False)
    except (*_NO_ARRAY, zipfile.BadZipFile, zlib.error, lzma.LZMAError):
        return  # objects, which would have to be unpickled, or no array at all


def _same_values(array: Array, target: Target) -> bool:
    known = target.codes >= 0 if target.kind == "classes" else np.isfinite(target.codes)
    if known.sum() < MIN_ROWS or len(np.unique(target.codes[known])) < 2:
        return False
    if target.kind == "numbers":
        return bool(np.isclose(array[known], target.codes[known], rtol=1e-6).mean() >= TOLD)
    pairs = {(a, b) for a, b in zip(array[known].tolist(), target.codes[known].tolist(), strict=True)}
    values = len(np.unique(array[known]))
    return len(pairs) == values == len(np.unique(target.codes[known]))
