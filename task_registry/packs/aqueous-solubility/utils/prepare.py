"""Makes the task of telling how well a substance dissolves in water: a third of the substances is to be predicted.

Standard library only, and no random generator: substances are put in order by a hash of their structure, so that every
machine and Python version writes the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FILES = ("solubility.train.sdf", "solubility.test.sdf")
RECORDS = 1282
TEST_SHARE = 1 / 3
ROUNDS = 12
"""How many bonds far an atom sees when structures are compared."""
SAMPLE = "-2.7"
"""What the sample submission says everywhere: near the mean of the training values."""


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Write the public tables and the hidden answers.

    Args:
        raw: Folder that holds the two files of structures.
        public: Folder for ``train.csv``, ``test.csv`` and ``sample_submission.csv``.
        private: Folder for ``test_answer.csv``.

    Raises:
        ValueError: The structures are not those this script was written for.
    """
    blocks = [block for name in FILES for block in _blocks((raw / name).read_text(encoding="utf-8"))]
    if len(blocks) != RECORDS:
        raise ValueError(f"{' and '.join(FILES)} hold {len(blocks)} substances, not {RECORDS}")

    substances = _substances(blocks)
    test = set(_in_order("test", substances)[: round(len(substances) * TEST_SHARE)])
    numbered = enumerate(_in_order("number", substances), start=1)
    rows = [(str(number), smiles, substances[smiles]) for number, smiles in numbered]
    test_rows = [row for row in rows if row[1] in test]

    _write(public / "train.csv", ("substance_id", "smiles", "log_s"), (row for row in rows if row[1] not in test))
    _write(public / "test.csv", ("substance_id", "smiles"), (row[:2] for row in test_rows))
    _write(public / "sample_submission.csv", ("substance_id", "log_s"), ((row[0], SAMPLE) for row in test_rows))
    _write(private / "test_answer.csv", ("substance_id", "log_s"), ((row[0], row[2]) for row in test_rows))


def _blocks(text: str) -> list[str]:
    return [block for block in text.replace("\r\n", "\n").split("$$$$\n") if block.strip()]


def _substances(blocks: Iterable[str]) -> dict[str, str]:
    """SMILES of each substance, without hands and sides, with its solubility.

    Substances of one skeleton (mirror images and the like, and those that stand in the files twice) are one; the first
    in the order of the text is taken.
    """
    found = defaultdict(list)
    for block in blocks:
        fields = dict(re.findall(r"^> +<(\w+)>.*\n(.*)\n", block, re.MULTILINE))
        # The two files spell the name of this field differently.
        smiles = fields.get("smiles") or fields["SMILES"]
        found[_skeleton(block)].append((re.sub(r"[@/\\]", "", smiles), fields["SOL"]))
    return dict(min(same) for same in found.values())


def _skeleton(block: str) -> tuple[str, ...]:
    """What atoms are joined to what, however they are numbered: each atom knows its neighbours, theirs, and so on.

    The method is Weisfeiler and Lehman's (1968). An atom begins as its element and the sum of its bonds, which does not
    depend on where the double bonds of a ring are drawn. Columns are those of the connection table, version V2000.
    """
    lines = block.split("\n")
    counts = next(index for index, line in enumerate(lines) if line.rstrip().endswith("V2000"))
    atoms, bonds = int(lines[counts][:3]), int(lines[counts][3:6])
    neighbours: list[list[int]] = [[] for _ in range(atoms)]
    bound = [0] * atoms
    for line in lines[counts + 1 + atoms : counts + 1 + atoms + bonds]:
        one, other, order = int(line[:3]) - 1, int(line[3:6]) - 1, int(line[6:9])
        for atom, neighbour in ((one, other), (other, one)):
            neighbours[atom].append(neighbour)
            bound[atom] += order
    elements = [line[31:34].strip() for line in lines[counts + 1 : counts + 1 + atoms]]
    labels = [f"{element}{order}" for element, order in zip(elements, bound, strict=True)]
    for _ in range(ROUNDS):
        labels = [
            _hash(label, *sorted(labels[n] for n in near)) for label, near in zip(labels, neighbours, strict=True)
        ]
    return tuple(sorted(labels))


def _hash(*parts: str) -> str:
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def _in_order(purpose: str, substances: Iterable[str]) -> list[str]:
    return sorted(substances, key=lambda smiles: _hash(purpose, smiles))


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
