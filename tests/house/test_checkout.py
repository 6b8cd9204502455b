"""The tree itself: the links, and that the checks of CI see what stands behind them."""

from __future__ import annotations

import configparser
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("agents", "baselines", "envs", "graders", "leaderboards", "task_registry")
OTHERS = ("commands", "policies", "sandbox", "service")
BOTTOM_UP = ("types", "errors", "printable", "files", "settings", "scratch", "policies", "sandbox", "graders",
             "task_registry", "envs", "agents", "baselines", "leaderboards", "service", "commands", "main",
             "__main__")  # fmt: skip


def test_tests_that_cannot_run_fail_in_ci() -> None:
    """A test that lacks something calls the fixture `unavailable`; a plain skip would hide that in CI."""
    sources = [
        path for path in (ROOT / "tests").rglob("*.py") if path not in {ROOT / "tests/conftest.py", Path(__file__)}
    ]
    plain = [path.name for path in sources if re.search(r"pytest\.(skip|importorskip)\(", path.read_text())]
    assert plain == []


def test_the_extra_all_has_every_backend() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    extras = set(parser["options.extras_require"]) - {"all", "test"}
    (named,) = re.findall(r"openmle-env\[(.*)\]", parser["options.extras_require"]["all"])
    assert set(named.split(",")) == extras


@pytest.mark.parametrize("folder", FOLDERS)
def test_package_holds_a_relative_link_to_each_folder(folder: str) -> None:
    link = ROOT / "openmle_env" / folder
    assert link.is_symlink(), f"{link} must be a link; with git on Windows or from a zip file it may be lost"
    assert link.readlink() == Path("..") / folder
    assert (ROOT / folder).is_dir()


def test_every_folder_with_modules_but_agents_is_a_regular_package() -> None:
    """A folder without __init__.py is invisible to import-linter; agents is named in its configuration instead."""
    top = [ROOT / "openmle_env", *(ROOT / folder for folder in FOLDERS)]
    modules = [path for folder in top for path in folder.rglob("*.py") if "packs" not in path.parts]
    bare = {path.parent.relative_to(ROOT).as_posix() for path in modules if not (path.parent / "__init__.py").exists()}
    assert bare <= {"agents"}


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """A checkout of the same shape with the real tool configuration, and one empty module in each layer."""
    for name in ("pyproject.toml", ".importlinter"):
        shutil.copy(ROOT / name, tmp_path)
    package = tmp_path / "openmle_env"
    package.mkdir()
    (package / "__init__.py").write_text('"""Empty."""\n')
    for name in ("types", "errors", "printable", "files", "settings", "scratch", "main", "__main__"):
        (package / f"{name}.py").write_text('"""Empty."""\n')
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        (package / folder).symlink_to(Path("..") / folder)
    for folder in (*FOLDERS, *OTHERS):
        (package / folder).mkdir(exist_ok=True)
        for name in ("__init__", "inner"):
            (package / folder / f"{name}.py").write_text('"""Empty."""\n')
    (tmp_path / "agents" / "__init__.py").unlink()
    return tmp_path


def check(tree: Path, *command: str) -> tuple[int, str]:
    environment = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


LINT_IMPORTS = ("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache")


def test_import_linter_knows_every_layer_and_refuses_an_import_upwards(small_tree: Path) -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter")
    layers = re.findall(r"\w+", parser["importlinter:contract:layers"]["layers"])
    assert [*reversed(layers)] in ([*BOTTOM_UP], ["errors", "types", *BOTTOM_UP[2:]])
    code, output = check(small_tree, *LINT_IMPORTS)
    assert code == 0, output

    package = small_tree / "openmle_env"
    breaches = list(itertools.pairwise(BOTTOM_UP[1:]))
    for lower, upper in breaches:
        module = package / f"{lower}.py" if (package / f"{lower}.py").exists() else package / lower / "inner.py"
        target = f"openmle_env.{upper}" if (package / f"{upper}.py").exists() else f"openmle_env.{upper}.inner"
        module.write_text(f'"""A breach."""\n\nimport {target}\n')
    code, output = check(small_tree, *LINT_IMPORTS)
    assert code == 1
    found = re.findall(r"openmle_env\.(\w+) is not allowed to import openmle_env\.(\w+)", output)
    assert set(breaches) <= set(found), output


def test_import_linter_refuses_a_layer_that_nobody_placed(small_tree: Path) -> None:
    (small_tree / "openmle_env" / "helpers.py").write_text('"""Where does this belong?"""\n')
    code, output = check(small_tree, *LINT_IMPORTS)
    assert code == 1
    assert "helpers" in output


def test_mypy_is_strict_in_every_linked_folder(small_tree: Path) -> None:
    for folder in FOLDERS:
        (small_tree / folder / "inner.py").write_text('"""Not annotated."""\n\n\ndef double(x):\n    return x\n')
    code, output = check(small_tree, "-m", "mypy", "--no-incremental")
    assert code == 1, output
    for folder in FOLDERS:
        assert re.search(rf"openmle_env/{folder}/inner.py:4: error: .*\[no-untyped-def\]", output), output


def test_ruff_reads_each_folder_once_and_bans_bare_imports(small_tree: Path) -> None:
    for folder in FOLDERS:
        (small_tree / folder / "inner.py").write_text(f'"""A bare import."""\n\nimport {folder}\n\nprint({folder})\n')
    code, output = check(small_tree, "-m", "ruff", "check", "--no-cache", "--output-format", "concise", ".")
    assert code == 1, output
    banned = re.findall(r"^(\S+?):\d+:\d+: TID251", output, flags=re.MULTILINE)
    assert sorted(banned) == [f"{folder}/inner.py" for folder in sorted(FOLDERS)], output
