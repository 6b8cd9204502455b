from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from openmle_env.graders.metrics import run_length
from openmle_env.graders.metrics.run_length import Order, RunLengthError, decode, encode, overlaps, read_masks

MASKS = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(lambda shape: arrays(bool, shape))


@given(mask=MASKS, order=st.sampled_from(["column", "row"]), start=st.integers(0, 1))
def test_what_is_written_is_read_again(mask: np.ndarray, order: Order, start: int) -> None:
    assert (decode(encode(mask, order=order, start=start), *mask.shape, order=order, start=start) == mask).all()


def test_a_corner_tells_the_scan_orders_apart() -> None:
    # The top right corner of 2 x 3 pixels is the fifth down the columns and the third along the rows.
    corner = np.array([[0, 0, 1], [0, 0, 0]])
    assert encode(corner) == "5 1"
    assert encode(corner, order="row") == "3 1"
    assert encode(corner, start=0) == "4 1"
    assert (decode("5 1", 2, 3) == corner).all()
    assert (decode("3 1", 2, 3, order="row") == corner).all()
    assert (decode("3 1", 2, 3) != corner).any()


def test_runs_of_4_by_4_down_the_columns() -> None:
    # MLE-bench's decoder gives the same for this text and for the empty one.
    wanted = [[1, 0, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    assert decode("1 3 10 2", 4, 4).astype(int).tolist() == wanted
    assert not decode("", 4, 4).any()


@pytest.mark.parametrize(
    "text", ["16 1", "1 16", "13 4", " 13  4 ", "13\t4", "13\n4", "0013 04", "15 2 13 2", "13 2 15 2", "13 1 14 1 15 2"]
)
def test_legal_texts(text: str) -> None:
    assert decode(text, 4, 4)[3, 3]  # the last pixel


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1", "an odd number of fields: 1"),
        ("1 2 3", "an odd number of fields: 3"),
        ("17 1", "a run beyond the last pixel of the image: '17 1'"),
        ("1 2 15 3", "a run beyond the last pixel of the image: '15 3'"),
        ("1 999999999999999999", "a run beyond the last pixel"),
        ("999999999999999999 999999999999999999", "a run beyond the last pixel"),
        ("1 9999999999999999999", "a number of more than 18 digits"),
        ("1 2 2 2", "two runs share a pixel: 2"),
        ("1 16 3 1", "two runs share a pixel: 3"),
        ("5 1 5 1", "two runs share a pixel: 5"),
        ("3 0", "a run of length 0: '3 0'"),
        ("0 2", "a run before the first pixel, which is 1: '0 2'"),
        ("3 -1", "written in digits: '-1'"),
        ("-3 1", "written in digits: '-3'"),
        ("1.0 2", "written in digits: '1.0'"),
        ("1 2e0", "written in digits: '2e0'"),
        ("+1 2", "written in digits: '\\+1'"),
        ("1_0 2", "written in digits: '1_0'"),
        ("1,2", "written in digits: '1,2'"),
        ("nan", "written in digits: 'nan'"),
        ("\u0661 2", "written in digits: '\u0661'"),  # a digit of another script
        ("1\u00a02", "written in digits"),
        ("1\x002", "written in digits"),
        ("1 1; 3 1", "written in digits: '1;'"),
        ("[1, 2]", "written in digits"),
        ("1 \x1b[31m", r"written in digits: '\\x1b\[31m'"),
        ("x" * 1000, "written in digits: 'xxx"),
    ],
)
def test_what_is_no_mask(text: str, why: str) -> None:
    with pytest.raises(RunLengthError, match=why) as caught:
        decode(text, 4, 4)
    assert len(str(caught.value)) < 300


def test_the_first_pixel_may_be_0() -> None:
    assert decode("0 1 15 1", 4, 4, start=0).sum() == 2
    with pytest.raises(RunLengthError, match="beyond the last pixel"):
        decode("16 1", 4, 4, start=0)


def test_faults_are_of_their_images_alone() -> None:
    cells = ["1 2", "x", "", "9 9", "2 1 4 1", "1 1 1 1"]
    runs, faults = read_masks(cells, np.full(6, 4))
    assert list(faults) == [1, 3, 5]
    assert faults[3].rule == "a run beyond the last pixel of the image"  # quotes nothing
    assert runs.areas().tolist() == [2, 0, 0, 0, 2, 0]
    assert runs.begin.tolist() == [0, 17, 19]


def test_several_masks_in_a_cell() -> None:
    cells = ["1 2; 5 1 3 1 | 4 1", " ", "2 2"]
    runs, faults = read_masks(cells, np.full(3, 5), several=True)
    assert not faults
    assert runs.image.tolist() == [0, 0, 0, 2]
    assert runs.areas().tolist() == [2, 2, 1, 2]
    assert runs.begin.tolist() == [0, 2, 3, 4, 11]
    assert runs.mask.tolist() == [0, 1, 2, 1, 3]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 1;", "one of several masks is empty"),
        (";1 1", "one of several masks is empty"),
        (";", "one of several masks is empty"),
        ("1 1;;2 1", "one of several masks is empty"),
        ("1 2; 2 1", "two runs share a pixel: 2"),
        ("1 1 3; 1", "an odd number of fields"),
        ("1 1; a|3 1", "written in digits: 'a'"),
        ("1 1; 9 1", "beyond the last pixel"),
    ],
)
def test_what_is_not_several_masks(text: str, why: str) -> None:
    _, faults = read_masks(["1 1", text], np.array([5, 5]), several=True)
    assert why in str(faults[1])
    assert list(faults) == [1]


def test_an_image_of_ten_billion_pixels_costs_what_its_runs_cost() -> None:
    runs, faults = read_masks(["1 10000000000", "10000000000 1", ""], np.full(3, 100_000**2))
    assert not faults
    assert runs.areas().tolist() == [10_000_000_000, 1, 0]
    one, _ = read_masks(["3 5000000000", "1 10000000000", "1 1"], np.full(3, 100_000**2))
    assert overlaps(runs, one)[2].tolist() == [5_000_000_000, 1]


def test_a_text_without_end_is_refused_before_it_is_read() -> None:
    runs, faults = read_masks(["1 1", "1 " * (1 << 23) + "1", "2 1"], np.full(3, 4))
    assert {image: str(fault) for image, fault in faults.items()} == {1: "more than 16,777,216 characters: 16,777,217"}
    assert runs.areas().tolist() == [1, 0, 1]


CELLS = st.lists(st.text(alphabet="0123 ;x", max_size=12), max_size=8)


@given(cells=CELLS, several=st.booleans(), block=st.integers(1, 30))
def test_the_size_of_blocks_changes_nothing(cells: list[str], several: bool, block: int) -> None:
    pixels = np.arange(len(cells)) + 3
    whole, faults = read_masks(cells, pixels, several=several)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_length, "BLOCK_CHARACTERS", block)
        parts, same = read_masks(cells, pixels, several=several)
    assert same == faults
    kept, again = ([runs.image[runs.mask], runs.begin, runs.end] for runs in (whole, parts))
    assert all((one == other).all() for one, other in zip(kept, again, strict=True))


@given(text=st.text(alphabet="0123 -x", max_size=14), start=st.integers(0, 1))
def test_a_text_is_read_as_by_hand(text: str, start: int) -> None:
    pixels: set[int] | None = set()
    fields = text.split()
    if all(field.isdigit() for field in fields) and len(fields) % 2 == 0:
        for first, length in zip(fields[::2], fields[1::2], strict=True):
            run = set(range(int(first) - start, int(first) - start + int(length)))
            if pixels is None or not run or pixels & run or min(run) < 0 or max(run) >= 20:
                pixels = None
                break
            pixels |= run
    else:
        pixels = None
    if pixels is None:
        with pytest.raises(RunLengthError):
            decode(text, 4, 5, start=start)
    else:
        assert set(np.flatnonzero(decode(text, 4, 5, start=start, order="row")).tolist()) == pixels
