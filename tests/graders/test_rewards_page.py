"""The page for trainers: it leaves out nothing that can be chosen. Its examples are run with the other documents'."""

from __future__ import annotations

import re
from pathlib import Path

from openmle_env.graders import rewards

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "score-and-reward.md").read_text()


def test_every_mode_and_policy_has_its_row() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    assert sorted(rows) == sorted([*rewards.BOUND_MODES, *rewards.MAPPING_MODES, *rewards.OPERATOR_POLICIES])


def test_every_function_is_named() -> None:
    functions = {name for name in rewards.__all__ if name.islower()}
    assert len(functions) > 15
    assert functions - set(re.findall(r"\w+", PAGE)) <= {"finite"}
