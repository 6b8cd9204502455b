"""The table of checks in the documentation is made from the registry."""

from __future__ import annotations

from pathlib import Path

from openmle_env.task_registry.quality import checks

PAGE = Path(__file__).resolve().parents[3] / "docs" / "check-a-task-pack.md"


def test_table_of_checks_is_current(tmp_path: Path) -> None:
    copy = tmp_path / PAGE.name
    copy.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    checks.write_table(copy)
    assert copy.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8"), (
        "Write it anew: python -c 'from pathlib import Path; from openmle_env.task_registry.quality import checks; "
        'checks.write_table(Path("docs/check-a-task-pack.md"))\''
    )
    assert all(f"| `{name}` |" in copy.read_text(encoding="utf-8") for name in checks.registered())
