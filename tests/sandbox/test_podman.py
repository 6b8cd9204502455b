"""What is given to Podman in place of what Docker takes. Needs neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import podman

if TYPE_CHECKING:
    from pathlib import Path


def test_the_filter_is_a_file_that_is_written_once_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path))
    one, other = podman.seccomp('{"a": 1}'), podman.seccomp('{"a": 2}')
    (first, second) = sorted((tmp_path / "sandbox").iterdir(), key=lambda path: path.read_text())
    assert [str(first), str(second)] == [one, other]
    written = first.stat().st_mtime_ns
    assert podman.seccomp('{"a": 1}') == one
    assert first.stat().st_mtime_ns == written
    first.write_bytes(b"\xff")
    podman.seccomp('{"a": 1}')
    assert first.read_text() == '{"a": 1}'


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "file"))
    with pytest.raises(SandboxUnavailableError, match="Set OPENMLE_HOME"):
        podman.seccomp("{}")


def test_options_that_it_refuses_are_left_out_and_sizes_stay() -> None:
    given = {"/a": "rw,exec,size=1,nr_inodes=2,mode=1777", "/b": "rw,noexec,nosuid,size=3,mode=0755,uid=1,gid=1"}
    assert podman.folders(given) == {"/a": "rw,exec,size=1", "/b": "rw,noexec,nosuid,size=3"}
