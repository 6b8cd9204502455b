"""Kaggle's own client against a stand-in of the API; what its answers come to; keys and where they are looked for."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.errors import DiskFullError, PackError, UsageError
from openmle_env.policies.scripted import ScriptedPolicy
from openmle_env.task_registry.builder import board, fetch, pipeline, sources
from openmle_env.task_registry.builder.kaggle import access, client, credentials
from openmle_env.task_registry.builder.kaggle.client import (
    KaggleClient,
    KaggleError,
    KaggleRefusedError,
    NotOnKaggleError,
    UnobtainableError,
)
from openmle_env.task_registry.builder.pipeline import Options

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = credentials.Credentials(kind="token", found_in="a test", secrets={"KAGGLE_API_TOKEN": "secret-token"})
SPRING = sources.parse("spring")


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[KaggleClient, list[Any], list[float]]]:
    """A client whose process answers as it is told; with what it was asked and how long it waited."""

    def make(*answers: Any) -> tuple[KaggleClient, list[Any], list[float]]:
        asked: list[Any] = []
        waits: list[float] = []
        left = list(answers)

        def call(_self: KaggleClient, request: dict[str, Any], _seconds: float) -> Any:
            asked.append(request)
            answer = left.pop(0) if len(left) > 1 else left[0]
            return answer(request) if callable(answer) else answer

        monkeypatch.setattr(KaggleClient, "_call", call)
        return KaggleClient(keys=KEYS, version="2.2.5", environment={}, wait=waits.append), asked, waits

    return make


def fault(status: int | None, message: str = "no", retry_after: str | None = None) -> dict[str, Any]:
    return {"error": {"status": status, "message": message, "retry_after": retry_after}}


def test_the_real_client_downloads_resumes_and_is_refused(tmp_path: Path, unavailable: Callable[[str], None]) -> None:
    """KAG-01, KAG-07, KAG-08: the installed client, its statuses, and a connection that is cut after a chunk."""
    if importlib.util.find_spec("kaggle") is None:
        unavailable("Kaggle's client is not installed")
    from tests.task_registry.builder.kaggle_standin import TOKEN, Kaggle

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("train.csv", os.urandom(3 << 20))
    before = dict(os.environ)
    with Kaggle(competitions={"spring": packed.getvalue()}, refused={"autumn"}) as kaggle:
        kaggle.cut_at = 2 << 20
        asking = client.connect({**kaggle.environment(str(tmp_path)), "KAGGLE_API_TOKEN": TOKEN})
        asking.download(SPRING, tmp_path / "spring", None, print)
        assert (tmp_path / "spring" / "spring.zip").read_bytes() == packed.getvalue()
        ranges = [call for call in kaggle.calls if call.startswith("GET")]
        assert ranges[0] == "GET spring from 0"
        assert int(ranges[1].rpartition(" ")[2]) >= 1 << 20
        with pytest.raises(UnobtainableError, match=r"https://www\.kaggle\.com/competitions/autumn/rules"):
            asking.download(sources.parse("autumn"), tmp_path / "autumn", None, print)
    assert dict(os.environ) == before  # KAG-05: and nothing of the client in our process
    assert "kaggle" not in sys.modules


def test_statuses_say_what_to_do_and_only_some_are_repeated(answering: Any) -> None:
    for status, kind in (
        (401, KaggleRefusedError),
        (403, UnobtainableError),
        (404, NotOnKaggleError),
        (400, KaggleError),
    ):
        asking, asked, waits = answering(fault(status, "it said secret-token"))
        with pytest.raises(kind) as caught:
            asking.listing(SPRING)
        assert (len(asked), waits) == (1, [])
        assert "secret-token" not in str(caught.value)
    asking, asked, waits = answering(
        fault(429, retry_after="7"),
        fault(503),
        fault(None, "no route"),
        {"result": {"files": [["a", 3]], "whole": True}},
    )
    assert asking.listing(SPRING).size == 3
    assert waits == [7.0, *client.WAITS[1:3]]
    asking, asked, waits = answering(fault(429, retry_after="99999"))
    with pytest.raises(KaggleError, match="6 tries in all"):
        asking.listing(SPRING)
    assert (len(asked), set(waits)) == (client.TRIES, {client.LONGEST_WAIT})
    asking, asked, waits = answering(fault(None, "no route"))
    with pytest.raises(KaggleError, match="3 tries in all"):
        asking.listing(SPRING)
    asking, asked, waits = answering({"error": {"broken": True, "message": "No module named 'six'"}})
    with pytest.raises(UsageError, match="does not start"):
        asking.listing(SPRING)


def test_access_is_checked_for_all_before_anything_is_fetched(answering: Any) -> None:
    """KAG-01: every competition whose rules are still to be accepted is listed."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if request["action"] == "competition":
            return {"result": {"entered": request["name"] != "summer"}}
        statuses = {"autumn": 403, "winter": 404}
        if request["name"] in statuses:
            return fault(statuses[request["name"]])
        return {"result": {"files": [["a", 3]], "whole": True}}

    asking, asked, _ = answering(answer)
    named = sources.parse_all(["spring", "summer", "autumn", "winter", "me/iris"])
    found = {one.source.name: one.verdict for one in access.check_access(asking, named)}
    assert found == {
        "spring": "ready",
        "summer": "rules to accept",
        "autumn": "rules to accept",
        "winter": "not found",
        "me/iris": "ready",
    }
    assert not any(request["action"] == "download" for request in asked)


def test_a_closed_competition_is_unobtainable_and_the_others_go_on(answering: Any, tmp_path: Path, box: Any) -> None:
    """KAG-02, KAG-11, KAG-15: no half-made folder, a degenerate board means no medals, names in any script."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        folder = Path(request.get("folder", "/"))
        if request["name"] == "autumn" and request["action"] == "download":
            return fault(403)
        if request["action"] == "download":
            with zipfile.ZipFile(folder / "spring.zip", "w") as archive:
                archive.writestr("data/train.csv", "a,b\n1,2\n")
        if request["action"] == "leaderboard":
            rows = "Rank,TeamName,Score\n1,\u9752\u86d9,0.0\n2,\N{GRINNING FACE},0.0\n"
            (folder / "board.csv").write_text(rows, encoding="utf-8")
        if request["action"] == "competition":
            return {"result": {"title": "Spring", "licence": "CC0: Public Domain", "metric": "AUC"}}
        return {"result": {"files": [["train.csv", 8]], "whole": True}}

    asking, _, _ = answering(answer)
    options = Options(to=tmp_path, policy=ScriptedPolicy([]), kaggle=asking)
    autumn, spring = pipeline.build(sources.parse_all(["autumn", "spring"]), options, sandbox=box)
    assert autumn.status == "unobtainable"
    assert not (tmp_path / "autumn").exists()
    assert (spring.done("extract"), spring.done("perceive")) == (True, False)
    assert "all 2 teams of the leaderboard have the same score" in spring.notes[0]
    work = tmp_path / ".build" / "spring"
    assert [path.name for path in (work / "raw").rglob("*.csv")] == ["train.csv"]
    assert "CC0" in (work / "notes" / "info.json").read_text(encoding="utf-8")


def test_disk_is_checked_first_and_sizes_afterwards(answering: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """KAG-08, KAG-10: nothing is fetched where it cannot fit; a file that is too short is fetched again; by choice."""
    from openmle_env.task_registry.builder.workspace import Workspace

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if request["action"] == "files":
            return {"result": {"files": [["a.csv", 4], ["b.bin", 1 << 50]], "whole": True}}
        if request["action"] == "download":
            for name in request["files"]:
                (Path(request["folder"]) / name).write_text("1234"[: length[0]])
        return {"result": None}

    length = [3]
    asking, asked, _ = answering(answer)
    work = Workspace(tmp_path, "me-iris")
    work.make()
    source = sources.parse("me/iris")
    with pytest.raises(DiskFullError):
        fetch.download(source, work, asking, (), print)
    assert not any(request["action"] == "download" for request in asked)
    with pytest.raises(KaggleError, match="has 3 bytes, and Kaggle lists 4"):
        fetch.download(source, work, asking, ("*.csv",), print)
    assert not work.download.exists()
    length[0] = 4
    fetch.download(source, work, asking, ("*.csv",), print)
    assert [path.name for path in work.download.iterdir()] == ["a.csv"]
    with pytest.raises(UsageError, match="no file that matches"):
        fetch.download(source, work, asking, ("*.parquet",), print)


@pytest.mark.parametrize(
    ("files", "variables", "kind", "found_in"),
    [
        ({}, {"KAGGLE_API_TOKEN": "t1"}, "token", "KAGGLE_API_TOKEN"),
        ({".kaggle/access_token": "t1\n"}, {"KAGGLE_USERNAME": "u", "KAGGLE_KEY": "k"}, "token", "access_token"),
        ({".kaggle/access_token.txt": "t1\r\n"}, {}, "token", "access_token.txt"),
        ({".kaggle/kaggle.json": '{"username": "x", "key": "y"}'}, {"KAGGLE_USERNAME": "u", "KAGGLE_KEY": "k"}, "key",
         "KAGGLE_USERNAME and KAGGLE_KEY"),
        ({".kaggle/kaggle.json": '\ufeff{"username": "u", "key": "k"}'}, {}, "key", "kaggle.json"),
        ({".config/kaggle/kaggle.json": '{"username": "u", "key": "k"}'}, {}, "key", "kaggle.json"),
        ({".kaggle/kaggle.json": '{"username": "u", "key": "KGAT_t1"}'}, {}, "token", "kaggle.json"),
        ({".kaggle/credentials.json": "{}"}, {}, "login", "credentials.json"),
    ],
)  # fmt: skip
def test_every_form_of_keys_is_found(
    tmp_path: Path, files: dict[str, str], variables: dict[str, str], kind: str, found_in: str
) -> None:
    """KAG-04: all documented forms, in the documented order, without a trace of them in a repr."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    keys = credentials.find({"HOME": str(tmp_path), **variables})
    assert (keys.kind, keys.found_in.endswith(found_in)) == (kind, True)
    expected: dict[str, dict[str, str]] = {
        "token": {"KAGGLE_API_TOKEN": "t1"},
        "key": {"KAGGLE_USERNAME": "u", "KAGGLE_KEY": "k"},
        "login": {},
    }
    assert {name: value.removeprefix("KGAT_") for name, value in keys.secrets.items()} == expected[kind]
    assert "t1" not in repr(replace(keys, found_in=""))


def test_missing_keys_and_old_clients_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KAG-06: a token that the installed client does not know is told up front."""
    environment = {"HOME": str(tmp_path)}
    with pytest.raises(UsageError, match="no keys were found"):
        credentials.find(environment)
    with pytest.raises(UsageError, match="KAGGLE_USERNAME is set and KAGGLE_KEY is not"):
        credentials.find({**environment, "KAGGLE_USERNAME": "u"})
    (tmp_path / ".kaggle").mkdir()
    (tmp_path / ".kaggle" / "kaggle.json").write_text("[]")
    with pytest.raises(UsageError, match="should hold a 'username' and a 'key'"):
        credentials.find(environment)
    credentials.check_version(KEYS, "1.8.0")
    with pytest.raises(UsageError, match=r"need Kaggle's client from version 1\.8\.0 on, and version 1\.7\.4\.5"):
        credentials.check_version(KEYS, "1.7.4.5")

    def absent(name: str) -> str:
        raise client.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(client.importlib.metadata, "version", absent)
    with pytest.raises(UsageError, match=r"openmle-env\[kaggle\]"):
        client.connect(environment)


@pytest.mark.parametrize(
    ("given", "kind", "slug"),
    [
        ("titanic", "competition", "titanic"),
        ("c/titanic/", "competition", "titanic"),
        ("https://www.kaggle.com/competitions/AI4Code/overview?x=1", "competition", "ai4code"),
        ("kaggle.com/c/titanic", "competition", "titanic"),
        ("uciml/iris", "dataset", "uciml-iris"),
        ("https://www.kaggle.com/datasets/uciml/iris/data", "dataset", "uciml-iris"),
    ],
)
def test_names_and_addresses_are_told_apart(given: str, kind: str, slug: str) -> None:
    """KAG-03."""
    source = sources.parse(given)
    assert (source.kind, source.slug) == (kind, slug)


@pytest.mark.parametrize(
    "given", ["https://example.org/c/titanic", "https://www.kaggle.com/someone", "a/b/c", "a b", "./no"]
)
def test_what_is_no_source_is_refused(given: str) -> None:
    with pytest.raises(UsageError):
        sources.parse(given)


def test_two_sources_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="would both become the pack 'a-b'"):
        sources.parse_all(["a-b", "a/b"])
    assert len(sources.parse_all(["titanic", "c/titanic"])) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Rank,Score\n1,0.0\n2,0.0\n3,0.0\n", "have the same score"),
        ("Rank,Score\n", "no column of scores"),
        ("Rank,Score\n1,0.5\n2,\n", "has 1 scores"),
        ("Rank,Score\n1,0.5\n2,0.7\n3,0.6\n", "contradict"),
        ("Rank,Team\n1,x\n", "no column of scores"),
    ],
)
def test_a_board_that_says_nothing_is_refused(text: str, why: str) -> None:
    """KAG-11."""
    with pytest.raises(PackError, match=why):
        board.scores(text.encode())


def test_a_board_is_read_by_the_names_of_its_fields() -> None:
    """KAG-07, KAG-15."""
    text = "\ufeffTeamId,Private_Score,RANK,teamName\n9,0.5,2,\u738b\n8,0.75,1,\N{FIRE}\n7,,3,x\n"
    assert board.scores(text.encode()) == [0.75, 0.5]
