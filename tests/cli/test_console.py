"""Tables in a terminal that is narrower than their text."""

from __future__ import annotations

import pytest

from openmle_env.commands import console

NAME = "openmle-env-sandbox:0eb40cb9aa74"
ROWS = [["image", NAME, "made of other libraries than this environment has now", "would be removed"]]


@pytest.mark.parametrize("room", [80, 66])
def test_words_are_whole_as_long_as_they_fit(capsys, monkeypatch, room: int) -> None:
    monkeypatch.setenv("COLUMNS", str(room))
    console.table("", ("what", "which", "why", "done"), ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= room
    assert set(" ".join(lines).split()) >= {NAME, "libraries", "environment", "removed"}


def test_a_table_that_is_too_wide_for_its_words_fits_all_the_same(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    console.table("", ("what", "which", "why", "done"), [*ROWS, ["", "x\ny", "", ""]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert NAME not in " ".join(lines).split()


def test_a_table_takes_no_more_room_than_it_needs(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    console.table("Title", ("a", "number"), [["one two three", "1.0"]], right=["number"])
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "Title",
        "",
        " a               number",
        " ──────────────────────",
        " one two three      1.0",
        "",
    ]
    console.table("", ("a", "b"), [])
    assert capsys.readouterr().out.split() == ["a", "b", "─────"]
