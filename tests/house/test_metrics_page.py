"""docs/metrics.md is what the code says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from openmle_env.graders import metrics
from openmle_env.graders.metric_example import example

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "write_metrics_page.py"
PAGE = ROOT / "docs" / "metrics.md"


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False, cwd=ROOT)


def test_the_page_is_not_stale() -> None:
    done = run(SCRIPT, "--check")
    assert done.returncode == 0, done.stderr


def test_a_stale_page_is_noticed_and_written_anew(tmp_path: Path) -> None:
    script = tmp_path / "scripts" / SCRIPT.name
    script.parent.mkdir()
    (tmp_path / "docs").mkdir()
    shutil.copy(SCRIPT, script)
    page = tmp_path / "docs" / PAGE.name
    for stale in (None, PAGE.read_text() + "more"):
        if stale is not None:
            page.write_text(stale)
        done = run(script, "--check")
        assert (done.returncode, "is stale" in done.stderr) == (1, True)
    assert run(script).returncode == 0
    assert run(script, "--check").returncode == 0
    assert run(script, "--chek").returncode == 2


def test_every_metric_parameter_and_name_is_on_the_page() -> None:
    sections = {part.partition("\n")[0]: part for part in re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]}
    assert sections.keys() == set(metrics.names())
    for name, section in sections.items():
        metric = metrics.get(name)
        for part in (*(f"| `{one.name}` |" for one in metric.parameters), *(f"`{one}`" for one in metric.aliases)):
            assert part in section, (name, part)
        assert ("↑" in section.splitlines()[2]) is metric.higher_is_better


def test_every_name_is_in_the_table_of_all_names_and_leads_to_its_metric() -> None:
    _, _, rest = PAGE.read_text().partition("\n## All names\n")
    rows = re.findall(r"^\| \[?`([^`]+)`(?:\]\(#(\w+)\))? \| (?:\[`\w+`\]\(#(\w+)\))? \|", rest, flags=re.MULTILINE)
    found = {name: own or other for name, own, other in rows}
    assert found == {
        **{name: name for name in metrics.names()},
        **{alias: name for name in metrics.names() for alias in metrics.get(name).aliases},
    }
    assert [name.casefold() for name, *_ in rows] == sorted(name.casefold() for name in found)


def test_every_metric_has_a_command_and_its_score() -> None:
    sections = {part.partition("\n")[0]: part for part in re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]}
    for name, section in sections.items():
        shown = example(metrics.get(name))
        assert f"```console\n$ {shown.command}\n```" in section, name
        assert f"which scores {shown.score:.6g}:" in section, name


def test_tables_have_as_many_cells_in_each_row() -> None:
    for block in re.findall(r"(?:^\|.*\n)+", PAGE.read_text(), flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1, block
