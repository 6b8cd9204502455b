"""docs/attacks.md says what the headers of the programs say; what came of them is known from the last full run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.attacks.header import attacks

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "write_attacks_page.py"
PAGE = ROOT / "docs" / "attacks.md"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_attacks_page", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_not_stale() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_what_differs_is_noticed(script: ModuleType) -> None:
    suite, text = list(attacks()), PAGE.read_text(encoding="utf-8")
    assert script.check(suite, text) == []
    assert "lacks the program" in script.check(suite, "")[0]
    assert "any more" in script.check(suite[1:], text)[0]
    assert "something else" in script.check(suite, text.replace(suite[0].tries, "nothing"))[0]
    assert "got through" in script.check(suite, text.replace("| held |", f"| {script.THROUGH} |"))[0]


def test_an_unknown_option_is_refused() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--chek"], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2
