"""Every built-in pack passes the whole gate, in real boxes: data, leaks, grading, programs and recorded scores."""

from __future__ import annotations

import shutil
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.task_registry import index, suites
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.quality.gate import check_pack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openmle_env.task_registry.quality.report import Report

BUILT_IN = index.builtin()
CLIENTS = {"pypi": "python3", "npm": "npm", "debian": "apt-get"}


@pytest.fixture(scope="module")
def home_of_all(tmp_path_factory) -> Iterator[Path]:
    """One cache for all packs, so that two that need the same file fetch it once."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("packs")
        patch.setenv("OPENMLE_HOME", str(home))
        yield home
        shutil.rmtree(home)


@pytest.fixture(scope="module")
def reports(request, home_of_all, usable) -> Iterator[dict[str, Future[Report]]]:
    """The reports of all packs that this session asks for; two are checked at a time."""
    usable("bubblewrap")
    asked = [getattr(item, "callspec", None) for item in request.session.items]
    slugs = [call.params["slug"] for call in asked if call and call.params.get("slug") in BUILT_IN]
    sandbox = BubblewrapSandbox(warm="forked")
    with ThreadPoolExecutor(2) as pool:
        try:
            yield {
                slug: pool.submit(lambda slug=slug: check_pack(open_pack(index.PACKS / slug), sandbox=sandbox).report)
                for slug in slugs
            }
        finally:
            pool.shutdown(cancel_futures=True)
    sandbox.close()


@pytest.mark.bubblewrap
@pytest.mark.parametrize("slug", BUILT_IN)
def test_a_built_in_pack_is_sound(slug, reports, unavailable):
    for download in open_pack(index.PACKS / slug).config.downloads:
        if shutil.which(CLIENTS[download.registry]) is None:
            unavailable(f"{slug} is fetched by {CLIENTS[download.registry]}, which is not here.")
    report = reports[slug].result()
    failed = [finding for finding in report.findings if finding.outcome == "failed" and finding.severity != "low"]
    assert [f"{finding.check}: {finding.message}" for finding in failed] == []
    passed = {finding.check for finding in report.findings if finding.outcome == "passed"}
    assert {"gold_tops", "oracle_tops", "broken_program", "references_score", "references_beat_sample"} <= passed


def test_they_are_many_and_of_many_kinds():
    configs = [open_pack(index.PACKS / slug).config for slug in BUILT_IN]
    assert len(configs) >= 25
    modalities = Counter(part for config in configs for part in config.modality.split("+"))
    assert {"tabular", "text", "image", "audio", "video", "time series"} <= modalities.keys()
    types = " ".join(config.task_type for config in configs)
    for family in (
        "binary classification",
        "multiclass classification",
        "multilabel classification",
        "regression",
        "forecasting",
        "segmentation",
        "object detection",
        "clustering",
        "survival",
        "generation",
        "sequence generation",
    ):
        assert family in types
    assert all(config.tier in {1, 2} and config.data.licence and config.broken for config in configs)
    assert all(len(config.references) >= 2 for config in configs)


def test_what_is_carried_is_small():
    sizes = [
        path.stat().st_size for path in index.PACKS.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert sum(sizes) < 12_000_000


def test_the_suites_are_of_built_in_packs():
    assert len(suites.members("smoke")) == 5
    for name in ("smoke", "core"):
        assert set(suites.members(name)) <= BUILT_IN.keys()
    assert set(suites.members("all")) >= BUILT_IN.keys()
    smoke = [BUILT_IN[slug] for slug in suites.members("smoke")]
    assert not any(entry.fetched or entry.gpus for entry in smoke)
    assert len({entry.modality for entry in smoke}) >= 4
