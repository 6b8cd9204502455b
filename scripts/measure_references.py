"""Measures the reference programs of built-in tasks and rewrites their recorded scores.

    .venv/bin/python scripts/measure_references.py [TASK ...]    default: all

Programs run in the sandbox of the settings (OPENMLE_SANDBOX). Afterwards the index is made again.
"""

from __future__ import annotations

import argparse
import sys

from openmle_env import settings
from openmle_env.errors import OpenMLEError, UsageError
from openmle_env.sandbox import select
from openmle_env.task_registry import index
from openmle_env.task_registry.edit import replace_scalars
from openmle_env.task_registry.lookup import find, load_task
from openmle_env.task_registry.pack_yaml import PACK_FILE
from openmle_env.task_registry.references import measure, versions
from openmle_env.types import Fault


def main(arguments: list[str]) -> int:
    """Measure; exit codes are those of the command line: 1 a pack is at fault, 2 wrong use, 3 the machine failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", metavar="TASK", nargs="*", help="name of a built-in task, or folder of a pack")
    names = parser.parse_args(arguments).tasks or list(index.builtin())
    try:
        for name in names:
            find(name)  # a misspelt name is told before a sandbox is started
        _measure(names)
    except OpenMLEError as error:
        print(error, file=sys.stderr)
        if isinstance(error, UsageError):
            return 2
        return 3 if error.fault is Fault.INFRASTRUCTURE else 1
    return index.main(["--write"])


def _measure(names: list[str]) -> None:
    wanted = settings.load()
    sandbox = select.create(wanted.sandbox, image=wanted.image)
    try:
        for name in names:
            task = load_task(name, sandbox=sandbox)
            values: dict[tuple[str | int, ...], str | float | None] = {("measured_in",): versions(task, sandbox)}
            for position, result in enumerate(measure(task, sandbox)):
                values["references", position, "validation_score"] = round(result.validation_score, 4)
                values["references", position, "test_score"] = round(result.test_score, 4)
                print(
                    f"{name:20} {result.name:28} validation {result.validation_score:.4f} "
                    f"test {result.test_score:.4f} in {result.wall_seconds:.1f} s"
                )
            path = task.pack.root / PACK_FILE
            path.write_text(replace_scalars(path.read_text(encoding="utf-8"), values), encoding="utf-8")
    finally:
        sandbox.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
