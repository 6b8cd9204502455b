"""Files of packs and of prepared tasks: listing without following links, hashing, and writing that survives a crash."""

from __future__ import annotations

import csv
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.errors import DiskFullError, InfrastructureError, PackError
from openmle_env.files import is_full

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader

CHUNK = 1 << 20
_CELLS = threading.RLock()
_KINDS = {
    stat.S_IFDIR: "a folder where a file should be",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def tree(folder: Path, *, everything: bool = False) -> dict[str, Path]:
    """Every regular file below ``folder`` by its relative name, sorted; links are never followed.

    Hidden files and byte code, which are no part of a pack, are left out unless ``everything`` is asked for.

    Raises:
        PackError: Something is neither a file nor a folder, has a name that is no UTF-8, or cannot be read.
    """
    found: dict[str, Path] = {}
    waiting = [folder]
    try:
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if not everything and (entry.name.startswith(".") or entry.name == "__pycache__"):
                        continue
                    path = Path(entry.path)
                    _refuse_name(path, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
                    else:
                        _refuse_special(path, entry.stat(follow_symlinks=False).st_mode)
                        found[path.relative_to(folder).as_posix()] = path
    except OSError as error:
        raise _unreadable(folder, error) from error
    return dict(sorted(found.items()))


def _refuse_special(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "a special file")
        raise PackError(f"{path} is {kind}. A task pack holds plain files and folders only: copy it in.")


def _refuse_name(path: Path, name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise PackError(f"The name of {str(path)!a} is not UTF-8. Rename the file.") from None


def is_folder(path: Path) -> bool:
    """Whether there is a folder at any path that somebody gave."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long, or a NUL
        return False


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """Open a plain file to read; never follows a link, and never waits for whoever may write into a pipe.

    Raises:
        PackError: It is something else, or cannot be opened or read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _refuse_special(path, os.fstat(descriptor).st_mode)
            file = os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise
        with file:
            yield file
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> PackError:
    if error.errno == errno.ELOOP:  # what not following a link ends with
        return PackError(f"{error.filename or path} is a symbolic link, which is not followed: copy the file in.")
    return PackError(f"{error.filename or path} cannot be read: {error.strerror or error}.")


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal.

    Raises:
        PackError: It cannot be read.
    """
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lines(path: Path) -> int:
    """Line ends of a file.

    Raises:
        PackError: It cannot be read.
    """
    with opened(path) as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(CHUNK), b""))


def write(path: Path, content: bytes, *, mode: int) -> None:
    """Write a new file and wait until it is on the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def copy(source: Path, target: Path, *, mode: int) -> None:
    """Copy a file and wait until it is on the disk."""
    shutil.copyfile(source, target, follow_symlinks=False)
    descriptor = os.open(target, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path, *, mode: int) -> None:
    """Make a folder with exactly these permissions, whatever the umask; its parents where they lack."""
    path.mkdir(parents=True, exist_ok=True)
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def make_parents(path: Path, root: Path, *, mode: int) -> None:
    """Make the folders between ``root``, which is there, and ``path``, with exactly these permissions."""
    for folder in reversed([folder for folder in path.parents if root in folder.parents]):
        make_folder(folder, mode=mode)


def set_modes(folder: Path, *, folder_mode: int, file_mode: int) -> None:
    """Give a folder and all below it these permissions again, where they were changed; links are left alone."""
    status = _lstat(folder)
    if status is None or not stat.S_ISDIR(status.st_mode):
        return
    _set_mode(folder, status, folder_mode)
    for path in folder.iterdir():
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode):
            set_modes(path, folder_mode=folder_mode, file_mode=file_mode)
        elif stat.S_ISREG(found.st_mode):
            _set_mode(path, found, file_mode)


def _set_mode(path: Path, status: os.stat_result, mode: int) -> None:
    if stat.S_IMODE(status.st_mode) != mode:
        path.chmod(mode)


def entries(folder: Path) -> dict[str, os.stat_result]:
    """A folder itself, as ``""``, and all below it by relative names, with what ``lstat`` says.

    Raises:
        OSError: It is not there, or a folder cannot be read.
    """
    found = {"": folder.lstat()}
    waiting = [""]
    while waiting:
        above = waiting.pop()
        with os.scandir(folder / above) as children:
            for child in children:
                name = f"{above}/{child.name}" if above else child.name
                found[name] = child.stat(follow_symlinks=False)
                if child.is_dir(follow_symlinks=False):
                    waiting.append(name)
    return found


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def same(one: Path, other: Path) -> bool:
    """Whether two folders, or two files, have the same names, contents and permissions; a link is like nothing."""
    found, expected = _lstat(one), _lstat(other)
    if found is None or expected is None or found.st_mode != expected.st_mode:
        return False
    if stat.S_ISDIR(found.st_mode):
        names = _names(one)
        return names == _names(other) and all(same(one / name, other / name) for name in names)
    if not stat.S_ISREG(found.st_mode) or found.st_size != expected.st_size:
        return False
    try:
        return sha256(one) == sha256(other)
    except PackError:
        return False  # it cannot be read


def take_over(new: Path, final: Path, *, last: str = "") -> None:
    """Give ``final`` what ``new`` holds, on the same file system; ``last`` is the file of ``final`` that comes last.

    Whoever reads in ``final`` meanwhile, or has it mounted, sees every file that stays at any moment: a folder that is
    there is kept, each file that differs is replaced in one step, and then what ``new`` lacks is removed.
    """
    is_folder = (status := _lstat(final)) is not None and stat.S_ISDIR(status.st_mode)
    if not is_folder:
        remove(final)
        new.rename(final)
        return
    final.chmod(stat.S_IMODE(new.stat().st_mode))
    names = _names(new)
    for name in sorted(names - {last}):
        if (new / name).is_dir():
            take_over(new / name, final / name)
        else:
            _replace(new / name, final / name)
    for name in _names(final) - names:
        remove(final / name)
    sync_folder(final)
    if last in names:
        _replace(new / last, final / last)
        sync_folder(final)


def _replace(new: Path, final: Path) -> None:
    if not same(new, final):
        if final.is_dir() and not final.is_symlink():
            remove(final)
        new.replace(final)


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def readable_by_all(folder: Path) -> bool:
    """Whether every user may read ``folder`` and all below it, given that they get to it."""
    paths = [folder, *folder.rglob("*")]
    return all(path.stat().st_mode & (mode := 0o005 if path.is_dir() else 0o004) == mode for path in paths)


def remove(path: Path) -> None:
    """Remove a file or a folder with all below it; nothing happens where there is none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock between processes and threads; it ends with the process, however that ends.

    ``waiting`` is called once if somebody else holds it.
    """
    # Not blocking: in place of the file there may be a pipe, which nobody reads.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child that was forked meanwhile holds a copy of the descriptor
        os.close(descriptor)


@contextmanager
def long_cells(most: int = sys.maxsize) -> Iterator[None]:
    """Let cells of CSV files have so many characters: whole articles and pages stand in tables.

    The limit of the module ``csv`` is the whole process's, so one reader at a time has another, and gives it back.
    """
    with _CELLS:
        before = csv.field_size_limit(most)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def need_space(folder: Path, size: int) -> None:
    """Check that ``size`` bytes fit.

    Raises:
        DiskFullError: They do not.
    """
    free = shutil.disk_usage(folder).free
    if free < size:
        raise DiskFullError(
            f"{folder} has {free // CHUNK} MiB left and {-(-size // CHUNK)} MiB are needed. "
            "Free some space, or set OPENMLE_HOME to a folder on another disk."
        )


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Word the operating system's errors on writing below ``folder``.

    Raises:
        DiskFullError: No space, or no quota, is left.
        InfrastructureError: It cannot be written for another reason.
    """
    try:
        yield
    except InfrastructureError:
        raise
    except OSError as error:
        if is_full(error):
            raise DiskFullError(
                f"No space is left in {folder}. Nothing half-made was kept. "
                "Free some space, or set OPENMLE_HOME to a folder on another disk."
            ) from error
        raise InfrastructureError(
            f"{error.filename or folder} cannot be used: {error.strerror or error}. "
            "Check its permissions, or set OPENMLE_HOME to a folder that you may write to."
        ) from error
