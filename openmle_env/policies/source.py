"""What can be told of Python source without running it: whether it compiles, and what it needs and makes."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
import threading
import warnings
from dataclasses import dataclass

from openmle_env.policies.typography import ODD, straightened

_warnings = threading.Lock()
_MAGIC = re.compile(r"^[ \t]*(?:[!%]|pip3? install )", re.MULTILINE)
_BUILTIN = frozenset({*dir(builtins), "__file__", "__name__", "__doc__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxFault:
    """Why a source does not compile."""

    message: str
    """As the compiler says it."""
    line: int | None
    """From 1; None where no line is to blame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """Source that compiles."""

    source: str
    """The source, perhaps changed."""
    notes: tuple[str, ...] = ()
    """What was changed."""


def fault_of(source: str) -> SyntaxFault | None:
    """Why the source does not compile under the Python that runs this; None if it does. Nothing of it is run."""
    try:
        with _warnings, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<reply>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return SyntaxFault(message=str(error.msg), line=error.lineno)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:  # null bytes, or nested too deeply
        return SyntaxFault(message=str(error) or type(error).__name__, line=None)
    return None


def repaired(source: str) -> Repaired | None:
    """The source if it compiles, or what it becomes by the first repair after which it does; None if there is none.

    Repairs change nothing of what the program means: an indent that all lines share is taken away, typographic
    characters outside of strings become plain ones, lines for a notebook or a shell (``!pip install``) become comments.
    """
    if fault_of(source) is None:
        return Repaired(source=source)
    notes: list[str] = []
    for change, note in (
        (textwrap.dedent, "the indent that all lines shared was taken away"),
        (_plain, "typographic characters outside of strings became plain ones"),
        (_without_magics, "lines for a notebook or a shell became comments"),
    ):
        changed = change(source)
        if changed != source:
            notes.append(note)
            source = changed
            if fault_of(source) is None:
                return Repaired(source=source, notes=tuple(notes))
    return None


def _plain(source: str) -> str:
    return straightened(source) if ODD.search(source) else source


def _without_magics(source: str) -> str:
    return _MAGIC.sub(lambda match: f"# {match[0].lstrip()}", source)


def is_for_a_shell(source: str) -> bool:
    """Whether every line that says something is one for a notebook or a shell."""
    lines = [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and all(_MAGIC.match(line) for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a source that compiles does."""

    is_code: bool
    """Whether a statement is more than a word, a value or an annotation, of which prose and JSON consist."""
    acts: bool
    """Whether something happens beside imports, definitions and plain values."""
    binds: frozenset[str]
    """Names that it gives a value at its top level."""
    needs: frozenset[str]
    """Names that it reads and nowhere binds."""


def facts_of(source: str) -> Facts:
    """Look at a source that compiles."""
    with _warnings, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    bound, read, star = _names(tree)
    top = {name for statement in tree.body for name in _bound_by(statement)}
    return Facts(
        is_code=any(_is_code(statement) for statement in tree.body),
        acts=any(_acts(statement) for statement in tree.body),
        binds=frozenset(top),
        needs=frozenset() if star else frozenset(read - bound - _BUILTIN),
    )


def _is_code(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return any(isinstance(node, ast.Call) for node in ast.walk(statement))
    return not isinstance(statement, ast.AnnAssign) or statement.value is not None


def _acts(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign):
        return any(isinstance(node, ast.Call) for node in ast.walk(statement))
    return not isinstance(statement, ast.Pass | ast.Assert)


def _bound_by(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    return _names(statement)[0]


def _names(tree: ast.AST) -> tuple[set[str], set[str], bool]:
    """Names that are bound anywhere, names that are read anywhere, and whether a star import binds unknown ones."""
    bound: set[str] = set()
    read: set[str] = set()
    star = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            star = star or node.name == "*"
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
    return bound, read, star
