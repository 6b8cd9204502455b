"""What a judge is shown of a pack: texts, figures, a few public rows, and of the hidden answers nothing but counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from openmle_env.errors import PackError, PreparationError
from openmle_env.task_registry.folder import METRIC_SCRIPT
from openmle_env.task_registry.quality.checks import Unavailable
from openmle_env.task_registry.quality.probes import PARTS
from openmle_env.task_registry.quality.raw import raw_files, script
from openmle_env.task_registry.quality.report import Evidence
from openmle_env.task_registry.quality.target import to_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmle_env.graders.rows import Array
    from openmle_env.task_registry.quality.report import Usage
    from openmle_env.task_registry.quality.scan import Scan
    from openmle_env.task_registry.quality.subject import Subject

RARE = 4
"""Values of so many raw rows or fewer are not shown: raw tables hold the rows whose answers are hidden."""
MAX_TEXT = 20_000
"""As many characters are kept of a text, half of them from its end."""
MAX_COLUMNS, MAX_TABLES, MAX_ROWS, MAX_CELL, MAX_FILES = 40, 12, 3, 80, 60
PROBES = ("sample", "gold", "noisy gold", "constant", "permuted sample")


def gather(subject: Subject, usage: Usage | None) -> Evidence:
    """All eight sources; what cannot be had is said in its place."""
    pack = subject.pack
    return Evidence(
        task=pack.slug,
        description=_cut(pack.description),
        prepare=_cut(script(pack)),
        metric=_cut(_metric(subject)),
        processed_csv=_told(lambda: _processed(subject)),
        raw_csv=_told(lambda: {f"raw/{name}": _table(one, rare=RARE) for name, one in subject.raw_tables.items()}),
        raw_usage="" if usage is None else usage.model_dump_json(),
        metric_smoke_test=_told(lambda: _scores(subject)),
        raw_inventory=_told(
            lambda: {
                "raw": _inventory({n: p.stat().st_size for n, p in raw_files(pack).items()}),
                "downloads": [one.model_dump() for one in pack.config.downloads],
                "data": pack.config.data.model_dump(),
            }
        ),
    )


def _told(make: Callable[[], object]) -> str:
    try:
        return json.dumps(make(), ensure_ascii=False, allow_nan=False)
    except (Unavailable, PackError, PreparationError) as error:
        return json.dumps({"not available": str(error)}, ensure_ascii=False)


def _metric(subject: Subject) -> str:
    metric = subject.metric
    if metric is None:
        return subject.pack.text(METRIC_SCRIPT)
    told = {"name": metric.name, "parameters": dict(metric.given), "description": metric.description,
            "formula": metric.source, "higher_is_better": metric.higher_is_better,
            "rows": subject.pack.config.metric.rows}  # fmt: skip
    return json.dumps(told, ensure_ascii=False, default=str)


def _processed(subject: Subject) -> object:
    tables = {f"public/{name}": _table(subject.table(name), rows=MAX_ROWS) for name in subject.table_names[:MAX_TABLES]}
    answers = subject.answers
    hidden = {
        "rows": answers.rows,
        "columns": {name: {"distinct values": len(set(answers.cells[name]))} for name in answers.names[:MAX_COLUMNS]},
    }
    sizes = {name: path.stat().st_size for name, path in subject.public_files.items()}
    return {"tables": tables, "private/test_answer.csv": hidden, "public files": _inventory(sizes)}


def _table(table: Scan, rows: int = 0, rare: int = 0) -> object:
    columns = {name: _column(table.cells[name], rare) for name in table.names[:MAX_COLUMNS]}
    first = [
        {name: table.cells[name][row][:MAX_CELL] for name in table.names[:MAX_COLUMNS]}
        for row in range(min(rows, len(table.positions)))
    ]
    told = {"rows": table.rows, "columns": len(table.names), "of the columns": columns, "first rows": first}
    return told if table.problem is None else {"problem": table.problem.code}


def _column(cells: Array, rare: int) -> dict[str, object]:
    """What a column holds; values of ``rare`` rows or fewer are not told."""
    stripped = [cell.strip() for cell in cells]
    filled = np.array([cell for cell in stripped if cell], dtype=object)
    told: dict[str, object] = {"empty": len(stripped) - len(filled), "distinct values": len(set(filled))}
    numbers = to_numbers(filled)
    if len(filled) and np.isfinite(numbers).all():
        mean = float((numbers / len(numbers)).sum())  # a sum of the numbers themselves may be no float
        return told | {"least": float(numbers.min()), "mean": mean, "greatest": float(numbers.max())}
    common = [(value, count) for value, count in Counter(filled).most_common(5) if count > rare]
    return told | {"most common": {value[:MAX_CELL]: count for value, count in common}}


def _scores(subject: Subject) -> object:
    probes = subject.probes
    return {
        "higher_is_better": probes.grader.higher_is_better,
        "scores": {name: {part.value: _score(subject, name, part) for part in PARTS} for name in PROBES},
        "references": {one.name: [one.validation_score, one.test_score] for one in subject.pack.config.references},
        "note": "sample, constant and permuted are no baselines: they show that the grader works",
    }


def _score(subject: Subject, name: str, part: object) -> object:
    try:
        grade = subject.probes.grade(name, part)  # type: ignore[arg-type]  # a Part
    except (Unavailable, PackError):
        return None
    return grade.score if grade.score is not None else grade.status.value


def _inventory(sizes: dict[str, int]) -> object:
    kinds = Counter(PurePosixPath(name).suffix.lower() or "none" for name in sizes)
    listed = dict(sorted(sizes.items())[:MAX_FILES])
    return {"files": len(sizes), "bytes": sum(sizes.values()), "by suffix": dict(kinds), "listed": listed}


def _cut(text: str) -> str:
    half = MAX_TEXT // 2
    return text if len(text) <= MAX_TEXT else f"{text[:half]}\n[{len(text) - MAX_TEXT:,} characters]\n{text[-half:]}"
