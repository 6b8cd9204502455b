"""Writing what a pack consists of beside its data: ``pack.yaml``, the description, and the programs that come along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from openmle_env.errors import PackError
from openmle_env.files import write_whole
from openmle_env.task_registry.builder import info, prompts, trial
from openmle_env.task_registry.pack_yaml import PACK_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openmle_env.graders.metrics import Metric
    from openmle_env.task_registry.builder.plan import Plan
    from openmle_env.task_registry.builder.sources import Source
    from openmle_env.task_registry.builder.workspace import Workspace
    from openmle_env.task_registry.pack import Submission

TIER = 3
"""Of a pack that nobody has looked at yet."""
PROGRAMS = Path(__file__).with_name("programs")
"""Programs that packs get, for boxes; called ``.txt`` since nothing here may import them."""


class _Dumper(yaml.SafeDumper):
    """YAML as ``pack.yaml`` takes it: no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - yaml's own signature
        return True


def write_programs(work: Workspace, *, tabular: bool) -> None:
    """The trivial program, one that is known to be wrong, and, for tables, a simple model."""
    for program in sorted(PROGRAMS.glob("*.py.txt")):
        target = work.folder / "references" / program.stem
        if tabular or target.name != "simple_model.py":
            write_whole(target, program.read_bytes())
        else:
            target.unlink(missing_ok=True)


def write_description(work: Workspace, plan: Plan, metric: Metric | None) -> None:
    """The problem as a model wrote it, with what is known for certain: files, columns, rows, the metric."""
    made = read_made(work)
    lines = [work.problem.read_text(encoding="utf-8").strip(), "", "## Public files", "", "| file | rows | columns |"]
    lines.append("|---|---|---|")
    for name, header in made["header"].items():
        if name.startswith("public/"):
            columns = ", ".join(f"`{column}`" for column in header)
            lines.append(f"| `{name.removeprefix('public/')}` | {made['rows'][name]:,} | {columns} |")
    other = [name for name in made["contents"] if name.startswith("public/") and name not in made["header"]]
    if other:
        lines += ["", f"Beside them stand {len(other):,} other files, such as `{sorted(other)[0][7:]}`."]
    submitted = (
        f"`submission.csv` with the columns {prompts.quoted(plan.columns)}: one row for each row of `test.csv`. "
        f"{prompts.quoted(plan.targets)} {'is' if len(plan.targets) == 1 else 'are'} predicted. "
        "`sample_submission.csv` has the right form."
    )
    lines += [
        "",
        "## What is submitted",
        "",
        submitted,
        "",
        "## The metric",
        "",
    ]
    if metric is None:
        lines.append("The score is computed by the task's own metric, which measures what is said above.")
    else:
        direction = "higher" if metric.higher_is_better else "lower"
        lines.append(f"`{metric.name}`: {metric.description} {direction.capitalize()} is better.")
    write_whole(work.folder / "description.md", ("\n".join(lines) + "\n").encode())


def write_config(
    work: Workspace,
    source: Source,
    plan: Plan,
    metric: Mapping[str, object],
    *,
    licence: str,
    raw_bytes: int,
    raw_hash: str,
    references: Sequence[Mapping[str, object]],
    version: str,
    measured_in: str = "",
    submission: Submission | None = None,
    leaderboard: bool = False,
) -> None:
    """Write ``pack.yaml``, whole."""
    facts = info.read(work.info)
    stated = licence or str(facts.get("licence") or facts.get("table.licence") or facts.get("table.license") or "")
    origin = f"the folder {source.slug}" if source.kind == "folder" else source.address
    notes = "The task was made by openmle pack build; a model wrote its description and its script."
    if leaderboard:
        notes += " The leaderboard is the competition's, whose teams were scored on other rows than these."
    values: dict[str, object] = {
        "slug": work.slug,
        "version": version,
        "title": plan.title,
        "modality": plan.modality,
        "task_type": plan.task_type,
        "tier": TIER,
        "description": "description.md",
        "metric": dict(metric),
        "split": {"method": "hash", "validation_fraction": 0.5, "salt": f"{work.slug}-1"},
        "data": {
            "licence": stated or "not stated",
            "source": f"{origin} (SHA-256 of the raw files: {raw_hash})",
            "notes": notes,
        },
        "preparation": trial.allowance(raw_bytes),
        "references": [dict(one) for one in references],
        "measured_in": measured_in,
        "broken": {"program": "references/broken.py", "status": "submission_invalid"},
        "contents": read_made(work)["contents"],
    }
    if submission is not None:
        values["submission"] = submission.model_dump(mode="json", exclude_defaults=True)
    if leaderboard:
        values["leaderboard"] = {"file": work.leaderboard.name, "column": "score"}
    text = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    write_whole(work.folder / PACK_FILE, text.encode())


def read_made(work: Workspace) -> dict[str, Any]:
    """What the stage ``prepare`` noted of the files that its script makes.

    Raises:
        PackError: Somebody broke it.
    """
    try:
        found: dict[str, Any] = json.loads(work.made.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PackError(f"{work.made} cannot be read: {error}. Run the stage 'prepare' again.") from error
    return found
