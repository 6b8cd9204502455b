"""Lets the grammar agent play titanic with ten seeds; prints the table for docs/write-an-agent.md.

.venv/bin/python scripts/measure_grammar.py [--sandbox NAME] [--seeds N]    default: bubblewrap, 10
"""

from __future__ import annotations

import argparse
import sys
import time

import gymnasium

import openmle_env
from openmle_env.agents.episode import play
from openmle_env.agents.grammar import GrammarAgent
from openmle_env.errors import OpenMLEError

TASK = "titanic"
PROGRAMS = 8
RULE = "sex-rule"
"""The reference that an agent should beat on the test part."""


def main(arguments: list[str]) -> int:
    """Print the table; the exit code is that of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--seeds", type=int, default=10)
    wanted = parser.parse_args(arguments)
    print("| seed | selected | validation | test | seconds |\n|---:|---:|---:|---:|---:|", flush=True)
    scores: list[float] = []
    try:
        references = openmle_env.load_task(TASK).pack.config.references
        rule = next(reference.test_score or 0.0 for reference in references if reference.name == RULE)
        scores.extend(_play(seed, wanted.sandbox) for seed in range(wanted.seeds))
    except OpenMLEError as error:
        print(error, file=sys.stderr)
        return 1
    better = sum(score > rule for score in scores)
    print(f"\n{better} of {len(scores)} beat the rule {RULE!r} on the test part ({rule:.4f}).")
    return 0


def _play(seed: int, sandbox: str) -> float:
    """Play one episode and print its row; the test score, or 0 where no program has one."""
    started = time.monotonic()
    with gymnasium.make(f"OpenMLE/{TASK}-v0", sandbox=sandbox, programs=PROGRAMS) as env:
        final = play(env, GrammarAgent(seed), seed=seed).final
    seconds = time.monotonic() - started
    if final is None or final.test_score is None:
        print(f"| {seed} | none | | | {seconds:.0f} |", flush=True)
        return 0.0
    scores = f"{final.validation_score:.4f} | {final.test_score:.4f}"
    print(f"| {seed} | program {final.selected} | {scores} | {seconds:.0f} |", flush=True)
    return float(final.test_score)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
