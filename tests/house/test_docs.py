"""The documents: their Python runs, their commands exist, their links lead somewhere, and their tables are complete."""

from __future__ import annotations

import ast
import doctest
import importlib
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from pydantic import BaseModel

from openmle_env import main, settings
from openmle_env.errors import OpenMLEError
from openmle_env.graders import metrics
from openmle_env.sandbox import conformance
from openmle_env.task_registry.pack import PackConfig
from openmle_env.types import Limits, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = [path for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))) if path.exists()]
LINKED = [*DOCUMENTS, *(path for name in ("CONTRIBUTING", "CHANGELOG") if (path := ROOT / f"{name}.md").exists())]
SHELLS = {"console", "bash", "sh", "shell"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block. Its first word is the language; ``run``, ``output``, ``exit=1`` and ``file=x`` may follow."""

    language: str
    marks: tuple[str, ...]
    line: int
    """Of its first line of text."""
    text: str

    @property
    def file(self) -> str:
        """The file that the block is written to, or empty."""
        return next((mark.removeprefix("file=") for mark in self.marks if mark.startswith("file=")), "")

    @property
    def exit_code(self) -> int:
        """What each of its commands exits with."""
        return next((int(mark.removeprefix("exit=")) for mark in self.marks if mark.startswith("exit=")), 0)


def blocks(text: str) -> list[Block]:
    found, opened, lines = [], None, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"( *)(`{3,})(.*)$", line)
        if opened is None and fence:
            opened, lines = (fence, number + 1), []
        elif opened and fence and fence[2] == opened[0][2] and not fence[3].strip():
            words = opened[0][3].split() or [""]
            text = "".join(f"{item.removeprefix(opened[0][1])}\n" for item in lines)
            found.append(Block(language=words[0], marks=tuple(words[1:]), line=opened[1], text=text))
            opened = None
        else:
            lines.append(line)
    assert opened is None, f"a fence in line {opened[1] - 1 if opened else 0} is never closed"
    return found


def commands(block: Block) -> Iterator[list[str]]:
    """The ``openmle`` commands of a shell block; in a console block, only what follows a prompt."""
    text = block.text.replace("\\\n", " ")
    for line in text.splitlines():
        if block.language == "console" and not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words and words[0].removeprefix(".venv/bin/") == "openmle":
            yield list(itertools.takewhile(lambda word: word not in {"|", "||", "&&", ";", ">", "2>"}, words[1:]))


def test_there_are_documents_with_examples() -> None:
    assert {path.name for path in DOCS.glob("*.md")} >= {
        *("README.md", "run-programs.md", "write-an-agent.md", "write-a-task-pack.md"),
        *("sandbox.md", "submissions.md", "reference.md", "design.md"),
    }
    assert sum(block.language == "python" for path in DOCUMENTS for block in blocks(path.read_text())) > 10


# --- what stands in the blocks ---------------------------------------------------------------------------------------

DRIVER = '''\
"""Runs the steps of one document in this process, one after the other."""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    document, *steps = json.loads(Path("steps.json").read_text())
    for step in steps:
        sys.stderr.write(f"{document}:{step['line']}\\n")
        if step["file"]:
            target = Path(step["file"])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(step["text"])
        elif step["commands"]:
            for command in step["commands"]:
                openmle = [sys.executable, "-c", "from openmle_env.main import main; main()"]
                done = subprocess.run([*openmle, *command], stdout=subprocess.PIPE)
                if done.returncode != step["exit"]:
                    raise SystemExit(f"openmle {' '.join(command)}: exit code {done.returncode}, not {step['exit']}")
        else:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\\n" * (step["line"] - 1) + step["text"], document, "exec"), globals())
            print(json.dumps({"line": step["line"], "printed": printed.getvalue()}), flush=True)
'''


def steps_of(found: list[Block]) -> list[dict[str, Any]]:
    return [
        {
            "line": block.line,
            "file": block.file,
            "text": block.text,
            "commands": list(commands(block)) if block.language in SHELLS else [],
            "exit": block.exit_code,
        }
        for block in found
        if block.file or block.language == "python" or (block.language in SHELLS and "run" in block.marks)
    ]


@pytest.mark.bubblewrap
@pytest.mark.parametrize("document", [path for path in DOCUMENTS if steps_of(blocks(path.read_text()))], ids=name_of)
def test_examples_run_and_print_what_is_shown(document: Path, tmp_path: Path, usable) -> None:
    usable("bubblewrap")
    found = blocks(document.read_text())
    (tmp_path / "driver.py").write_text(DRIVER)
    (tmp_path / "steps.json").write_text(json.dumps([name_of(document), *steps_of(found)]))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENMLE_")}
    environment |= {
        "OPENMLE_HOME": str(tmp_path / "home"),
        "OPENMLE_RUNS": str(tmp_path / "runs"),
        "OPENMLE_SANDBOX": "bubblewrap",
        "COLUMNS": "120",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "driver.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results = {result["line"]: result["printed"] for result in map(json.loads, done.stdout.splitlines())}
    compare = doctest.OutputChecker().check_output
    for before, block in itertools.pairwise(found):
        if "output" in block.marks:
            printed = results[before.line]
            assert compare(block.text, printed, doctest.ELLIPSIS), f"line {block.line} shows another output:\n{printed}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_blocks_are_well_formed(document: Path) -> None:
    for block in blocks(document.read_text()):
        where = f"{name_of(document)}:{block.line}"
        for mark in block.marks:
            assert mark in {"run", "output"} or re.fullmatch(r"file=[\w./-]+|exit=\d+", mark), f"{where}: {mark}"
        if block.language == "python":
            ast.parse(block.text)
        elif block.language == "json":
            json.loads(block.text)


def fault_of(words: list[str]) -> str:
    """What is wrong with a command line, by the parser alone: nothing is run."""
    group: Any = typer.main.get_command(main.app)
    words = [word for word in words if word not in {"--help", "-h", "--version"}]
    if not words:
        return ""
    try:
        name, command, rest = group.resolve_command(group.make_context("openmle", []), words)
        command.make_context(name, rest)
    except typer.TyperException as error:
        return str(error.format_message())
    return ""


def test_the_parser_finds_what_is_wrong() -> None:
    assert not fault_of(["run", "titanic", "--agent", "grammar", "--json"])
    assert not fault_of(["--version"])
    assert "prepar" in fault_of(["prepar", "titanic"])
    assert "--agnt" in fault_of(["run", "titanic", "--agnt", "grammar"])


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_commands_and_options_exist(document: Path) -> None:
    for block in blocks(document.read_text()):
        for words in commands(block) if block.language in SHELLS else ():
            fault = fault_of(words)
            assert not fault, f"{name_of(document)}:{block.line}: openmle {' '.join(words)}: {fault}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_scripts_that_are_named_exist(document: Path) -> None:
    for name in set(re.findall(r"(?<![\w/])scripts/[\w.-]*\w", document.read_text())):
        assert (ROOT / name).exists(), name


# --- links ------------------------------------------------------------------------------------------------------------


def prose(text: str) -> str:
    """The text without its fenced blocks."""
    return re.sub(r"^ *(`{3,}).*?^ *\1 *$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    found: set[str] = set()
    for title in re.findall(r"^#+ +(.+?) *#*$", prose(text), flags=re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)
        base = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(next(name for n in itertools.count() if (name := f"{base}-{n}" if n else base) not in found))
    return found


def test_anchors_are_githubs() -> None:
    assert anchors("# pack.yaml key by key\n## A `b`, c\n## A b c\n```\n# no\n```\n## OPENMLE_HOME\n") == {
        *("packyaml-key-by-key", "a-b-c", "a-b-c-1", "openmle_home"),
    }


@pytest.mark.parametrize("document", LINKED, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", prose(document.read_text()))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        assert path.exists(), f"{name_of(document)}: {target}"
        assert path.is_relative_to(ROOT), f"{name_of(document)}: {target}"
        if anchor:
            assert anchor in anchors(path.read_text()), f"{name_of(document)}: {target}"


# --- tables that must be complete -------------------------------------------------------------------------------------


def read(name: str) -> str:
    return (DOCS / name).read_text()


def test_every_status_is_described() -> None:
    for number, status in enumerate(ResultStatus, 1):
        row = f"| {number} | `{status}` | {status.fault} | `{status.feedback_mode}` |"
        assert row in read("reference.md")


def test_every_exception_is_described() -> None:
    waiting = [OpenMLEError]
    while waiting:
        kind = waiting.pop()
        if kind.__module__ == "openmle_env.errors":
            assert f"| `{kind.__name__}`" in read("reference.md")
            waiting += kind.__subclasses__()


def test_every_limit_is_described_with_its_default() -> None:
    defaults = Limits()
    for item in fields(Limits):
        assert f"| `{item.name}` | {getattr(defaults, item.name):g} |" in read("sandbox.md")


def test_the_number_of_conformance_checks_is_right() -> None:
    cases = len(conformance.PROGRAMS) + len(conformance.ISOLATION) + len(conformance.SESSIONS)
    number = cases + 3  # the sessions that are kept apart, and the two runs that are cancelled
    assert f"A suite of {number} checks" in read("sandbox.md")


def test_every_key_of_a_pack_is_described() -> None:
    text = read("write-a-task-pack.md")
    for name, item in PackConfig.model_fields.items():
        inner = item.default if isinstance(item.default, BaseModel) else None
        for key in [f"{name}.{part}" for part in type(inner).model_fields] if inner else [name]:
            assert re.search(rf"^\|.*`{re.escape(key)}", text, flags=re.MULTILINE), key


def test_every_problem_code_is_described() -> None:
    codes = set()
    for path in (*(ROOT / "graders").glob("*.py"), *(ROOT / "graders").glob("[lm]*/*.py")):
        source = path.read_text()
        codes |= set(
            re.findall(r'(?:refuse|_wrong_ids)\(\s*"(\w+)"|code="(\w+)"|^    [A-Z_]+ = "(\w+)"$', source, re.M)
        )
    flat = {code for group in codes for code in group if code}
    described = set(re.findall(r"^\| `(\w+)` \|", read("submissions.md"), flags=re.MULTILINE))
    assert len(flat) > 20
    assert flat == described


def test_every_option_is_described() -> None:
    text = read("reference.md")
    pages = {"sandbox build": "sandbox", "pack build": "build-packs", "pack check": "check-a-task-pack"}
    pages |= dict.fromkeys(("pack import", "pack compare"), "import-packs")
    pages |= dict.fromkeys(("pack push", "pack pull", "pack specs"), "share-packs")
    pages |= dict.fromkeys(("pack overview", "pack contamination"), "contamination")
    said = {name: text + read(f"{page}.md") for name, page in pages.items()}  # where they are explained
    found = dict(all_commands("", typer.main.get_command(main.app)))
    assert {"run", "sandbox bench"} <= found.keys()
    for name, command in found.items():
        if name and not hasattr(command, "commands"):
            named = "pack push" if name == "pack pull" else name  # they share a row
            assert f"| `openmle {named}" in text, name
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--"):
                    assert f"`{option}" in said.get(name, text), f"{name} {option}"


def all_commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command and all below it, by their names."""
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from all_commands(f"{name} {word}".strip(), inner)


def test_what_is_said_to_be_imported_is_there() -> None:
    found = set()
    module = ""
    for left, names in re.findall(
        r"^\| ((?:`openmle_env[\w.]+`)?) *\| (`\w+`(?:, `\w+`)*) \|", read("reference.md"), re.M
    ):
        module = left.strip("`") or module
        for name in re.findall(r"\w+", names):
            assert callable(getattr(importlib.import_module(module), name)), f"{module}.{name}"
            found.add(module)
    assert len(found) == 7


def test_there_are_as_many_metrics_as_the_readme_says() -> None:
    (number,) = re.findall(r"\[more than (\d+)\]\(docs/metrics\.md\)", (ROOT / "README.md").read_text())
    assert int(number) < len(metrics.names()) <= int(number) + 20


@pytest.mark.parametrize(("title", "folder"), [("Graders", "graders"), ("Sandbox", "openmle_env/sandbox")])
def test_every_module_of_a_layer_is_in_the_design(title: str, folder: str) -> None:
    table = read("design.md").partition(f"## {title}\n")[2].partition("## ")[0]
    for path in (path for path in (ROOT / folder).iterdir() if path.is_dir() or path.suffix == ".py"):
        name = path.stem if path.suffix == ".py" else f"{path.name}/"
        if name not in {"__init__", "__pycache__/", "py.typed"}:
            assert f"`{name}`" in table, name


def test_every_setting_is_described() -> None:
    for name in settings.NAMES:
        assert f"| `OPENMLE_{name.upper()}` |" in read("reference.md"), name
