"""Leaks of numeric targets: parts of a total, lists and arrays of values, ids in their order; and tables too large."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml

from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.quality import checks, gate, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openmle_env.task_registry.quality.report import Report

    Changes = Callable[[Path, "list[dict[str, str]]", "list[dict[str, str]]"], None]


def unit(what: str) -> float:
    """A number in [0, 1) that looks random, and is the same everywhere."""
    return int.from_bytes(hashlib.sha256(what.encode()).digest()[:6], "big") / 2**48


def rows(start: int, count: int) -> list[dict[str, str]]:
    """Two parts, a colour, and a total that they say something of."""
    made = []
    for number in range(start, start + count):
        one, other = 30 * unit(f"one {number}"), 50 * unit(f"other {number}")
        noise = 12 * unit(f"noise {number}")
        made.append({
            "key": str(100_000 + int(unit(f"key {number}") * 1e8)),
            "one": f"{one:.4f}",
            "other": f"{other:.4f}",
            "colour": "red" if unit(f"colour {number}") < 0.5 else "blue",
            "total": f"{one + other + noise:.4f}",
        })  # fmt: skip
    return made


CONFIG = {
    "slug": "totals",
    "version": "1.0.0",
    "metric": {"name": "rmse"},
    "submission": {"id": {"name": "key", "kind": "integer"}, "targets": [{"name": "total", "kind": "number"}]},
    "data": {"licence": "CC0-1.0", "source": "made up"},
    "accepted": [{"check": "contents_pinned", "reason": "The tests make it anew each time."}],
}


@pytest.fixture
def report_of(tmp_path: Path, home: Path) -> Callable[[Changes | None], Report]:
    def run(change: Changes | None) -> Report:
        root = tmp_path / "totals"
        public = root / "data" / "public"
        public.mkdir(parents=True)
        (root / "data" / "private").mkdir()
        train, test = rows(0, 150), rows(150, 100)
        if change is not None:
            change(public, train, test)
        (root / "pack.yaml").write_text(yaml.safe_dump(CONFIG))
        (public / "description.md").write_text("Predict total from train.csv for test.csv; the metric is RMSE.")
        write(public / "train.csv", train)
        write(public / "test.csv", test, "total")
        write(public / "sample_submission.csv", [{"key": row["key"], "total": "45"} for row in test])
        write(root / "data" / "private" / "test_answer.csv", [{"key": r["key"], "total": r["total"]} for r in test])
        chosen = checks.named([group for group in checks.GROUPS if group != "programs"])
        return gate.check_pack(open_pack(root), checks=chosen).report

    return run


def write(path: Path, table: list[dict[str, str]], *left_out: str) -> None:
    names = [name for name in table[0] if name not in left_out]
    path.write_text("\n".join([",".join(names), *(",".join(row[name] for name in names) for row in table)]) + "\n")


def parts_of_a_total(_public: Path, train: list[dict[str, str]], test: list[dict[str, str]]) -> None:
    for row in [*train, *test]:
        row["total"] = f"{float(row['one']) + float(row['other']):.4f}"


def list_of_values(public: Path, _train: list[dict[str, str]], test: list[dict[str, str]]) -> None:
    values = sorted(float(row["total"]) for row in test)
    (public / "notes.json").write_text(json.dumps({"limits": values}))


def array_of_values(public: Path, _train: list[dict[str, str]], test: list[dict[str, str]]) -> None:
    np.save(public / "side.npy", np.array([float(row["total"]) for row in test], dtype=np.float32))


def ids_by_value(_public: Path, _train: list[dict[str, str]], test: list[dict[str, str]]) -> None:
    for place, row in enumerate(sorted(test, key=lambda row: float(row["total"]))):
        row["key"] = str(900_000_000 + place)


def column_made_of_the_target(_public: Path, train: list[dict[str, str]], test: list[dict[str, str]]) -> None:
    for row in [*train, *test]:
        row["level"] = f"{float(row['total']) ** 2:.1f}"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (None, set()),
        (parts_of_a_total, {"linear_rule"}),
        (list_of_values, {"answer_values"}),
        (array_of_values, {"answer_values"}),
        (ids_by_value, {"row_order", "lazy_attackers"}),
        (column_made_of_the_target, {"one_feature"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_leak_is_caught_and_nothing_else(
    change: Changes | None, expected: set[str], report_of: Callable[[Changes | None], Report]
) -> None:
    report = report_of(change)
    assert {finding.check for finding in report.findings if finding.outcome == "failed"} == expected
    assert report.failed_hard == bool(expected)


def test_large_table_is_sampled_by_its_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MAX_ROWS", 100)
    monkeypatch.setattr(scan, "MIN_ROWS", 10)
    whole = [{"id": f"i{number}", "x": str(number)} for number in range(5_000)]
    write(tmp_path / "one.csv", whole)
    write(tmp_path / "other.csv", whole[::-1], "x")
    one, other = (scan.scan(tmp_path / name, name, key="id") for name in ("one.csv", "other.csv"))
    assert one.rows == other.rows == 5_000
    assert 20 < len(one.positions) <= 100
    assert set(one.cells["id"]) == set(other.cells["id"])
    assert [one.cells["x"][row] for row in range(5)] == [str(place) for place in one.positions[:5]]


def test_table_beyond_what_is_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MAX_BYTES", 1 << 20)
    (tmp_path / "big.csv").write_text("id,x\n" + "".join(f"{number},{number * 7919}\n" for number in range(200_000)))
    found = scan.scan(tmp_path / "big.csv", "big.csv")
    assert not found.complete
    assert found.problem is None
    assert "of its first 1 MiB" in found.sample_words
