"""Reading archives of every kind in the same way: one member after the other, in constant memory.

zip (and wheels), tar plain or compressed (and npm's), Debian packages, single compressed files, 7z. What a member may
be and be called is the same for all: see `Tally`.
"""

from __future__ import annotations

import stat
import tarfile
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from openmle_env.errors import PreparationError
from openmle_env.printable import printable
from openmle_env.task_registry import files
from openmle_env.task_registry.archives.kinds import is_tar, kind_of, peek
from openmle_env.task_registry.archives.streams import Counted, Window, damaged, readable, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openmle_env.task_registry.archives.kinds import Kind
    from openmle_env.task_registry.archives.limits import Tally

_LONGEST_HEADER = 1 << 20
"""Bytes of a name or of other facts of a member that tar keeps in a block of their own."""
_LONGEST_DIRECTORY = 1 << 30
"""Bytes of a zip file's list of members, which is read at once."""
_SUFFIXES = {"gz": (".gz",), "xz": (".xz",), "bz2": (".bz2",), "zst": (".zst", ".zstd")}
_HEADERS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_STRANGE = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One entry of an archive."""

    name: str
    """As the archive says it."""
    is_folder: bool = False
    """Whether it is a folder."""
    fault: str = ""
    """Why it may not be taken out: "is a symbolic link"."""
    content: Counted | None = None
    """What it holds, to be read before the next member is asked for."""


def members(path: Path, tally: Tally) -> Iterator[Member]:
    """Every entry of an archive, in its own order; a compressed file that is no archive holds one, without the suffix.

    Raises:
        PreparationError: It is no archive, is damaged, or holds more than is taken.
        PackError: It cannot be opened.
    """
    kind = kind_of(path)
    if kind is None:
        raise PreparationError(f"{printable(tally.archive)} is no archive: zip, tar, gz, xz, bz2, zst, 7z or deb.")
    with readable(tally.archive):
        if kind == "zip":
            yield from _zip(path, tally)
        elif kind == "7z":
            from openmle_env.task_registry.archives import seven_zip

            yield from seven_zip.members(path, tally)
        else:
            with files.opened(path) as file:
                if kind == "deb":
                    yield from _tar(_data_of_deb(file, tally), tally)
                elif kind == "tar":
                    yield from _tar(file, tally)
                else:
                    yield from _compressed(file, kind, tally)


def _compressed(file: IO[bytes], kind: Kind, tally: Tally) -> Iterator[Member]:
    with readable(tally.archive):
        found = is_tar(peek(unpacked(file, kind, tally)))
    file.seek(0)
    stream = unpacked(file, kind, tally)
    if found:
        yield from _tar(stream, tally)
        return
    whole = tally.archive.rpartition(" > ")[2].rpartition("/")[2]
    name = next((whole[: -len(end)] for end in _SUFFIXES[kind] if whole.lower().endswith(end)), whole)
    tally.add_entry(name)
    yield Member(name=name, content=Counted(stream, tally, name))


class _Header(tarfile.TarInfo):
    """Headers of a tar archive, none of which may fill the memory."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _LONGEST_HEADER:
            raise tarfile.ReadError(f"a name, or what describes a member, has {self.size:,} bytes")
        made: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]  # the base's hook for subclasses
        return made


def _tar(stream: IO[bytes], tally: Tally) -> Iterator[Member]:
    passed: Any = Counted(stream, tally, "")  # what is skipped is unpacked, too, so it counts
    with tarfile.open(fileobj=passed, mode="r|", tarinfo=_Header, encoding="utf-8", errors="surrogateescape") as tar:
        while (info := tar.next()) is not None:
            passed.name = info.name
            tally.add_entry(info.name)
            tar.members.clear()  # type: ignore[attr-defined]  # or it keeps every header until the end
            if info.isdir():
                yield Member(name=info.name, is_folder=True)
            elif info.type in _STRANGE or not info.isreg() or info.issparse():
                yield Member(name=info.name, fault=f"is {_STRANGE.get(info.type, 'no plain file')}")
            else:
                content: Any = tar.extractfile(info)
                yield Member(name=info.name, content=_Whole(content, info.size, tally, info.name))


class _Whole(Counted):
    """A member of a tar archive, whose bytes are counted below it; one that is cut is noticed."""

    def __init__(self, stream: IO[bytes], size: int, tally: Tally, name: str) -> None:
        super().__init__(stream, tally, name)
        self._left = size

    def read(self, size: int) -> bytes:
        with readable(self._tally.archive):
            found = self._stream.read(size)
        self._left -= len(found)
        if not found and self._left and size:
            raise damaged(self._tally.archive, EOFError(f"{self.name} is cut"))
        return found


def _data_of_deb(file: IO[bytes], tally: Tally) -> IO[bytes]:
    """The tar archive with a Debian package's files."""
    file.seek(8)
    while header := file.read(60):
        if len(header) != 60 or header[58:] != b"`\n":
            break
        name, size = header[:16].decode("ascii", "replace").strip().rstrip("/"), int(header[48:58])
        if size < 0:
            break  # it would lead back, and so on without end
        if name.startswith("data.tar"):
            window: Any = Window(file, size)
            kind: Kind | None = {".gz": "gz", ".xz": "xz", ".bz2": "bz2", ".zst": "zst"}.get(name[8:])  # type: ignore[assignment]
            return unpacked(window, kind, tally) if kind else window
        file.seek(size + size % 2, 1)
    raise PreparationError(f"{printable(tally.archive)} is no Debian package: it holds no data.tar.")


def _zip(path: Path, tally: Tally) -> Iterator[Member]:
    _check_directory(path, tally)
    with ExitStack() as stack:
        archive = stack.enter_context(zipfile.ZipFile(stack.enter_context(files.opened(path))))
        for info in archive.infolist():
            name = info.orig_filename
            tally.add_entry(name)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.flag_bits & 0x1:
                yield Member(name=name, fault="is encrypted: take it apart by hand, with its password")
            elif kind == stat.S_IFLNK:
                yield Member(name=name, fault="is a symbolic link")
            elif kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
                yield Member(name=name, fault="is a device or pipe")
            elif name.endswith("/"):
                yield Member(name=name, is_folder=True)
            else:
                with archive.open(info) as content:
                    yield Member(name=name, content=Counted(content, tally, name))


def _check_directory(path: Path, tally: Tally) -> None:
    """Refuse a list of members that would fill the memory: the end of the file says how long it is."""
    with files.opened(path) as file:
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # noqa: SLF001
    if end is None:
        raise zipfile.BadZipFile("its end is missing: it was cut")
    count, size = end[zipfile._ECD_ENTRIES_TOTAL], end[zipfile._ECD_SIZE]  # type: ignore[attr-defined]  # noqa: SLF001
    if count > tally.limits.files or size > _LONGEST_DIRECTORY:
        raise PreparationError(
            f"The archive {printable(tally.archive)} is refused: it lists {count:,} files in {size:,} bytes, and more "
            f"than {tally.limits.files:,} files are not taken. Nothing of it was kept."
        )
