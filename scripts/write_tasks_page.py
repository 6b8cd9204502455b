"""Write docs/tasks.md, the table of built-in tasks, from what their pack.yaml says; with --check, only compare.

Run it from the root of the checkout: .venv/bin/python scripts/write_tasks_page.py [--check]
The scores in it are those that `scripts/measure_references.py` recorded.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.commands.console import number
from openmle_env.task_registry import index, suites
from openmle_env.task_registry.folder import open_pack

if TYPE_CHECKING:
    from openmle_env.task_registry.folder import Pack

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tasks.md"
INTRODUCTION = """\
# Built-in tasks

This page is written by `scripts/write_tasks_page.py`. Each task is `gym.make("OpenMLE/NAME-v0")`. Scores are
validation / test. *Trivial* is the sample submission, which is worth reward 0; *best* is what the right answers score,
reward 1; the others are the programs in the pack's `references/`, measured by `scripts/measure_references.py` with the
library versions that `pack.yaml` names. Tests run them all again, and the [quality gate](check-a-task-pack.md) too.

{count} tasks. Suite `smoke`: {smoke}. Suite `core`: {core}. Suite `all`: every task.
"""


def main(arguments: list[str]) -> int:
    """Write or compare the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 where the page is not current")
    check = parser.parse_args(arguments).check
    text = render()
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print("docs/tasks.md is not current: scripts/write_tasks_page.py", file=sys.stderr)
        return 1
    return 0


def render() -> str:
    """The text of the page."""
    packs = [open_pack(index.PACKS / entry.folder) for entry in index.builtin().values()]
    names = {name: ", ".join(f"`{task}`" for task in suites.members(name)) for name in ("smoke", "core")}
    lines = [INTRODUCTION.format(count=len(packs), **names)]
    lines.append("| task | kind | metric | trivial | references | best | data |\n|---|---|---|---|---|---|---|")
    lines += [_row(pack) for pack in packs]
    lines.append("\n## Sources\n")
    lines += [f"- `{pack.slug}`: {pack.config.data.source.strip()}. {pack.config.data.licence}." for pack in packs]
    return "\n".join(lines) + "\n"


def _row(pack: Pack) -> str:
    config = pack.config
    better = "" if (ours := config.metric.ours()) is None else " ↑" if ours.higher_is_better else " ↓"
    trivial, *others = config.references
    scores = "<br>".join(
        f"{_cell(one.title)}: {number(one.validation_score)} / {number(one.test_score)}" for one in others
    )
    kind = "fetched" if config.downloads else "carried"
    return (
        f"| `{pack.slug}` | {config.modality}, {config.task_type} | {config.metric.name}{better} | "
        f"{number(trivial.validation_score)} / {number(trivial.test_score)} | {scores} | "
        f"{number(config.rewards.best) if config.rewards else '-'} | {kind} |"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
