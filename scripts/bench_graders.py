"""Times the check of a large submission against pandas' own C reader on the same file, and measures its memory.

.venv/bin/python scripts/bench_graders.py [--rows N] [--rounds N]    default: 5,000,000 rows, 3 rounds

Each figure is the best of the rounds, and each round two fresh processes in turn, in which pandas is imported before
the clock starts: `pandas.read_csv(path)` with default options; and our check of the same path, which reads every cell
by the schema, and aligns the rows with the ids of answers that were loaded before, in another order. Memory is what
the check adds at its peak to what the process held before it, answers included, as a multiple of the file's size. Only
ratios of one run say anything: machines are noisy.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.graders import answers
from openmle_env.graders.split import Split
from openmle_env.graders.submission import check
from openmle_env.types import Column, ColumnKind, SubmissionSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LABELS = ("setosa", "versicolor", "virginica")


@dataclass(frozen=True)
class Case:
    """One sort of file."""

    ids: ColumnKind
    target: ColumnKind
    row: Callable[[int, float], str]
    """A row from its number, which is to be its id, and a number below 1."""

    @property
    def schema(self) -> SubmissionSchema:
        labels = LABELS if self.target == "label" else ()
        return SubmissionSchema(
            id=Column(name="id", kind=self.ids), targets=(Column(name="target", kind=self.target, labels=labels),)
        )


CASES = {
    "integer ids, numbers": Case("integer", "number", lambda i, x: f"{i},{x:.6f}\n"),
    "integer ids, numbers of 17 digits": Case("integer", "number", lambda i, x: f"{i},{x!r}\n"),
    "scattered integer ids, numbers": Case("integer", "number", lambda i, x: f"{i * 982_451_653},{x:.6f}\n"),
    "text ids, numbers": Case("text", "number", lambda i, x: f"id_{i:x},{x:.6f}\n"),
    "integer ids, labels": Case("integer", "label", lambda i, x: f"{i},{LABELS[int(x * 3)]}\n"),
    "every field quoted": Case("integer", "number", lambda i, x: f'"{i}","{x:.6f}"\n'),
    "ids with quoted commas, cell by cell": Case("text", "number", lambda i, x: f'"{i}, row",{x:.6f}\n'),
}


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", nargs=4, metavar=("HOW", "CASE", "FILE", "ANSWERS"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        how, case, path, truth = options.work
        print(json.dumps(_pandas(Path(path)) if how == "pandas" else _check(CASES[case], Path(path), Path(truth))))
        return 0
    print("| file | MB | pandas, s | check, s | ratio | memory / file |\n|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        path, truth = Path(folder) / "submission.csv", Path(folder) / "answers.csv"
        for name, case in CASES.items():
            for seed, file in enumerate((path, truth)):
                with file.open("w", encoding="utf-8") as stream:
                    stream.writelines(_lines(case, options.rows, seed))
            found: dict[str, list[tuple[float, float]]] = {"pandas": [], "check": []}
            for _ in range(options.rounds):
                for how, figures in found.items():
                    command = [sys.executable, __file__, "--work", how, name, str(path), str(truth)]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    figures.append(json.loads(done.stdout))
            size = path.stat().st_size
            (slow, _), (ours, _) = min(found["pandas"]), min(found["check"])
            memory = max(peak for _, peak in found["check"]) / size
            print(
                f"| {name} | {size / 1e6:.0f} | {slow:.3f} | {ours:.3f} | {ours / slow:.2f} | {memory:.2f} |",
                flush=True,
            )
    return 0


def _lines(case: Case, rows: int, seed: int) -> Iterator[str]:
    yield "id,target\n"
    chance = random.Random(seed)  # noqa: S311  rows in some order
    numbers = list(range(rows))
    chance.shuffle(numbers)
    for number in numbers:
        yield case.row(number, chance.random())


def _pandas(path: Path) -> tuple[float, float]:
    import pandas as pd

    began = time.perf_counter()
    pd.read_csv(path)
    return time.perf_counter() - began, 0.0


def _check(case: Case, path: Path, truth: Path) -> tuple[float, float]:
    """Seconds, and bytes at the peak above what was held before."""
    import pandas as pd

    del pd
    index = answers.load(truth, case.schema, Split(method="none"), case.schema.targets).index
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before = _status("VmRSS")
    began = time.perf_counter()
    report = check(path, case.schema, index)
    seconds = time.perf_counter() - began
    if not report.valid:
        raise SystemExit(f"The file should be valid: {report.message}")
    return seconds, _status("VmHWM") - before


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1]) * 1024
    raise SystemExit(f"/proc/self/status has no {name}.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
