"""Reading back what a program left in ``/output``, once its last process is dead, without following any link."""

# Every import delays every box: no pathlib.

from __future__ import annotations

import errno
import os
import stat

from . import OUTPUT
from .frames import CHUNK, send, send_json

MAX_DEPTH = 64
"""Folders within one another, below a collected folder, that are read back."""
MAX_PATH = 4096
"""The longest path that is read back, in characters."""


class TooMuch(Exception):  # noqa: N818  an answer, not a fault
    """A folder holds more than is read back; the argument says what."""


class Collector:
    """Reads files below ``/output`` without following any link, within caps on bytes, number and depth.

    Each name is described: a file once; a folder by its files, and once more where it could not be read to its end.
    ``max_files`` bounds the files of all folders together.
    """

    def __init__(self, max_bytes: int, max_files: int) -> None:
        self.bytes_left, self.max_bytes = max_bytes, max_bytes
        self.files_left, self.max_files = max_files, max_files

    def collect(self, name: str) -> None:
        """Send one file, or for a name that ends in ``/`` every file below that folder."""
        parts = name.strip("/").split("/")
        folders: list[int] = []
        try:
            folders.append(os.open(OUTPUT, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
            for part in parts[:-1]:
                folders.append(self._open_folder(part, folders[-1]))
            if name.endswith("/"):
                folders.append(self._open_folder(parts[-1], folders[-1]))
                self._walk(name, folders[-1], MAX_DEPTH)
            else:
                self._file(name, parts[-1], folders[-1])
        except TooMuch as error:
            self._describe(name, "too_large", str(error))
        except FileNotFoundError:
            self._describe(name, "missing")
        except OSError as error:
            self._describe(name, "not_a_file", _kind_of(error, parts, folders))
        finally:
            for folder in folders:
                os.close(folder)

    @staticmethod
    def _open_folder(name: str, parent: int) -> int:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)

    def _walk(self, prefix: str, folder: int, depth: int) -> None:
        for name in sorted(os.listdir(folder)):
            if len(prefix) + len(name) > MAX_PATH:
                raise TooMuch(f"a path longer than the {MAX_PATH:,} characters that are read back")
            entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(entry.st_mode):
                if depth == 0:
                    raise TooMuch(f"folders deeper than the {MAX_DEPTH} that are read back")
                inner = self._open_folder(name, folder)
                try:
                    self._walk(f"{prefix}{name}/", inner, depth - 1)
                finally:
                    os.close(inner)
            elif self.files_left <= 0:
                raise TooMuch(f"more files than the {self.max_files:,} that are read back")
            else:
                self.files_left -= 1
                self._file(prefix + name, name, folder)

    def _file(self, path: str, name: str, folder: int) -> None:
        entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(entry.st_mode):
            self._describe(path, "not_a_file", _KINDS.get(stat.S_IFMT(entry.st_mode), "not a plain file"))
            return
        # O_NONBLOCK: every process is dead, but opening must not hang on whatever this turns out to be.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            self._content(path, descriptor)
        finally:
            os.close(descriptor)

    def _content(self, path: str, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        if size > self.bytes_left:
            sparse = " (a sparse file)" if os.fstat(descriptor).st_blocks * 512 < size // 2 else ""
            self._describe(
                path, "too_large", f"{size:,} bytes{sparse}; {self.bytes_left:,} of {self.max_bytes:,} are left"
            )
            return
        self.bytes_left -= size
        self._describe(path, "ok", size=size)
        while size > 0:
            chunk = os.read(descriptor, min(CHUNK, size))
            if not chunk:
                break
            send(b"D", chunk)
            size -= len(chunk)

    @staticmethod
    def _describe(name: str, state: str, detail: str = "", size: int = 0) -> None:
        send_json(b"A", {"name": name, "state": state, "detail": detail, "size": size})


_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def _kind_of(error: OSError, parts: list[str], folders: list[int]) -> str:
    """Say what stood where a folder or readable file was expected."""
    if folders and len(folders) <= len(parts):
        try:
            entry = os.stat(parts[len(folders) - 1], dir_fd=folders[-1], follow_symlinks=False)
        except OSError:
            return os.strerror(error.errno or 0)
        if not stat.S_ISREG(entry.st_mode) or error.errno == errno.ENOTDIR:
            return _KINDS.get(stat.S_IFMT(entry.st_mode), "a plain file where a folder was expected")
    return f"not readable: {os.strerror(error.errno or 0)}"
