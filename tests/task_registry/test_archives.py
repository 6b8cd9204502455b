"""Archives that nobody vouches for: taken apart as a whole, or refused with a member's name and nothing left behind."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING

import py7zr
import pytest
import zstandard

from openmle_env.errors import DiskFullError, PackError, PreparationError
from openmle_env.task_registry.archives import reading, seven_zip, taking
from openmle_env.task_registry.archives.extraction import extract_all, extract_tree
from openmle_env.task_registry.archives.limits import ArchiveLimits
from openmle_env.task_registry.archives.taking import pattern_of, take

if TYPE_CHECKING:
    from pathlib import Path

SMALL = ArchiveLimits(total_bytes=200_000, files=20, ratio=5.0, free_bytes=60_000)
LINK, HARD_LINK, DEVICE, PIPE = "link", "hard", "device", "pipe"
TEXT = b"id,kind\n1,cat\n"


def as_zip(members: list[tuple[str, bytes | str]]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            info = zipfile.ZipInfo("x")
            info.filename = name  # as it is: the constructor would mend it
            info.compress_type = zipfile.ZIP_DEFLATED
            if isinstance(content, str):
                info.external_attr = (0o120777 if content == LINK else 0o060644) << 16
            archive.writestr(info, b"/etc" if isinstance(content, str) else content)
    return made.getvalue()


def as_tar(members: list[tuple[str, bytes | str]], mode: str = "w") -> bytes:
    kinds = {LINK: tarfile.SYMTYPE, HARD_LINK: tarfile.LNKTYPE, DEVICE: tarfile.CHRTYPE, PIPE: tarfile.FIFOTYPE}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode, format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = kinds[content], "/etc"
                archive.addfile(info)
            elif name.endswith("/"):
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def as_deb(members: list[tuple[str, bytes | str]]) -> bytes:
    made = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0"), ("control.tar.gz", b""), ("data.tar.xz", as_tar(members, "w:xz"))):
        made += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content
        made += b"\n" * (len(content) % 2)
    return made


def as_7z(members: list[tuple[str, bytes | str]]) -> bytes:
    made = io.BytesIO()
    with py7zr.SevenZipFile(made, "w") as archive:
        for name, content in members:
            archive.writestr(content, name)
    return made.getvalue()


FORMATS = {
    "zip": as_zip,
    "tar": as_tar,
    "tar.gz": lambda members: as_tar(members, "w:gz"),
    "tar.bz2": lambda members: as_tar(members, "w:bz2"),
    "deb": as_deb,
    "7z": as_7z,
}


@pytest.fixture
def archive(tmp_path):
    """Writes an archive of a format, and checks at the end that nothing lies beside it and what it became."""

    def write(name: str, content: bytes) -> Path:
        (tmp_path / "in").mkdir(exist_ok=True)
        path = tmp_path / "in" / name
        path.write_bytes(content)
        return path

    yield write
    assert {path.name for path in tmp_path.iterdir()} <= {"in", "out", "bin"}


def below(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_files_however_often(archive, tmp_path, form):
    big = bytes(range(256)) * 3000
    path = archive(f"a.{form}", FORMATS[form]([("d/train.csv", TEXT), ("d/big.bin", big), ("empty.txt", b"")]))
    for _ in range(2):
        extract_all(path, tmp_path / "out")
        assert below(tmp_path / "out") == {"d/big.bin": big, "d/train.csv": TEXT, "empty.txt": b""}
    assert {p.stat().st_mode & 0o777 for p in (tmp_path / "out").rglob("*")} == {0o755, 0o644}
    assert path.exists()


HARMFUL = {
    "parent": ([("ok", TEXT), ("../../x", TEXT)], "../../x", "'..'"),
    "inner-parent": ([("a/../../x", TEXT)], "a/../../x", "'..'"),
    "absolute": ([("/etc/x", TEXT)], "/etc/x", "absolute"),
    "backslash": ([("a\\..\\x", TEXT)], "a", "backslash"),
    "long": ([("b" * 300, TEXT)], "b" * 120, "more than 255"),
    "deep": ([("/".join("d" * 50), TEXT)], "d/d", "more than 32 folders"),
    "bomb": ([("a", TEXT), ("b", TEXT * 20_000)], "b", "may be a bomb|in all"),
    "many": ([(f"{number}", b"") for number in range(30)], "20", "more than 20 files"),
}
SLOW = {"bomb", "many"}
"""Cases of 7z, which another process reads; names are checked by the same code, and below its tool tells of one."""


@pytest.mark.parametrize(
    ("form", "case"),
    [(form, case) for form in ("zip", "tar", "deb", "7z") for case in HARMFUL if form != "7z" or case in SLOW],
)
def test_an_archive_that_could_do_harm_is_refused_as_a_whole(archive, tmp_path, form, case):
    members, name, why = HARMFUL[case]
    path = archive(f"bad.{form}", FORMATS[form](members))
    with pytest.raises(PreparationError) as raised:
        extract_all(path, tmp_path / "out", SMALL)
    start = "it lists 30 files" if (form, name) == ("zip", "20") else f"its member '{name}"
    assert str(raised.value).startswith(f"The archive bad.{form} is refused: {start}")
    assert any(one in str(raised.value) for one in why.split("|"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("form", "members", "why"),
    [
        ("zip", [("l", LINK), ("l/x", TEXT)], "'l' is a symbolic link"),
        ("tar", [("l", LINK), ("l/x", TEXT)], "'l' is a symbolic link"),
        ("zip", [("d", DEVICE)], "'d' is a device"),
        ("tar", [("d", DEVICE)], "'d' is a device"),
        ("tar", [("h", HARD_LINK)], "'h' is a hard link"),
        ("tar", [("p", PIPE)], "'p' is a named pipe"),
        ("tar", [("a", TEXT), ("./a", TEXT)], "'./a' is there twice"),
        ("zip", [("a", TEXT), ("a/b", TEXT)], "'a/b' lies below 'a', which is a file"),
        ("tar", [("a/b", TEXT), ("a", TEXT)], "'a' is there twice"),
        ("tar", [(".", TEXT)], "'.' has no name"),
        ("zip", [("", TEXT)], "'' has no name"),
    ],
)
def test_what_is_no_plain_file_or_there_twice_is_refused(archive, tmp_path, form, members, why):
    with pytest.raises(PreparationError, match=r"is refused") as raised:
        extract_all(archive(f"bad.{form}", FORMATS[form](members)), tmp_path / "out")
    assert why in str(raised.value)


def test_an_encrypted_member_is_named(archive, tmp_path):
    content = bytearray(as_zip([("secret.csv", TEXT)]))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(PreparationError, match=r"'secret.csv' is encrypted"):
        extract_all(archive("a.zip", bytes(content)), tmp_path / "out")


def test_names_that_would_fill_the_memory_are_refused_before_they_are_read(archive, tmp_path, monkeypatch):
    path = archive("a.tar", as_tar([("n" * 5000, TEXT)]))
    monkeypatch.setattr(reading, "_LONGEST_HEADER", 4096)
    with pytest.raises(PreparationError, match=r"a.tar cannot be read: .* has 5,\d+ bytes"):
        extract_all(path, tmp_path / "out")
    path = archive("a.zip", as_zip([(f"{number}", b"") for number in range(30)]))
    monkeypatch.setattr(zipfile.ZipFile, "infolist", lambda self: pytest.fail("it was read"))
    with pytest.raises(PreparationError, match="lists 30 files"):
        extract_all(path, tmp_path / "out", SMALL)


def test_headers_without_end_end(archive, tmp_path):
    header = tarfile.TarInfo("more")
    header.type, header.size = tarfile.XHDTYPE, 9
    block = header.tobuf(tarfile.USTAR_FORMAT) + b"9 path=a\n".ljust(512, b"\0")
    with pytest.raises(PreparationError, match=r"a.tar cannot be read"):
        extract_all(archive("a.tar", block * 3000 + bytes(1024)), tmp_path / "out")
    back = f"{'x':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{-60:<10}`\n".encode()  # to its own beginning
    with pytest.raises(PreparationError, match="no Debian package"):
        extract_all(archive("a.deb", b"!<arch>\n" + back + bytes(99)), tmp_path / "out")


@pytest.mark.parametrize("form", ["zip", "tar.gz", "tar.bz2", "deb", "7z"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_cut_archive_leaves_nothing(archive, tmp_path, form, share):
    content = FORMATS[form]([("a.bin", bytes(range(256)) * 40), ("b.bin", bytes(range(255, -1, -1)) * 40)])
    path = archive(f"a.{form}", content[: int(len(content) * share)])
    with pytest.raises(PreparationError, match=r"damaged|no Debian package"):
        extract_all(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def as_zst(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


COMPRESSED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": as_zst}


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_single_compressed_files_become_the_file_in_several_frames_too(archive, tmp_path, suffix):
    pack = COMPRESSED[suffix]
    content = pack(TEXT) + pack(TEXT * 30_000) + b"\0" * 512
    extract_all(archive(f"train.csv.{suffix}", content), tmp_path / "out")
    assert below(tmp_path / "out") == {"train.csv": TEXT * 30_001}
    shutil.rmtree(tmp_path / "out")
    for damaged in (content[:-530], content[:100] + b"\xff\x00\xff" + content[103:]):
        with pytest.raises(PreparationError, match=r"cannot be read"):
            extract_all(archive(f"train.csv.{suffix}", damaged), tmp_path / "out")


def test_nested_archives_become_their_files_where_they_lie(archive, tmp_path):
    inner = as_zip([("train.csv", TEXT)])
    parts = as_tar([("1.png", b"1"), ("2.png", b"2")], "w:gz")
    path = archive(
        "all.zip",
        as_zip(
            [
                ("train.csv.zip", inner),
                ("test.csv.zip", as_zip([("data/test.csv", TEXT)])),
                ("images/part1.zip", as_zip([("part1.tar.gz", parts)])),
                ("same.zip", as_zip([("same.zip", b"no archive")])),
                ("taken.csv", b"another"),
                ("taken.csv.gz", gzip.compress(TEXT)),
                ("UPPER.CSV.GZ", gzip.compress(TEXT)),
                ("report.docx", as_zip([("word.xml", b"")])),
                ("fake.zip", b"text"),
                ("__MACOSX/._train.csv", b"junk"),
            ]
        ),
    )
    wanted = {
        "UPPER.CSV": TEXT,
        "fake.zip": b"text",
        "images/part1/1.png": b"1",
        "images/part1/2.png": b"2",
        "report.docx": as_zip([("word.xml", b"")]),
        "same.zip": b"no archive",
        "taken.csv": b"another",
        "taken.csv.gz.contents": TEXT,
        "test.csv": TEXT,
        "train.csv": TEXT,
    }
    for _ in range(2):
        extract_all(path, tmp_path / "out")
        assert below(tmp_path / "out") == wanted
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").mkdir()
    shutil.copy(path, tmp_path / "out")
    for _ in range(2):
        extract_tree(tmp_path / "out")
        assert below(tmp_path / "out") == {f"all/{name}": content for name, content in wanted.items()}


def test_nesting_and_bombs_within_are_bounded_by_the_outermost_archive(archive, tmp_path):
    content = TEXT
    for number in range(5):
        content = as_zip([(f"{number}.zip", content), ("beside", b"")])
    with pytest.raises(PreparationError, match=r"'1.zip' lies more than 4 archives deep"):
        extract_all(archive("a.zip", content), tmp_path / "out")
    bomb = as_zip([("b.zip", as_zip([("zeros", bytes(100_000))]))])
    with pytest.raises(PreparationError, match=r"a.zip > b.zip is refused: its member 'zeros'.*bomb"):
        extract_all(archive("a.zip", bomb), tmp_path / "out", ArchiveLimits(ratio=5.0, free_bytes=1500))
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else_is_left_alone(archive, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(PackError, match=r"holds other files than a.zip"):
        extract_all(archive("a.zip", as_zip([("a", TEXT)])), tmp_path / "out")
    assert below(tmp_path / "out") == {"mine": b"mine"}


def test_a_full_disk_leaves_nothing(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(taking, "_room", lambda folder: 10)
    with pytest.raises(DiskFullError, match="no space"):
        extract_all(archive("a.zip", as_zip([("a", TEXT)])), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_members_that_nobody_asked_for_are_passed_over_whatever_they_are(archive, tmp_path):
    path = archive("a.tar", as_tar([("../x", LINK), ("./d/1.gsm", b"1"), ("d/e/2.gsm", b"2"), ("d/3.txt", b"3")]))
    (tmp_path / "out").mkdir()
    take(path, {"d/**/*.gsm": "sounds", "d/3.txt": "three"}, tmp_path / "out")
    assert below(tmp_path / "out") == {"sounds/1.gsm": b"1", "sounds/e/2.gsm": b"2", "three": b"3"}
    with pytest.raises(PreparationError, match=r"'\.\./x' is a symbolic link"):
        take(path, {"../x": "x"}, tmp_path / "out")


@pytest.mark.parametrize(
    ("pattern", "name", "rest"),
    [
        ("*.csv", "a.csv", "a.csv"),
        ("*.csv", "d/a.csv", None),
        ("d/*", "d/a", "a"),
        ("d/**", "d/a/b", "a/b"),
        ("d/*/x+", "d/a/x+", "a/x+"),
        ("d/**/a.?", "d/a.b", None),
    ],
)
def test_patterns(pattern, name, rest):
    match = pattern_of(pattern).fullmatch(name)
    assert (match and match["rest"]) == rest


def test_7z_without_a_reader_says_what_to_install(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(seven_zip.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "py7zr", None)
    monkeypatch.setattr(seven_zip.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PreparationError, match=r"openmle-env\[archives\]"):
        extract_all(archive("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(50)), tmp_path / "out")


LISTED = """
Path = a.7z
----------
Path = d
Size = 0
Attributes = D drwxr-xr-x
Encrypted = -

Path = d/a.csv
Size = 4
Attributes = A -rw-r--r--
Encrypted = -

Path = {name}
Size = 3
Attributes = {kind}
Encrypted = {encrypted}
"""


@pytest.mark.parametrize(
    ("name", "kind", "encrypted", "sent", "why"),
    [
        ("b.csv", "A -rw-r--r--", "-", "a,b\nend", ""),
        ("../../x", "A -rw-r--r--", "-", "a,b\nend", r"'\.\./\.\./x' has a name with '\.\.'"),
        ("b.csv", "A lrwxrwxrwx", "-", "a,b\nend", "'b.csv' is a symbolic link"),
        ("b.csv", "A -rw-r--r--", "+", "a,b\nend", "'b.csv' is encrypted"),
        ("b.csv", "A -rw-r--r--", "-", "a,b\nend, and more", "more than it lists"),
        ("b.csv", "A -rw-r--r--", "-", "a,b\n'; exit 2; '", "cannot be read"),
    ],
)
def test_the_7z_tool_is_asked_for_the_list_first_and_bounded(
    archive, tmp_path, monkeypatch, *, name, kind, encrypted, sent, why
):
    (tmp_path / "bin").mkdir()
    (tmp_path / "list").write_text(LISTED.format(name=name, kind=kind, encrypted=encrypted))
    (tmp_path / "list").rename(tmp_path / "bin" / "list")
    script = f"#!/bin/sh\nulimit -v > '{tmp_path}/bin/memory'\n"
    script += f"[ $1 = l ] && exec cat '{tmp_path}/bin/list'\nprintf '{sent}'\n"
    (tmp_path / "bin" / "7zz").write_text(script)
    (tmp_path / "bin" / "7zz").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    path = archive("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(50))
    if why:
        with pytest.raises(PreparationError, match=why):
            extract_all(path, tmp_path / "out")
        assert not (tmp_path / "out").exists()
    else:
        extract_all(path, tmp_path / "out")
        assert below(tmp_path / "out") == {"b.csv": b"end", "d/a.csv": b"a,b\n"}
    assert (tmp_path / "bin" / "memory").read_text().strip() == str(1 << 20)
