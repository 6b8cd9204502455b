"""Files of extra packages: what they may name, and what they may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import UsageError
from openmle_env.sandbox import requirements
from openmle_env.sandbox.requirements import NONE, parse, read

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "line",
    [
        "lightgbm",
        "lightgbm==4.6.0",
        "Light_GBM[cuda,x] >=4,<5",
        "a~=1.0; python_version < '3.12' and sys_platform == \"linux\"",
        f"a==1 --hash=sha256:{'0' * 64} --hash=sha256:{'f' * 64}",
        "a (>=1, <2)",
        "a==1.*",
        "a===1.0+cpu",
    ],
)
def test_packages_with_versions(line: str) -> None:
    assert parse(f"# a comment\n\n{line}  # another\n", "x").lines == (line,)


@pytest.mark.parametrize(
    "line",
    [
        *("-r other.txt", "--index-url https://x", "-e .", "--no-binary :all:", "a --no-binary=:all:", "a; x --pre"),
        *("a @ https://x/a.whl", "https://x/a.whl", "git+https://x/y", "./a", "../a", "/a.whl", "a b", "a==1==2"),
        *("a-1.0.tar.gz", "a.zip", "A-1-py3-none-any.WHL", "a==1.zip", "a >= 1.tgz", "a.zip[x]; python_version > '3'"),
        *("${HOME}", "a==${X}", "a;$(x)", "a==1\x00", "ä", ".a", "a.", "=1"),
    ],
)
def test_what_is_more_than_a_package_with_versions(line: str) -> None:
    with pytest.raises(UsageError, match=r"line 2 of 'pack\.txt'"):
        parse(f"numpy\n{line}\n", "pack.txt")


def test_a_long_line_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        parse("a" * 100_000 + "!", "x")
    assert len(str(caught.value)) < 1000


def test_a_line_may_go_on() -> None:
    text = "a==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\nb\n"
    assert parse(text, "x").lines == ("a==1 --hash=sha256:00 --hash=sha256:11", "b")
    with pytest.raises(UsageError, match="line 1 of"):
        parse("a \\\n -r b\n", "x")
    assert parse("a \\", "x").lines == ("a",)
    assert parse("# see C:\\\na\n", "x").lines == ("a",)  # a comment does not


def test_order_and_comments_mean_nothing() -> None:
    one, other = parse("b==1 # why\na\n", "x"), parse("\ufeffa\n\n#\nb==1".removeprefix("\ufeff"), "y")
    assert one == other
    assert one.text == "a\nb==1\n"
    assert one.names == ("a", "b")
    assert one | parse("c", "z") == parse("a\nb==1\nc", "x")


@pytest.mark.parametrize(
    ("content", "told"), [(b"", "names no package"), (b"\xff\xfe", "UTF-8"), (b"#" * (1 << 19), "larger")]
)
def test_files_that_name_nothing(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "r.txt").write_bytes(content)
    with pytest.raises(UsageError, match=told):
        read(tmp_path / "r.txt")


@pytest.mark.parametrize("path", ["missing.txt", "."])
def test_a_file_that_cannot_be_read(tmp_path: Path, path: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / path)


def test_no_file_asks_for_nothing() -> None:
    assert read(None) is NONE


def test_what_makes_an_image_one_for_gpus() -> None:
    assert "torch" in read(requirements.CUDA).names
