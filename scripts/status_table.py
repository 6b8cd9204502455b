"""Print, as Markdown, what the twelve programs of the conformance suite come to on each sandbox that is usable here.

Run it from the root of the checkout: .venv/bin/python scripts/status_table.py
"""

from __future__ import annotations

import sys

from openmle_env.baselines import statuses
from openmle_env.sandbox import select


def main() -> int:
    """Print the table; 1 if any status is not the expected one."""
    backends = [report.name for report in select.survey() if report.usable]
    columns = []
    for name in backends:
        sandbox = select.create(name)
        try:
            columns.append(list(statuses.play(sandbox)))
        finally:
            sandbox.close()
    print("| program |" + "".join(f" {name} |" for name in backends))
    print("|---|" + "---|" * len(backends))
    wrong = 0
    for row in zip(*columns, strict=True):
        cells = [str(one.outcome.status) for one in row]
        wrong += sum(one.outcome.status is not one.expected for one in row)
        print(f"| {row[0].name} | " + " | ".join(cells) + " |")
    if wrong:
        print(f"{wrong} statuses are not the expected ones.", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
