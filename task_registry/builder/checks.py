"""What the files that a prepare script made have to satisfy before anything is built on them.

Every fault is worded for the model that wrote the script. The quality gate looks again, and at more.
"""

from __future__ import annotations

import ast
import csv
import io
from typing import TYPE_CHECKING

from openmle_env.printable import printable
from openmle_env.task_registry import files
from openmle_env.task_registry.builder.conversation import WrongAnswerError
from openmle_env.task_registry.folder import ANSWERS, SAMPLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.task_registry.builder.plan import Plan

TRAIN, TEST = "public/train.csv", "public/test.csv"
TABLES = (TRAIN, TEST, SAMPLE, ANSWERS)
"""With the description, the five files that every task has."""
LEAST_SHARE, MOST_SHARE = 0.08, 0.4
"""Of the rows, how many may be test rows: a fifth by hash, which groups and small tables move about."""
FEW_ROWS = 50
"""With fewer rows, the share says nothing."""
MEDIA = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".wav", ".mp3", ".flac", ".ogg", ".mp4", ".avi", ".npy"}
)
_SHOWN = 5


def check_script(source: str) -> None:
    """See that a script has the function that is called, and does nothing else when it is imported.

    Raises:
        WrongAnswerError: It has not.
    """
    tree = ast.parse(source)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "prepare"]
    if not found:
        raise WrongAnswerError("There is no function `prepare(raw, public, private)` at the top of the script.")
    arguments = found[-1].args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if len(names) != 3 or arguments.kwonlyargs:
        raise WrongAnswerError(f"`prepare` takes {', '.join(names) or 'nothing'}; it is called with three folders.")
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            raise WrongAnswerError(
                f"Line {node.lineno} calls something when the script is imported. Only prepare() may do work."
            )


def check_files(made: Mapping[str, bytes], plan: Plan) -> None:
    """See that all files are there and belong together.

    Raises:
        WrongAnswerError: Something is missing, wrong, or gives the answers away.
    """
    if missing := [name for name in TABLES if not made.get(name)]:
        raise WrongAnswerError(f"prepare.py wrote no {' and no '.join(missing)}, or an empty one.")
    tables = {name: Table(name, made[name]) for name in TABLES}
    for name in (SAMPLE, ANSWERS):
        if tables[name].header != list(plan.columns):
            raise WrongAnswerError(f"{name} has the columns {tables[name].header}, not {list(plan.columns)}.")
    _need(tables[TRAIN], (*plan.targets, plan.id))
    _need(tables[TEST], (plan.id,))
    if leaked := [name for name in plan.targets if name in tables[TEST].header]:
        raise WrongAnswerError(f"{TEST} has {leaked[0]!r}, which is to be predicted. Leave it out.")
    if unknown := [name for name in tables[TEST].header if name not in tables[TRAIN].header]:
        raise WrongAnswerError(
            f"{TEST} has the columns {unknown[:_SHOWN]}, which {TRAIN} lacks: nothing can be learnt."
        )
    _check_ids(tables, plan)
    _check_share(tables)
    _check_values(tables, plan)
    _check_names(made, tables, plan)


def check_same(first: Mapping[str, bytes], second: Mapping[str, bytes]) -> None:
    """See that two runs made the same.

    Raises:
        WrongAnswerError: They did not.
    """
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            raise WrongAnswerError(
                f"{printable(name)} differs between two runs of prepare.py. Sort what comes from sets and folders, and "
                "choose by a hash instead of a random generator."
            )


class Table:
    """A table whose rows all have as many cells as its header."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise WrongAnswerError(f"{name} is not UTF-8 (byte {error.start}). Write with encoding='utf-8'.") from None
        try:
            with files.long_cells():
                rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        except csv.Error as error:
            raise WrongAnswerError(f"{name} cannot be read as CSV: {error}.") from None
        self.header, self.rows = (rows[0], rows[1:]) if rows else ([], [])
        if not self.rows:
            raise WrongAnswerError(f"{name} has no rows below its header.")
        if len(set(self.header)) != len(self.header) or not all(self.header):
            raise WrongAnswerError(f"{name} has a column without a name, or two of one name: {self.header[:20]}.")
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.header):
                raise WrongAnswerError(
                    f"Row {number} of {name} has {len(row)} cells, and the header {len(self.header)}."
                )

    def column(self, name: str) -> list[str]:
        """The cells of one column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]


def _need(table: Table, columns: Sequence[str]) -> None:
    if missing := [name for name in columns if name not in table.header]:
        raise WrongAnswerError(f"{table.name} lacks the column {missing[0]!r}; it has {table.header[:20]}.")


def _check_ids(tables: Mapping[str, Table], plan: Plan) -> None:
    ids = {name: table.column(plan.id) for name, table in tables.items()}
    for name in (TRAIN, TEST):
        if not all(cell.strip() for cell in ids[name]):
            raise WrongAnswerError(f"{name} has an empty {plan.id!r}.")
        if len(set(ids[name])) != len(ids[name]):
            raise WrongAnswerError(f"The values of {plan.id!r} in {name} are not unique. Number the rows.")
    if both := sorted(set(ids[TRAIN]) & set(ids[TEST])):
        raise WrongAnswerError(f"{len(both)} ids are in {TRAIN} and in {TEST}, such as {both[:_SHOWN]}.")
    for name in (SAMPLE, ANSWERS):
        if ids[name] != ids[TEST]:
            raise WrongAnswerError(f"{name} does not have the ids of {TEST} in its order.")


def _check_share(tables: Mapping[str, Table]) -> None:
    train, test = len(tables[TRAIN].rows), len(tables[TEST].rows)
    share = test / (train + test)
    if train + test >= FEW_ROWS and not LEAST_SHARE <= share <= MOST_SHARE:
        raise WrongAnswerError(
            f"{share:.0%} of the rows are test rows ({test} of {train + test}); about 20 % is meant."
        )


def _check_values(tables: Mapping[str, Table], plan: Plan) -> None:
    for target in plan.targets:
        if empty := sum(not cell.strip() for cell in tables[TRAIN].column(target)):
            raise WrongAnswerError(f"{empty} rows of {TRAIN} have no {target!r}: use only rows whose answer is known.")
    if tables[SAMPLE].rows == tables[ANSWERS].rows:
        raise WrongAnswerError(
            f"{SAMPLE} holds the right answers. Fill it with one valid value, such as the commonest."
        )
    if all(len(set(tables[ANSWERS].column(target))) == 1 for target in plan.targets):
        raise WrongAnswerError(f"All rows of {ANSWERS} have the same answer: there is nothing to predict.")


def _check_names(made: Mapping[str, bytes], tables: Mapping[str, Table], plan: Plan) -> None:
    """Names of media files: what the tables name is there, and no name says the class."""
    media = {name for name in made if name not in TABLES}
    if stray := sorted(name for name in media if name.startswith("private/")):
        raise WrongAnswerError(f"{stray[0]} is in private/, where only {ANSWERS} belongs.")
    for table in (tables[TRAIN], tables[TEST]):
        for column in table.header:
            cells = [cell for cell in table.column(column)[:1000] if _ending(cell) in MEDIA]
            if lost := [cell for cell in cells if f"public/{cell}" not in made]:
                raise WrongAnswerError(
                    f"Column {column!r} of {table.name} names {printable(lost[0])}, and there is no such file below "
                    "public. Copy it, and name it relative to public."
                )
    labels = {cell.casefold() for target in plan.targets for cell in set(tables[TRAIN].column(target))}
    labels = {label for label in labels if len(label) > 2 and not label.replace(".", "").isdigit()}
    if len(labels) > 1000:
        return
    for name in sorted(media):
        parts = name.removeprefix("public/").casefold().split("/")
        if said := labels.intersection([*parts, parts[-1].rpartition(".")[0]]):
            raise WrongAnswerError(f"{printable(name)} says the class {sorted(said)[0]!r}. Give files neutral names.")


def _ending(cell: str) -> str:
    return f".{cell.rpartition('.')[2].lower()}" if "." in cell[-6:] else ""
