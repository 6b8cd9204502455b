"""Write docs/metrics.md, the page of all metrics, from the code; with --check, only say whether it is as it should be.

Run it from the root of the checkout: .venv/bin/python scripts/write_metrics_page.py [--check]
"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.graders import metric_words as words
from openmle_env.graders import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openmle_env.graders.metrics import Golden, Metric, Parameter

PAGE = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
MAX_ROWS = 8
"""Of an example."""
_SPECIAL = re.compile(r"[\\*<\[\]|]|(?<!\w)_|_(?!\w)")
"""What would mean something to Markdown; not the underscore in a name."""
MAX_CELL = 60
"""Characters of a cell of an example."""

KEYS = "write-a-task-pack.md#packyaml-key-by-key"
INTRODUCTION = f"""\
# Metrics

This page is made from the code by `scripts/write_metrics_page.py`. `openmle metrics` prints the same.

- A [task pack]({KEYS}) names its metric in `metric.name`, with `metric.parameters`. On the command line it is
  `openmle grade --metric NAME --param NAME=VALUE`.
- Another name of a metric stands for it with the parameters in brackets.
- ↑ says that higher is better, ↓ that lower is better.
- A score is always finite. Where a metric is undefined because of the answers, whatever was predicted, that is a fault
  of the task. A constant or odd prediction has a value.
- Targets are of one of the [kinds]({KEYS}) that are listed, the usual one first.
- A parameter that names a column of the answers is not used unless it is given.
"""


def page() -> str:
    """The whole page."""
    every = sorted((metrics.get(name) for name in metrics.names()), key=lambda one: (words.family(one), one.name))
    families = sorted((_title(found[0]), found) for found in map(list, _grouped(every)))
    contents = "\n".join(
        f"- [{title}](#{_anchor(title)}): {', '.join(f'[`{one.name}`](#{one.name})' for one in found)}"
        for title, found in families
    )
    parts = [INTRODUCTION, f"{len(every)} metrics:\n\n{contents}\n"]
    for title, found in families:
        parts.append(f"## {title}\n")
        parts += ["\n".join(_section(one)) for one in found]
    return "\n".join(parts)


def _title(metric: Metric) -> str:
    """A heading: what the module says of itself, as far as it says what is measured."""
    said = words.family_title(metric)
    short = re.sub(r"^(Metrics|The metric) of ", "", said).partition(": ")[0]
    return short[:1].upper() + short[1:]


def _grouped(every: Sequence[Metric]) -> Iterator[Iterator[Metric]]:
    for _, found in groupby(every, key=words.family):
        yield found


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
    yield from _example(
        metric, next((one for one in metric.golden if len(one.predicted) <= MAX_ROWS), metric.golden[0])
    )


def _default(parameter: Parameter) -> str:
    text = words.default(parameter)
    return text if parameter.kind in {"column", "columns"} else f"`{text}`"


def _example(metric: Metric, golden: Golden) -> Iterator[str]:
    used, truth, predicted = metric.example(golden)
    given = f" with `{words.settings(used.given)}`" if used.given else ""
    note = f" {_plain(golden.note)}" if golden.note else ""
    rows = min(len(predicted), MAX_ROWS)
    cut = f", the first {rows} of {len(predicted)} rows" if rows < len(predicted) else ""
    yield f"An example{given}{cut}, which scores {golden.score:.6g}:{note}\n"
    columns = {f"answers: {name}": truth.cells(name) for name in truth.columns}
    columns |= {f"predicted: {name}": predicted.cells(name) for name in predicted.columns}
    cells = ([_cell(words.value(cell) if cell != "" else "") for cell in column[:rows]] for column in columns.values())
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
