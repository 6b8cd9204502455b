from __future__ import annotations

import json

import gymnasium
import pytest
from gymnasium.envs import registration as gymnasium_registration

from openmle_env.envs import registration
from openmle_env.errors import UsageError
from openmle_env.task_registry import index
from openmle_env.task_registry.index import IndexEntry


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, gymnasium_registration.EnvSpec]:
    copied = dict(gymnasium_registration.registry)
    monkeypatch.setattr(gymnasium_registration, "registry", copied)
    return copied


def entry(slug: str, digest: str = "0" * 64) -> IndexEntry:
    return IndexEntry(slug=slug, version="1", hash=digest, title="T", modality="tabular", task_type="regression")


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
    registration.register_builtin()
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
