from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from openmle_env.errors import PackError, UsageError
from openmle_env.graders.leaderboard_file import is_lfs_pointer, read_leaderboard

if TYPE_CHECKING:
    from pathlib import Path

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "leaderboard.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("header", ["score", "Score", " SCORE ", "\ufeffscore"])
def test_the_score_column_is_found_in_any_case(tmp_path: Path, header: str) -> None:
    path = write(tmp_path, f"{header},team\n0.25, b\n 0.5 ,a\n")
    board = read_leaderboard(path, higher_is_better=False)
    assert board.best_first.tolist() == [0.25, 0.5]
    assert not board.higher_is_better


def test_a_column_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, "score,private score\n0.1,0.9\n0.2,0.8\n")
    assert read_leaderboard(path, True, column="private score").best_first.tolist() == [0.9, 0.8]  # noqa: FBT003


def test_the_direction_is_that_of_the_task_whatever_the_order_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path, "score\n0.2\n0.9\n0.5\n")
    assert read_leaderboard(path, higher_is_better=True).gold == 0.9
    assert read_leaderboard(path, higher_is_better=False).gold == 0.2


def test_teams_without_a_score_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = "\n".join(f"t{i},{i / 10}" for i in range(10))
    board = read_leaderboard(write(tmp_path, f"team,score\nx,\ny,  \n{rows}\n"), higher_is_better=False)
    assert board.teams == 10
    assert board.notes == ("2 of 12 teams have no score and are left out.",)


def test_a_cap_is_passed_on(tmp_path: Path) -> None:
    board = read_leaderboard(write(tmp_path, "score\n1.0\n0.9\n0.8\n"), higher_is_better=True, cap=0.95)
    assert board.gold == 0.9
    assert board.notes[0].startswith("1 of 3 entries")


def test_a_pointer_of_git_lfs_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(PackError, match=r"Git LFS pointer.*git lfs pull"):
        read_leaderboard(write(tmp_path, POINTER), higher_is_better=True)
    assert is_lfs_pointer(b"\xef\xbb\xbf" + POINTER)
    assert not is_lfs_pointer(b"version,score\n1,2\n")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "empty"),
        ("team,points\na,1\n", r"no column 'score'.*'team', 'points'"),
        ("score,Score\n1,2\n", "has 2 score columns: 'score', 'Score'"),
        ("score\n", "no team with a score"),
        ("team,score\na,\nb,\n", "no team with a score"),
        ("team,score\na,0.5\nb,nan\n", r"'nan' in column 'score', row 2"),
        ("team,score\na,inf\n", "'inf'"),
        ("team,score\na,1e999\n", "'1e999'"),
        ("team,score\na,1_0\n", "'1_0'"),
        ("team,score\na,n/a\n", "'n/a'"),
        ("team,score\na,1,2\n", "Line 2"),
        (b"\xff\xfes\0", "UTF-16"),
    ],
)
def test_a_file_that_is_no_board_is_refused_by_name(tmp_path: Path, content: str | bytes, says: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(PackError, match=says) as caught:
        read_leaderboard(path, higher_is_better=True)
    assert str(path) in str(caught.value)


def test_a_named_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PackError, match=r"no column 'private'.*'score'"):
        read_leaderboard(write(tmp_path, "score\n1\n"), higher_is_better=True, column="private")


def test_what_is_not_a_regular_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="no leaderboard at"):
        read_leaderboard(tmp_path / "nothing.csv", higher_is_better=True)
    with pytest.raises(PackError, match="Put the CSV file itself there"):
        read_leaderboard(tmp_path, higher_is_better=True)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(PackError, match="Put the CSV file itself there"):
        read_leaderboard(tmp_path / "fifo", higher_is_better=True)
    (tmp_path / "link").symlink_to(write(tmp_path, "score\n1\n"))
    with pytest.raises(PackError, match="Put the CSV file itself there"):
        read_leaderboard(tmp_path / "link", higher_is_better=True)


def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    direction: Any = np.True_
    assert read_leaderboard(str(write(tmp_path, "score\n1\n2\n")), direction).gold == 2.0
    with pytest.raises(PackError, match=r"no leaderboard at nothing\.csv"):
        read_leaderboard("nothing.csv", higher_is_better=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"path": None}, "read from a path, not None"),
        ({"path": [0.5, 0.6]}, r"Leaderboard\(scores, \.\.\.\)"),
        ({"path": b"score\n1\n"}, "read from a path"),
        ({"column": 3}, "named by a text, not 3"),
        ({"higher_is_better": None}, "higher_is_better is True or False"),
        ({"higher_is_better": 1}, "higher_is_better is True or False"),
    ],
)
def test_arguments_of_another_type_are_refused_by_name(tmp_path: Path, arguments: dict[str, Any], says: str) -> None:
    given = {"path": write(tmp_path, "score\n1\n"), "higher_is_better": True} | arguments
    with pytest.raises(UsageError, match=says):
        read_leaderboard(**given)
