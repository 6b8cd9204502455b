"""Splits of tasks: nothing moves when tasks are added, and each modality has its share."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import UsageError
from openmle_env.task_registry import index, splits

BASE = index.builtin()["titanic"]
MODALITIES = ("tabular", "image", "image+text", "text+image", "audio")
tasks = st.dictionaries(st.integers(0, 500).map("task-{}".format), st.sampled_from(MODALITIES), max_size=60).map(
    lambda found: [BASE._replace(slug=slug, modality=modality) for slug, modality in found.items()]
)
fractions = st.floats(0.01, 0.99)


def stratum(task):
    return "image+text" if task.modality == "text+image" else task.modality


@given(tasks, tasks, fractions, st.text(max_size=5))
def test_by_hash_no_task_ever_changes_sides(some, more, fraction, salt):
    before = splits.by_hash(some, fraction=fraction, salt=salt)
    known = {task.slug for task in some}
    everything = [*(task for task in more if task.slug not in known), *reversed(some)]
    after = splits.by_hash(everything, fraction=fraction, salt=salt)
    assert all(after.side(task.slug) == before.side(task.slug) for task in some)
    assert all(after.side(task.slug) == splits.side(task.slug, fraction=fraction, salt=salt) for task in everything)
    assert sorted([*after.training, *after.evaluation]) == sorted(task.slug for task in everything)


@given(tasks, fractions, st.text(max_size=5))
def test_each_stratum_has_its_share(some, fraction, salt):
    split = splits.stratified(some, fraction=fraction, salt=salt)
    assert split == splits.stratified(some[::-1], fraction=fraction, salt=salt)
    assert sorted([*split.training, *split.evaluation]) == sorted(task.slug for task in some)
    chosen = Counter(stratum(task) for task in some if task.slug in split.evaluation)
    for name, count in Counter(map(stratum, some)).items():
        if count > 1:
            assert abs(chosen[name] - fraction * count) <= 0.5 or chosen[name] in {1, count - 1}
            assert 1 <= chosen[name] <= count - 1


@given(tasks, tasks, fractions)
def test_an_earlier_split_is_kept_and_new_tasks_fill_what_lacks(some, more, fraction):
    earlier = splits.stratified(some, fraction=fraction)
    known = {task.slug for task in some}
    everything = [*some, *(task for task in more if task.slug not in known)]
    later = splits.stratified(everything, fraction=fraction, earlier=earlier)
    assert all(later.side(task.slug) == earlier.side(task.slug) for task in some)
    for name, count in Counter(map(stratum, everything)).items():
        mine = [task.slug for task in everything if stratum(task) == name]
        kept = sum(earlier.side(slug) == "evaluation" for slug in mine)
        new = sum(slug not in known for slug in mine)
        wanted = max(kept, splits._quota(count, fraction))
        assert sum(later.side(slug) == "evaluation" for slug in mine) == min(wanted, kept + new)


def test_positions_are_what_the_documents_say():
    assert splits.position("titanic", "openmle") == 0.3952121499780935
    split = splits.by_hash([BASE], fraction=0.4)
    assert (split.side("titanic"), split.side("other")) == ("evaluation", None)
    assert splits.side("titanic", fraction=0.39) == "training"


def test_a_split_is_written_and_read(tmp_path):
    split = splits.stratified([BASE._replace(slug=f"t{number}") for number in range(9)])
    splits.write(tmp_path / "split.json", split)
    assert splits.read(tmp_path / "split.json") == split
    letters = '{"training": "abc", "evaluation": [], "fraction": 0.2, "salt": ""}'
    for text in ("{", "[]", letters, '{"training": ["a"], "evaluation": ["a"], "fraction": 0.2, "salt": ""}'):
        (tmp_path / "split.json").write_text(text)
        with pytest.raises(UsageError, match=r"split\.json"):
            splits.read(tmp_path / "split.json")


@pytest.mark.parametrize("fraction", [0, 1, -0.1, float("nan")])
def test_what_is_no_share_is_refused(fraction):
    with pytest.raises(UsageError, match="between 0 and 1"):
        splits.by_hash([BASE], fraction=fraction)
    with pytest.raises(UsageError, match="stands twice"):
        splits.stratified([BASE, BASE])


@given(st.integers(1, 8), fractions, st.text(max_size=5), st.booleans())
def test_tasks_of_one_origin_stay_together(count, fraction, salt, grows):
    family = [BASE._replace(slug=f"film-{n}", origin="films", modality=MODALITIES[n % 2]) for n in range(count)]
    others = [BASE._replace(slug=f"task-{n}") for n in range(7)]
    for split in (splits.by_hash, splits.stratified):
        made = split([*others, *family], fraction=fraction, salt=salt)
        assert len({made.side(task.slug) for task in family}) == 1
    earlier = splits.stratified([*others, family[0]], fraction=fraction, salt=salt)
    later = splits.stratified([*others, *family], fraction=fraction, salt=salt, earlier=earlier if grows else None)
    assert len({later.side(task.slug) for task in family}) == 1


def test_built_in_tasks_of_the_same_data_say_so():
    split = splits.stratified(index.builtin().values(), fraction=0.4)
    for one, other in (("movie-genres", "movie-critic-score"), ("nuclei-segmentation", "nuclei-detection")):
        assert split.side(one) == split.side(other)
