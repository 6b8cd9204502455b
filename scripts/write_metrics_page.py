"""Write docs/metrics.md, the page of all metrics, from the code; with --check, only say whether it is as it should be.

Run it from the root of the checkout: .venv/bin/python scripts/write_metrics_page.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.graders import metric_words as words
from openmle_env.graders import metrics
from openmle_env.graders.metric_example import MAX_ROWS, example

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openmle_env.graders.metrics import Metric, Parameter

PAGE = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
_SPECIAL = re.compile(r"[\\*<\[\]|]|(?<!\w)_|_(?!\w)")
"""What would mean something to Markdown; not the underscore in a name."""
MAX_CELL = 60
"""Characters of a cell of an example."""

SECTIONS = {
    "Classes": ("classification", "f_measure", "agreement", "guesses"),
    "Several labels a row": ("multilabel", "multilabel_columns", "label_ranking"),
    "Probabilities": ("probabilities", "class_probabilities"),
    "Ranking the rows of a class": ("curves", "subgroup_bias"),
    "Ranked lists": ("ranking", "grouped_ranking", "item_orders"),
    "Numbers": ("regression", "relative_errors", "correlation", "uncertainty"),
    "Forecasts": ("forecasting", "wrmsse"),
    "Survival": ("survival",),
    "Text": ("text", "edit_distance", "bleu", "chrf", "perplexity"),
    "Masks": ("masks", "mask_precision"),
    "Boxes": ("boxes",),
    "Images": ("images",),
    "Clusters": ("clustering",),
    "Positions and angles": ("geometry",),
}
"""Sections of the page by the kind of task, each with the modules whose metrics it shows."""

KEYS = "write-a-task-pack.md#packyaml-key-by-key"
INTRODUCTION = f"""\
# Metrics

This page is made from the code by `scripts/write_metrics_page.py`. `openmle metrics` prints the same, and
`openmle metrics NAME` a whole example.

- A [task pack]({KEYS}) names its metric in `metric.name`, with `metric.parameters`. On the command line it is
  `openmle grade --metric NAME --param NAME=VALUE`.
- Another name of a metric stands for it with the parameters beside it. Case means nothing in a name, nor do blanks,
  hyphens and underscores, and `@` is read as "at".
- ↑ says that higher is better, ↓ that lower is better.
- A score is always finite. Where a metric is undefined because of the answers, whatever was predicted, that is a fault
  of the task. A constant or odd prediction has a value.
- Targets are of one of the [kinds]({KEYS}) that are listed, the usual one first.
- A parameter that names a column of the answers is not used unless it is given.
- Each example is a command and its two files, as one table: `answers: x` is the column x of `answers.csv`, and
  `predicted: x` that of `submission.csv`. Both files have a column `id` of 1, 2, 3 and so on, too. The column `target`
  (or `target0`, `target1`) is what is compared; yours may have any name, the same in both files.
"""


def page() -> str:
    """The whole page."""
    every = [metrics.get(name) for name in metrics.names()]
    families = [family for section in SECTIONS.values() for family in section]
    if left := sorted({words.family(metric) for metric in every} - {*families}):
        raise SystemExit(f"Modules of metrics without a section: {', '.join(left)}. Name them in SECTIONS.")
    sections = {
        title: sorted((one for one in every if words.family(one) in shown), key=lambda one: _order(one, shown))
        for title, shown in SECTIONS.items()
    }
    contents = "\n".join(
        f"- [{title}](#{_anchor(title)}): {', '.join(f'[`{one.name}`](#{one.name})' for one in found)}"
        for title, found in sections.items()
    )
    parts = [INTRODUCTION, f"{len(every)} metrics by the kind of task:\n\n{contents}\n"]
    parts.append("\n".join(("## All names\n", *_names(every))))
    for title, found in sections.items():
        parts.append(f"## {title}\n")
        parts += ["\n".join(_section(one)) for one in found]
    return "\n".join(parts)


def _order(metric: Metric, shown: Sequence[str]) -> tuple[int, str]:
    return shown.index(words.family(metric)), metric.name


def _names(every: Sequence[Metric]) -> Iterator[str]:
    """The table of every name, from A to Z."""
    rows = [(metric.name, "", "", _plain(metric.description)) for metric in every]
    rows += [
        (alias, metric.name, words.settings(preset), "") for metric in every for alias, preset in metric.aliases.items()
    ]
    yield from _table(
        ("name", "is", "with", "what it is"),
        [
            (
                f"`{name}`" if target else f"[`{name}`](#{name})",
                f"[`{target}`](#{target})" if target else "",
                f"`{given}`" if given else "",
                said,
            )
            for name, target, given, said in sorted(rows, key=lambda row: (row[0].casefold(), row[0]))
        ],
    )


def _section(metric: Metric) -> Iterator[str]:
    yield f"### {metric.name}\n"
    arrow = "↑" if metric.higher_is_better else "↓"
    yield f"{_plain(metric.description)} {arrow} {words.span(metric)}; targets: {', '.join(metric.kinds)}.\n"
    yield f"- Formula: {_plain(metric.source)}"
    yield f"- Degenerate cases: {_plain(metric.degenerate)}"
    if metric.aliases:
        named = (
            f"`{name}`{f' (`{words.settings(preset)}`)' if preset else ''}" for name, preset in metric.aliases.items()
        )
        yield f"- Other names: {', '.join(named)}"
    yield ""
    if metric.parameters:
        yield from _table(
            ("parameter", "is", "default", "meaning"),
            [
                (f"`{one.name}`", _plain(one.expected), _default(one), _plain(one.mark.description))
                for one in metric.parameters
            ],
        )
    yield from _example(metric)


def _default(parameter: Parameter) -> str:
    text = words.default(parameter)
    return text if parameter.kind in {"column", "columns"} or parameter.mark.needed else f"`{text}`"


def _example(metric: Metric) -> Iterator[str]:
    shown = example(metric)
    note = f" {_plain(shown.note)}" if shown.note else ""
    rows = min(shown.rows, MAX_ROWS)
    cut = f", the first {rows} of {shown.rows} rows" if rows < shown.rows else ""
    yield f"An example{cut}, which scores {shown.score:.6g}:{note}\n"
    yield f"```console\n$ {shown.command}\n```\n"
    columns = {
        f"{side}: {name}": cells[:rows]
        for side, table in (("answers", shown.answers), ("predicted", shown.submission))
        for name, cells in table.items()
        if name != "id"
    }
    cells = ([_cell(cell) for cell in column] for column in columns.values())
    yield from _table([_plain(name) for name in columns], list(zip(*cells, strict=True)))


def _cell(text: str) -> str:
    short = text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}..."
    return _plain(re.sub(r"\s+", " ", short)) or " "


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _plain(text: str) -> str:
    """Text that Markdown shows as it is; what stands in backticks already stays, in single ones."""
    parts = re.split(r"(`+[^`]+`+)", text)
    return "".join(
        f"`{part.strip('`')}`".replace("|", "\\|") if place % 2 else _SPECIAL.sub(r"\\\g<0>", part)
        for place, part in enumerate(parts)
    )


def _anchor(title: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def main(arguments: Sequence[str]) -> int:
    """Write the page; or, with ``--check``, return 1 if it is stale."""
    if set(arguments) - {"--check"}:
        print(f"Unknown arguments: {' '.join(arguments)}. The only one is --check.", file=sys.stderr)
        return 2
    made = page()
    if "--check" not in arguments:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == made:
        return 0
    print(f"{PAGE} is stale. Write it anew: .venv/bin/python scripts/write_metrics_page.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
