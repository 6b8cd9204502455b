"""Times the registry with thousands of tasks: what importing and registering them costs, looking one up, listing.

    .venv/bin/python scripts/bench_registry.py [--tasks N] [--packages N] [--rounds N]    default: 6,000, 300, 9

It makes an index of N tasks in a folder of its own, named by OPENMLE_PACKS, and N installed packages without packs of
ours. Each figure is the best of the rounds, each round a fresh process. "Registered" is what `import openmle_env` costs
after Gymnasium, with the tasks, less what it costs without them; beside it stands the loop of `gymnasium.register` over
the same ids, in the same process. Only ratios of one run say anything: machines are noisy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from openmle_env.task_registry import index

REGISTER = """
import sys, time
sys.path.append({packages!r})
import gymnasium
from gymnasium.envs import registration
before = len(registration.registry)
start = time.perf_counter()
import openmle_env
answer = {{"ours": time.perf_counter() - start, "ids": len(registration.registry) - before}}
if {loop!r}:
    names = [name for name in registration.registry if name.startswith("OpenMLE/")]
    specs = [registration.registry.pop(name) for name in names]
    start = time.perf_counter()
    for name, spec in zip(names, specs):
        gymnasium.register(name, spec.entry_point, kwargs=spec.kwargs, vector_entry_point=spec.vector_entry_point)
    answer["loop"] = time.perf_counter() - start
"""
LOOKUP = """
import sys, time
sys.path.append({packages!r})
from openmle_env.errors import UnknownNameError
from openmle_env.task_registry.lookup import find
from openmle_env.task_registry import catalogue, filters
answer = {{}}
def timed(name, call):
    start = time.perf_counter()
    call()
    answer[name] = time.perf_counter() - start
def misspelt():
    try:
        find("some-competitoin-42")
    except UnknownNameError as error:
        assert "some-competition-42" in str(error)
timed("find, first", lambda: find("titanic"))
timed("find, then", lambda: find("titanic"))
timed("did you mean, first", misspelt)
timed("did you mean, then", misspelt)
timed("all tasks", catalogue.known)
timed("select", lambda: filters.select(modality="image", task_type="classification", max_size="1GB"))
from importlib import metadata
timed("importlib.metadata.entry_points", lambda: metadata.entry_points(group="openmle_env.packs"))
from openmle_env.task_registry import places
places._packages.cache_clear()
timed("our look at entry points", places.packages)
"""


def fresh(program: str, packs: Path | None) -> dict[str, float]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENMLE_")}
    if packs:
        environment["OPENMLE_PACKS"] = str(packs)
    code = f"{program}\nimport json\nprint(json.dumps(answer))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def make_index(folder: Path, tasks: int) -> None:
    folder.mkdir()
    kinds = ("tabular", "image", "text", "time series", "image+text", "audio")
    entries = [
        index.IndexEntry(
            slug=f"some-competition-{number}",
            version="1.0.0",
            hash=hashlib.sha256(f"{number}".encode()).hexdigest(),
            score_hash=hashlib.sha256(f"score {number}".encode()).hexdigest(),
            folder=f"some-competition-{number}",
            title=f"A competition of some host, the {number}th of many",
            modality=kinds[number % len(kinds)],
            task_type=("binary classification", "regression")[number % 2],
            metric="pack",
            higher_is_better=None,
            licence="CC-BY-4.0",
            size=number * 1_000_000,
            fetched=bool(number % 3),
            origin="",
            gpus=0,
            tier=2,
        )
        for number in range(tasks)
    ]
    (folder / index.INDEX.name).write_text(index.text_of(entries), encoding="utf-8")


def make_packages(folder: Path, packages: int) -> None:
    for number in range(packages):
        info = folder / f"package_{number}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: package-{number}\nVersion: 1.0\n")
        if number % 3 == 0:
            (info / "entry_points.txt").write_text(f"[console_scripts]\nprogram-{number} = package_{number}:main\n")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=6000, metavar="N")
    parser.add_argument("--packages", type=int, default=300, metavar="N")
    parser.add_argument("--rounds", type=int, default=9, metavar="N")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as made:
        packs, packages = Path(made, "packs"), Path(made, "site")
        make_index(packs, wanted.tasks)
        make_packages(packages, wanted.packages)
        names = {"packages": str(packages)}
        bare = min(fresh(REGISTER.format(**names, loop=False), None)["ours"] for _ in range(wanted.rounds))
        rounds = [fresh(REGISTER.format(**names, loop=False), packs) for _ in range(wanted.rounds)]
        loop = fresh(REGISTER.format(**names, loop=True), packs)["loop"]
        looked = [fresh(LOOKUP.format(**names), packs) for _ in range(wanted.rounds)]
    ours = min(one["ours"] for one in rounds)
    results = {
        "ids registered": rounds[0]["ids"],
        "import openmle_env, built-in tasks only": bare,
        "import openmle_env, all tasks": ours,
        "registered": ours - bare,
        "loop of gymnasium.register": loop,
        "ratio": (ours - bare) / loop,
        **{name: min(one[name] for one in looked) for name in looked[0]},
    }
    if wanted.json:
        print(json.dumps(results, indent=2))
        return 0
    for name, value in results.items():
        plain = name in {"ids registered", "ratio"}
        print(f"{name:42} {value:10.4g}" if plain else f"{name:42} {value * 1000:10.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
