"""Run the suite of attacks everywhere and write docs/attacks.md; with --check, only compare the page with the headers.

Run it from the root of the checkout: .venv/bin/python scripts/write_attacks_page.py [--check]
It needs root, a Docker engine with the image, and bubblewrap. What a program did against its header is told on standard
error, and makes it end with 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.attacks.header import WAYS, Attack, Place, attacks  # noqa: E402  found by the line above
from tests.attacks.running import Arena, Host  # noqa: E402  likewise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.attacks.running import Outcome

PAGE = ROOT / "docs" / "attacks.md"
PLACES = tuple(Place(backend=backend, way=way) for backend in ("docker", "bubblewrap") for way in WAYS)
ANYWHERE = Place(backend="docker", way="off")
HELD, OPEN, THROUGH = "held", "open", "**got through**"

WHERE = {
    "ordinary": "bubblewrap of an ordinary user",
    "uncgrouped": "bubblewrap where no control group can be made",
}
KINDS = {
    "secrets": "Looking for answers and secrets",
    "network": "Reaching the network",
    "calls": "System calls and privileges",
    "exhaustion": "Using up the machine",
    "endings": "Ways to end",
    "leftovers": "What outlives the program",
    "submissions": "Submissions",
    "forgeries": "Forged reports and scores",
    "names": "Files that are hard to handle",
    "sources": "Programs that are hard to read",
    "session": "Against the next program of a session",
    "neighbours": "Against the programs of other boxes",
}
INTRODUCTION = """\
# Attacks on the sandbox

This page is written by `scripts/write_attacks_page.py`, which runs the {count} programs of
[`tests/attacks/programs`](../tests/attacks/programs) on both backends: each in a box of its own that was warm
(`single`), and as one of many programs of one session (`forked`). As root, with control groups.

- *held*: it ended with one of the statuses that are named, all that its header asks for was true, and nothing came out.
  In a session, an honest program that followed it in the same session found nothing left, and ended well.
- *open*: it is known to get through; [why](#known-to-get-through) is said below.
- *got through*: the sandbox has a fault.

A program that reaches what it must not prints `LEAK`, and fails the tests by that. {plain} of them are also run as
ordinary processes, and {boxed} in boxes with wider limits, where they have to print it: so they would notice.
The programs against a session or against other boxes are two, of which the second looks for what the first did.

What the sandbox is made of, and what is not claimed for it, is in [The sandbox](sandbox.md).
"""


def word(outcome: Outcome) -> str:
    """What the page says of one outcome."""
    if outcome.problems:
        return THROUGH
    return OPEN if outcome.attack.is_open(outcome.place) else HELD


def page(suite: Sequence[Attack], words: Mapping[str, Sequence[str]]) -> str:
    """The whole page, from the headers and what came of each program in each of `PLACES`."""
    controls = Counter(attack.control.partition(" ")[0] for attack in suite)
    if missing := {attack.kind for attack in suite} - set(KINDS):
        raise SystemExit(f"Kinds without a title: {', '.join(sorted(missing))}. Name them in KINDS.")
    parts = [
        INTRODUCTION.format(count=len(suite), plain=controls["plain"], boxed=controls["limits"]),
        _totals(suite, words),
    ]
    for kind, title in KINDS.items():
        parts.append(_section(title, [attack for attack in suite if attack.kind == kind], words))
    parts.append(_known(suite))
    return "\n".join(parts)


def _totals(suite: Sequence[Attack], words: Mapping[str, Sequence[str]]) -> str:
    rows = ["| backend | way | programs | held | open | got through |", "|---|---|---|---|---|---|"]
    for number, place in enumerate(PLACES):
        counts = Counter(words[attack.name][number] for attack in suite)
        cells = (place.backend, place.way, len(suite), counts[HELD], counts[OPEN], counts[THROUGH])
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(["## Totals", "", *rows, ""])


def _section(title: str, suite: Sequence[Attack], words: Mapping[str, Sequence[str]]) -> str:
    names = " | ".join(f"{place.backend}, {place.way}" for place in PLACES)
    rows = [f"| program | it tries | it ends as | {names} |", "|---|---|---|" + "---|" * len(PLACES)]
    for attack in suite:
        cells = (f"`{attack.name}`", _cell(attack.tries), _cell(ends_as(attack)), *words[attack.name])
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join([f"## {title}", "", *rows, ""])


def ends_as(attack: Attack) -> str:
    """The statuses that are right; those of one place only where they are others."""
    said = " or ".join(attack.said["expect", ""])
    for place in ("docker", "bubblewrap", *WAYS):
        here = " or ".join(attack.said.get(("expect", place), []))
        said += f"; {place}: {here}" if here else ""
    if len(attack.programs) > 1:
        said += ", then " + " or ".join(attack.expected(ANYWHERE, 1))
    return said


def _known(suite: Sequence[Attack]) -> str:
    rows = []
    for attack in suite:
        for (key, place), reasons in attack.said.items():
            if key == "open":
                where = f", {WHERE.get(place, place)}" if place else ""
                rows.append(f"- `{attack.name}`{where}: {reasons[0]}.")
    return "\n".join(["## Known to get through", "", *(rows or ["None."]), ""])


def _cell(text: str) -> str:
    return re.sub(r"([|\\*<])|(?<!\w)_|_(?!\w)", lambda found: f"\\{found[0]}", text)


_ROW = re.compile(r"\| `([^`]+)` \|.*\| " + r" \| ".join([r"([^|]+)"] * len(PLACES)) + r" \|")


def words_of(text: str) -> dict[str, list[str]]:
    """What a page says came of each program."""
    return {found[1]: list(found.groups()[1:]) for line in text.splitlines() if (found := _ROW.fullmatch(line))}


def check(suite: Sequence[Attack], text: str) -> list[str]:
    """What is wrong with a page, by the headers alone: nothing is run."""
    words = words_of(text)
    names = {attack.name for attack in suite}
    problems = [f"It lacks the program {name}." for name in sorted(names - set(words))]
    problems += [f"There is no program {name} any more." for name in sorted(set(words) - names)]
    problems += [f"It says that {name} got through." for name in sorted(words) if THROUGH in words[name]]
    if not problems and page(suite, words) != text:
        problems.append("Headers or script say something else than it does.")
    return problems


def run_everywhere(suite: Sequence[Attack]) -> tuple[dict[str, list[str]], bool]:
    """Run all, and tell on standard error of each problem; returns what the page says, and whether all is well."""
    words: dict[str, list[str]] = {attack.name: [] for attack in suite}
    well = True
    for place in PLACES:
        with Host() as host:
            arena = Arena(host, place.backend, place.way)
            try:
                outcomes = {name: future.result() for name, future in arena.start(suite).items()}
            finally:
                arena.close()
            if not arena.place.grouped or arena.place.ordinary:
                raise SystemExit("The page is of root and control groups. Run it as root, where they can be made.")
        for name, outcome in sorted(outcomes.items()):
            words[name].append(word(outcome))
            for problem in outcome.problems:
                well = False
                print(f"{place.backend}, {place.way}, {name}: {problem}", file=sys.stderr)
        print(f"{place.backend}, {place.way}: {len(outcomes)} programs", file=sys.stderr)
    return words, well


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description="Run the attacks and write docs/attacks.md.")
    parser.add_argument("--check", action="store_true", help="only compare the page with the headers")
    suite = list(attacks())
    if parser.parse_args().check:
        problems = check(suite, PAGE.read_text(encoding="utf-8") if PAGE.exists() else "")
        if problems:
            print("docs/attacks.md is stale: run scripts/write_attacks_page.py.", *problems, sep="\n", file=sys.stderr)
        return 1 if problems else 0
    words, well = run_everywhere(suite)
    PAGE.write_text(page(suite, words), encoding="utf-8")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
