from __future__ import annotations

import json
from typing import TYPE_CHECKING

import gymnasium
import pytest
from gymnasium.envs import registration as gymnasium_registration

from openmle_env.envs import registration
from openmle_env.errors import UsageError
from openmle_env.task_registry import index
from openmle_env.task_registry.index import IndexEntry

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, gymnasium_registration.EnvSpec]:
    copied = dict(gymnasium_registration.registry)
    monkeypatch.setattr(gymnasium_registration, "registry", copied)
    return copied


def entry(slug: str, digest: str = "0" * 64) -> IndexEntry:
    return IndexEntry(
        slug=slug,
        version="1",
        hash=digest,
        score_hash=digest,
        folder=slug,
        title="T",
        modality="tabular",
        task_type="regression",
        metric="rmse",
        higher_is_better=False,
        licence="CC0-1.0",
        size=1,
        fetched=False,
        origin="",
        gpus=0,
        tier=2,
    )


@pytest.fixture
def packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the setting names, with an index of two tasks, one of them with the name of a built-in one."""
    (tmp_path / "index.json").write_text(index.text_of([entry("bikes"), entry("titanic")]))
    monkeypatch.setenv("OPENMLE_PACKS", str(tmp_path))
    return tmp_path


def test_thousands_of_ids_are_inserted_without_a_search_for_each(
    registry: dict[str, gymnasium_registration.EnvSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("gymnasium.register looks at all known ids for each new one")

    monkeypatch.setattr(gymnasium_registration, "register", refuse)
    monkeypatch.setattr(gymnasium_registration, "_check_spec_register", refuse)
    before = len(registry)
    registration.register(entry(f"task-{number}") for number in range(6000))
    assert len(registry) == before + 6000
    spec = registry["OpenMLE/task-5999-v0"]
    assert spec.kwargs == {"task": "task-5999", "pack_version": "1", "pack_hash": "0" * 64}
    assert gymnasium_registration.EnvSpec.from_json(spec.to_json()) == spec


def test_every_builtin_task_is_registered() -> None:
    for slug, known in index.builtin().items():
        spec = gymnasium.spec(index.environment_id(slug))
        kwargs = json.loads(spec.to_json())["kwargs"]
        assert kwargs == {"task": slug, "pack_version": known.version, "pack_hash": known.hash}
        assert spec.nondeterministic


def test_registering_again_changes_nothing(registry: dict[str, gymnasium_registration.EnvSpec]) -> None:
    registration.register([entry("one")])
    before = dict(registry)
    registration.register([entry("one"), entry("one")])
    registration.register_tasks()
    assert registry == before


def test_a_clash_is_refused_and_nothing_is_registered(registry: dict[str, gymnasium_registration.EnvSpec]) -> None:
    registration.register([entry("one")])
    before = dict(registry)
    with pytest.raises(UsageError, match=r"'OpenMLE/one-v0' is taken"):
        registration.register([entry("two"), entry("one", "1" * 64)])
    with pytest.raises(UsageError, match="taken"):
        registration.register([entry("two"), entry("two", "1" * 64)])
    assert registry == before


def test_a_slug_that_gymnasium_cannot_parse_is_refused(registry: dict[str, gymnasium_registration.EnvSpec]) -> None:
    with pytest.raises(UsageError, match="'my task'"):
        registration.register([entry("my task")])


def test_tasks_of_a_folder_with_an_index_are_registered(
    registry: dict[str, gymnasium_registration.EnvSpec], packs: Path
) -> None:
    registration.register_tasks()
    assert registry["OpenMLE/bikes-v0"].kwargs["task"] == "bikes"
    # The built-in one of that name stays; making it says that there are two.
    assert registry["OpenMLE/titanic-v0"].kwargs["pack_hash"] == index.builtin()["titanic"].hash


def test_a_folder_that_is_wrong_is_a_warning_and_the_rest_is_registered(
    registry: dict[str, gymnasium_registration.EnvSpec], packs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = packs / "broken"
    broken.mkdir()
    (broken / "index.json").write_text("{")
    monkeypatch.setenv("OPENMLE_PACKS", f"{broken}:{packs / 'gone'}:{packs}")
    with pytest.warns(UserWarning, match="are not registered with Gymnasium") as caught:
        registration.register_tasks()
    assert ["broken" in str(one.message) for one in caught] == [True, False]
    assert "gone" in str(caught[1].message)
    assert "OpenMLE/bikes-v0" in registry
    monkeypatch.setenv("OPENMLE_PACKS", "~no-such-user/packs")
    with pytest.warns(UserWarning, match="Only built-in tasks"):
        registration.register_tasks()


def test_a_folder_without_an_index_is_not_searched(
    registry: dict[str, gymnasium_registration.EnvSpec], packs: Path
) -> None:
    (packs / "index.json").unlink()
    (packs / "bikes").mkdir()
    (packs / "bikes" / "pack.yaml").write_text("no: pack")
    before = dict(registry)
    registration.register_tasks()
    assert registry == before
