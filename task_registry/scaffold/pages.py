"""The text of each file of a new pack, from the templates in ``files/``."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import yaml

from openmle_env.task_registry.scaffold import samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openmle_env.task_registry.scaffold.guess import Guess

_FILES = Path(__file__).with_name("files")
_KINDS = {"number": "a number", "category": "one of a few values", "text": "a text"}
_TABLES = """\
- `train.csv`: rows with `$target`
- `test.csv`: the same without it
- `sample_submission.csv`: a right submission in form"""
_IMAGES = """\
- `train.csv`, `train_images.npy`: row i of the table belongs to image i; 16 x 16 pixels, from 0 to 255
- `test.csv`, `test_images.npy`: the same without `$target`
- `sample_submission.csv`: a right submission in form"""

_SPELT = """\
# Classes as they are spelt: pandas would take NA for nothing, and 007 for 7.
with open("/data/train.csv", newline="", encoding="utf-8") as file:
    train[TARGET] = [row[TARGET] for row in csv.DictReader(file)]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the author says of a pack."""

    title: str
    licence: str
    source: str


def table_pages(slug: str, facts: Facts, found: Guess) -> dict[str, str]:
    """The files of a pack whose raw data is ``raw/data.csv``, by their names."""
    return {
        **_pages(
            slug,
            facts,
            found.target,
            labels=found.labels,
            metric=found.metric,
            modality=found.modality,
            task_type=found.task_type,
            files=_TABLES,
            columns=found.columns,
            model="A linear model on the words" if found.texts else "Gradient boosting on all columns",
        ),
        "utils/prepare.py": _fill(
            "prepare_table.py.txt",
            delimiter=_python(found.delimiter),
            target=_python(found.target),
            left_out=_python(found.left_out),
            is_number=_python(found.is_number),
        ),
        "references/simple_model.py": _fill(
            "model_text.py.txt" if found.texts else "model_table.py.txt",
            target=_python(found.target),
            texts=_python(found.texts),
            imports="" if found.is_number else "import csv\n\n",
            spelt="" if found.is_number else _SPELT,
            model=_model(found),
            scoring=_python({"rmse": "neg_root_mean_squared_error"}.get(found.metric, found.metric)),
        ),
    }


def image_pages(slug: str, facts: Facts) -> dict[str, str]:
    """The files of a pack whose raw data are the made-up images of `samples`, by their names."""
    pages = _pages(
        slug,
        facts,
        "shape",
        labels=tuple(sorted(samples.SHAPES)),
        metric="accuracy",
        modality="image",
        task_type="multiclass classification",
        files=_IMAGES,
        columns={},
        model="A linear model on the pixels",
    )
    target = _python("shape")
    pages["utils/prepare.py"] = _fill("prepare_image.py.txt", target=target)
    pages["references/simple_model.py"] = _fill("model_image.py.txt", target=target)
    return pages


def _model(found: Guess) -> str:
    if found.texts:
        return "Ridge" if found.is_number else "LogisticRegression"
    return f"HistGradientBoosting{'Regressor' if found.is_number else 'Classifier'}"


def _pages(
    slug: str,
    facts: Facts,
    target: str,
    *,
    labels: tuple[str, ...],
    metric: str,
    modality: str,
    task_type: str,
    files: str,
    columns: dict[str, str],
    model: str,
) -> dict[str, str]:
    """What every pack has: pack.yaml, the description, the trivial program and the one that is wrong."""
    from openmle_env.graders import metrics  # numpy

    kind = f"label\n      labels: [{', '.join(map(_quoted, labels))}]" if labels else "number"
    shown = ", ".join(f"`{label}`" for label in labels[:20]) + (" and others" if len(labels) > 20 else "")
    first = labels[0] if labels else "0.0"
    return {
        "pack.yaml": _fill(
            "pack.yaml.txt",
            slug=slug,
            title=_quoted(facts.title),
            licence=_quoted(facts.licence),
            source=_quoted(facts.source),
            modality=modality,
            task_type=task_type,
            metric=metric,
            target=_quoted(target),
            kind=kind,
            model_title=model,
        ),
        "description.md": _fill(
            "description.md.txt",
            target=target,
            files=Template(files).substitute(target=target),
            columns="".join(f"\n| `{_cell(name)}` | TODO: {_KINDS[kind]} |" for name, kind in columns.items()),
            target_cell=_cell(target),
            target_words=f"one of {shown}" if labels else "a number",
            metric=metric,
            metric_words=metrics.get(metric).description,
            example="\n".join(map(_row, [("id", target), ("3", first), ("8", first)])),
        ),
        "references/sample_submission.py": _fill("sample_submission.py.txt"),
        "references/broken.py": _fill("broken.py.txt"),
    }


def _fill(template: str, **values: str) -> str:
    return Template((_FILES / template).read_text(encoding="utf-8")).substitute(values)


def _python(value: str | bool | Sequence[str]) -> str:
    """A value as Python source."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # each of its escapes is one of Python's, too
    return f"[{', '.join(map(_python, value))}]"


def _quoted(text: str) -> str:
    """A text as YAML takes it, whatever it holds."""
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=math.inf).rstrip("\n")


def _row(cells: Sequence[str]) -> str:
    """A line of a CSV file."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _cell(text: str) -> str:
    """A text as a cell of a table in Markdown."""
    return text.replace("|", "\\|")
