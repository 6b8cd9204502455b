"""The table of built-in tasks says what their packs say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from openmle_env.task_registry import index

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_current():
    script = ROOT / "scripts" / "write_tasks_page.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_readme_counts_right():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    entries = index.builtin().values()
    carried = sum(not entry.fetched for entry in entries)
    for words in (
        f"{len(entries)} tasks from real data",
        f"{carried} of them carry",
        f"[{len(entries)} built-in packs]",
    ):
        assert words in text
    assert (len(entries) - carried, "Nine fetch" in text) == (9, True)
