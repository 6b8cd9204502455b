from __future__ import annotations

import copy
import multiprocessing
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.envs.observation import bounded
from openmle_env.envs.spaces import UnicodeText
from openmle_env.errors import UsageError

TEXT = UnicodeText(20)


@pytest.mark.parametrize("text", ["", "a", "naïve 🚢\r\n\t\0", "x" * 20])
def test_well_formed_text_within_the_bounds_is_a_member(text: str) -> None:
    assert text in TEXT


@pytest.mark.parametrize("value", ["x" * 21, "\ud800", "a\udcff", b"bytes", None, 3, ["a"]])
def test_anything_else_is_not(value: object) -> None:
    assert value not in TEXT


def test_min_length_is_a_bound() -> None:
    assert "" not in UnicodeText(5, min_length=1)
    assert {len(UnicodeText(3, min_length=3, seed=seed).sample()) for seed in range(5)} == {3}


@pytest.mark.parametrize(("longest", "shortest"), [(-1, 0), (3, 4), (3, -1)])
def test_impossible_bounds_are_refused(longest: int, shortest: int) -> None:
    with pytest.raises(UsageError, match="min_length"):
        UnicodeText(longest, min_length=shortest)


def test_samples_are_seeded_short_members() -> None:
    space = UnicodeText(200_000)
    space.seed(3)
    first = [space.sample() for _ in range(20)]
    space.seed(3)
    assert first == [space.sample() for _ in range(20)]
    assert all(text in space and len(text) <= 256 for text in first)
    assert len(set(first)) > 1


def test_a_mask_is_refused() -> None:
    with pytest.raises(UsageError, match="mask"):
        TEXT.sample(mask=np.ones(3))


def test_spaces_of_equal_bounds_are_equal_and_survive_copies() -> None:
    for other in (copy.deepcopy(TEXT), pickle.loads(pickle.dumps(TEXT)), UnicodeText(20, seed=4)):  # noqa: S301  ours
        assert other == TEXT
        assert hash(other) == hash(TEXT)
    assert UnicodeText(21) != TEXT
    assert UnicodeText(20, min_length=1) != TEXT
    assert spaces.Discrete(20) != TEXT


def test_batches_are_tuples() -> None:
    batched = batch_space(TEXT, 3)
    assert ("a", "b", "c") in batched
    assert tuple(batched.sample()) in batched
    items = concatenate(TEXT, ["a", "b", "c"], create_empty_array(TEXT, n=3))
    assert tuple(iterate(batched, items)) == ("a", "b", "c")


def test_flattening_leaves_text_as_it_is() -> None:
    space = spaces.Dict({"text": TEXT, "number": spaces.Discrete(3)})
    flat_space = spaces.flatten_space(space)
    member = {"text": "hello\n", "number": np.int64(2)}
    flat = spaces.flatten(space, member)
    assert flat in flat_space
    assert spaces.unflatten(space, flat) == member
    assert not TEXT.is_np_flattenable
    with pytest.raises(ValueError, match="dynamic length"):
        spaces.flatdim(TEXT)


def test_samples_survive_json() -> None:
    texts = [TEXT.sample() for _ in range(3)]
    assert TEXT.from_jsonable(TEXT.to_jsonable(texts)) == texts


@given(st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_shared_memory_gives_back_what_was_written(texts: list[str]) -> None:
    memory = create_shared_memory(TEXT, n=len(texts), ctx=multiprocessing)
    shared = read_from_shared_memory(TEXT, memory, n=len(texts))
    assert list(shared) == [""] * len(texts)
    for index, text in enumerate(texts):
        write_to_shared_memory(TEXT, index, text, memory)
    # Read once and written after that: what is seen is what is there now, and a deep copy stays.
    copied = copy.deepcopy({"text": shared})["text"]
    assert copied == tuple(texts) == tuple(shared) == shared[:]
    write_to_shared_memory(TEXT, 0, "other", memory)
    assert shared[0] == "other"
    assert copied == tuple(texts)
    assert shared[-1] == (texts[-1] if len(texts) > 1 else "other")
    with pytest.raises(IndexError):
        shared[len(texts)]


@given(st.text(st.characters(codec=None), max_size=300), st.integers(50, 200))
def test_bounded_text_is_always_a_member(text: str, limit: int) -> None:
    assert bounded(text, limit) in UnicodeText(limit)


def test_gymnasium_wrappers_accept_the_space() -> None:
    class Echo(gymnasium.Env[str, str]):
        observation_space = UnicodeText(20)
        action_space = UnicodeText(20)

        def reset(
            self, *, seed: int | None = None, options: dict[str, object] | None = None
        ) -> tuple[str, dict[str, object]]:
            super().reset(seed=seed)
            return "", {}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
            return action, 0.0, False, False, {}

    env = gymnasium.wrappers.FlattenObservation(Echo())
    env.reset()
    assert env.step("hello 🚢")[0] == "hello 🚢"
