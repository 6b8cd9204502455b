"""The modules of another collection that a script of it needs, found by reading them, and bundled as one text."""

from __future__ import annotations

import ast
import sys
import warnings
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from openmle_env.errors import PackError
from openmle_env.task_registry.importers.drafts import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

DISTRIBUTIONS = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "nltk": "nltk",
    "pyarrow": "pyarrow",
    "pydicom": "pydicom",
    "shapely": "shapely",
    "skimage": "scikit-image",
    "torch": "torch",
    "torchvision": "torchvision",
    "transformers": "transformers",
    "yaml": "pyyaml",
    "py7zr": "py7zr",
}
"""Packages by the names that are imported, where these are known."""
IN_THE_BOX = {"numpy", "pandas", "scipy", "sklearn"}
"""Libraries that every box has."""
STOOD_IN_FOR = {"tqdm"}
"""Libraries that are done without: only a progress bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerCode:
    """What a script needs."""

    sources: dict[str, str]
    """Texts by the names of modules, packages included."""
    needs: tuple[str, ...]
    """Libraries that the script itself, and what lies beside it, import and not every box has."""
    lazily: tuple[str, ...]
    """Libraries that only shared modules import."""


def collect(root: Path, package: str, own: str) -> PeerCode:
    """Read a script and all that it imports from its collection.

    Args:
        root: The checkout.
        package: Its package, such as ``mlebench``.
        own: The package of the script, all of whose modules are taken: ``mlebench.competitions.spaceship-titanic``.

    Raises:
        PackError: A file is missing, is no Python, or lies outside of the checkout.
    """
    folder = root.joinpath(*own.split("."))
    waiting = [f"{own}.{path.stem}" for path in sorted(folder.glob("*.py")) if path.stem != "__init__"]
    sources: dict[str, str] = {}
    needs: set[str] = set()
    lazily: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        path = _path(root, name)
        if path is None:
            continue  # a name inside of a module, or one that its own import will miss
        text = _text(root, path)
        sources[name] = text
        for parent in _parents(name):
            sources.setdefault(parent, "")  # the packages' own __init__ would import all of the collection
        for imported, at_once in _imports(_tree(text, path), name):
            top = imported.partition(".")[0]
            if top == package:
                waiting.extend((imported, imported.rpartition(".")[0]))
            elif at_once and top and top not in sys.stdlib_module_names and top not in IN_THE_BOX:
                (needs if name.startswith(f"{own}.") and top not in STOOD_IN_FOR else lazily).add(top)
    return PeerCode(sources=dict(sorted(sources.items())), needs=tuple(sorted(needs)), lazily=tuple(sorted(lazily)))


def bundle(code: PeerCode, program: str, constants: Mapping[str, object], *, about: str) -> str:
    """One program: where it comes from, the peer's modules as texts, and what makes a pack's script of them.

    Args:
        code: The modules.
        program: A file of ``programs/``.
        constants: Values for the names that it assigns at its top.
        about: Where the code is from, under which licence.
    """
    loader = with_constants(plain("peer_modules.py"), {"SOURCES": code.sources, "ABSENT": set(code.lazily)})
    return f"# {about}\n\n{loader}\n\n{with_constants(plain(program), constants)}"


def plain(program: str) -> str:
    """A file of ``programs/`` as it is."""
    return files(__package__).joinpath("programs", program).read_text(encoding="utf-8")


def with_constants(text: str, constants: Mapping[str, object]) -> str:
    r"""A program with other values for names that it assigns on lines of their own.

    >>> with_constants("A = ''  # what\nB = 2\n", {"A": "x"})
    "A = 'x'  # what\nB = 2\n"
    """
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in constants:
                line = node.lineno - 1
                end = node.value.end_col_offset
                lines[line] = f"{name} = {_literal(constants[name])}{lines[line].encode()[end:].decode()}"
    return "".join(lines)


def _literal(value: object) -> str:
    if isinstance(value, dict):
        entries = "".join(f"    {key!r}: {_literal(one)},\n" for key, one in value.items())
        return f"{{\n{entries}}}"
    if isinstance(value, set):
        return f"set({sorted(value)!r})"
    if (
        isinstance(value, str)
        and "\n" in value
        and "'''" not in value
        and "\\" not in value
        and not value.endswith("'")
    ):
        return f"'''{value}'''"
    return repr(value)


def _parents(name: str) -> Iterator[str]:
    while name := name.rpartition(".")[0]:
        yield name


def _path(root: Path, name: str) -> Path | None:
    base = root.joinpath(*name.split("."))
    for path in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _text(root: Path, path: Path) -> str:
    if path.is_symlink() or not path.resolve().is_relative_to(root.resolve()):
        raise PackError(f"{path} lies outside of {root}. Give a plain checkout.")
    return read_text(path)


def _tree(text: str, path: Path) -> ast.Module:
    try:
        return _parsed(text)
    except SyntaxError as error:
        raise PackError(f"{path} is no Python: {error}.") from error


def _parsed(text: str) -> ast.Module:
    """The syntax tree of a program, without what Python has to remark on other people's style.

    Raises:
        SyntaxError: It is none, or is nested so deeply that nobody wrote it.
    """
    with warnings.catch_warnings(action="ignore"):
        try:
            return ast.parse(text)
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error) or type(error).__name__) from error


def _imports(tree: ast.Module, name: str) -> Iterator[tuple[str, bool]]:
    """What a module imports, and whether it does so when it is loaded rather than when a function is called."""
    waiting: list[tuple[ast.AST, bool]] = [(node, True) for node in tree.body]
    while waiting:
        node, at_once = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = ".".join(name.split(".")[: -node.level])
                base = f"{above}.{base}" if base else above
            yield from ((f"{base}.{alias.name}", at_once) for alias in node.names)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            waiting.extend((child, at_once and not inside) for child in ast.iter_child_nodes(node))


def has_function(text: str, name: str) -> bool:
    """Whether a program defines a function of this name that does anything at all."""
    try:
        body = _parsed(text).body
    except SyntaxError:
        return False
    found = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]
    return bool(found) and not all(
        isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in found[-1].body
    )


def has_metric(text: str) -> bool:
    """Whether a program has a class with a method ``evaluate``."""
    try:
        body = _parsed(text).body
    except SyntaxError:
        return False
    return any(
        isinstance(node, ast.ClassDef)
        and any(isinstance(part, ast.FunctionDef) and part.name == "evaluate" for part in node.body)
        for node in body
    )
