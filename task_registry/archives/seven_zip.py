"""Reading 7z archives through another program, which may use so much memory and no more: the 7z tool, or py7zr.

Both tell the members first and then write what they hold, one after the other, into a pipe, so nothing of a bomb ever
lies anywhere but in that program.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from openmle_env.errors import PreparationError
from openmle_env.printable import printable
from openmle_env.task_registry.archives import reading
from openmle_env.task_registry.archives.streams import Counted, Window

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openmle_env.task_registry.archives.limits import Tally

_TOOLS = ("7zz", "7z", "7za", "7zr")
_LIST_SECONDS = 600.0
_MOST_OF_LIST = 512 << 20
_LIMITED = 'ulimit -v "$0" && exec "$@"'
"""Run by a shell: a program with a bound on its memory, in KiB."""
_CHILD = """\
import json, sys
import py7zr, py7zr.io
class Pipe(py7zr.io.Py7zIO):
    written = 0
    def write(self, data):
        self.written += len(data)
        return sys.stdout.buffer.write(data)
    def read(self, size=None):
        return b""
    def seek(self, offset, whence=0):
        return offset
    def flush(self):
        pass
    def size(self):
        return self.written
class Pipes(py7zr.io.WriterFactory):
    def create(self, filename):
        return Pipe()
with py7zr.SevenZipFile(sys.argv[2]) as archive:
    if sys.argv[1] == "list":
        print(json.dumps([
            {"name": one.filename, "size": one.uncompressed, "folder": one.is_directory, "link": one.is_symlink,
             "encrypted": archive.needs_password()}
            for one in archive.files
        ]))
    else:
        archive.extractall(path="", factory=Pipes())
sys.stdout.flush()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    name: str
    size: int
    is_folder: bool
    fault: str


def members(path: Path, tally: Tally) -> Iterator[reading.Member]:
    """Every entry of a 7z archive.

    Raises:
        PreparationError: Nothing here reads it, or it is damaged, or holds more than is taken.
    """
    tool = next((found for name in _TOOLS if (found := shutil.which(name))), None)
    if tool is None and importlib.util.find_spec("py7zr") is None:
        raise PreparationError(
            f"{printable(tally.archive)} is a 7z archive, and nothing here reads one. Install the 7z tool (7-Zip), or "
            "the extra: pip install 'openmle-env[archives]'"
        )
    command = [tool] if tool else [sys.executable, "-P", "-c", _CHILD]
    entries = _list_by_tool(command, path, tally) if tool else _list_by_library(command, path, tally)
    for entry in entries:
        tally.add_entry(entry.name)
    with tempfile.TemporaryFile() as said:
        extract = [*command, "x", "-so", "-p", "-bd", "--", str(path)] if tool else [*command, "extract", str(path)]
        with subprocess.Popen(_limited(extract, tally), stdout=subprocess.PIPE, stderr=said) as process:
            try:
                yield from _contents(entries, process.stdout, tally)  # type: ignore[arg-type]  # it is a pipe
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise _failed(tally, said)


def _contents(entries: list[_Entry], pipe: IO[bytes], tally: Tally) -> Iterator[reading.Member]:
    for entry in entries:
        if entry.is_folder or entry.fault:
            yield reading.Member(name=entry.name, is_folder=entry.is_folder, fault=entry.fault)
            if entry.fault:
                _skip(Window(pipe, entry.size))
            continue
        window = Window(pipe, entry.size)
        yield reading.Member(name=entry.name, content=Counted(window, tally, entry.name))  # type: ignore[arg-type]
        _skip(window)
        if window.left:
            return  # its exit code says why
    if pipe.read(1):
        raise PreparationError(f"The archive {printable(tally.archive)} holds more than it lists. It is refused.")


def _skip(window: Window) -> None:
    while window.read(1 << 20):
        pass


def _limited(command: list[str], tally: Tally) -> list[str]:
    return ["/bin/sh", "-c", _LIMITED, str(tally.limits.memory_bytes // 1024), *command]


def _list(command: list[str], tally: Tally) -> str:
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run(
                _limited(command, tally), stdin=subprocess.DEVNULL, stdout=told, stderr=said, check=False,
                timeout=_LIST_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise PreparationError(f"The list of {printable(tally.archive)} does not end. It is refused.") from None
        if done.returncode:
            raise _failed(tally, said if said.tell() else told)
        if told.tell() > _MOST_OF_LIST:
            raise PreparationError(f"The list of {printable(tally.archive)} is too long. It is refused.")
        told.seek(0)
        return told.read().decode("utf-8", "surrogateescape")


def _list_by_library(command: list[str], path: Path, tally: Tally) -> list[_Entry]:
    return [
        _entry(one["name"], one["size"], is_folder=one["folder"], is_link=one["link"], encrypted=one["encrypted"])
        for one in json.loads(_list([*command, "list", str(path)], tally))
    ]


def _list_by_tool(command: list[str], path: Path, tally: Tally) -> list[_Entry]:
    text = _list([*command, "l", "-slt", "-p", "-sccUTF-8", "--", str(path)], tally)
    entries = []
    for block in text.partition("\n----------\n")[2].split("\n\n"):
        facts = dict(re.findall(r"^(\w[\w ]*?) = (.*)$", block, re.MULTILINE))
        if "Path" in facts:
            kind = facts.get("Attributes", "")
            entries.append(
                _entry(
                    facts["Path"],
                    int(facts.get("Size") or 0),
                    is_folder=kind.startswith("D"),
                    is_link=bool(re.search(r"(^| )l[r-]", kind)) or "Symbolic Link" in facts,
                    encrypted=facts.get("Encrypted") == "+",
                )
            )
    return entries


def _entry(name: str, size: int, *, is_folder: bool, is_link: bool, encrypted: bool) -> _Entry:
    fault = "is a symbolic link" if is_link else ""
    if encrypted:
        fault = "is encrypted: take it apart by hand, with its password"
    return _Entry(name=name, size=0 if is_folder else size, is_folder=is_folder and not fault, fault=fault)


def _failed(tally: Tally, said: IO[bytes]) -> PreparationError:
    said.seek(0)
    text = said.read(1 << 16).decode("utf-8", "replace")
    if "MemoryError" in text or "allocate memory" in text:
        return PreparationError(
            f"{printable(tally.archive)} needs more than {tally.limits.memory_bytes >> 20} MiB of memory to be read. "
            "Take it apart by hand, or install the 7z tool (7-Zip), which needs less than py7zr."
        )
    if re.search(r"PasswordRequired|[Ww]rong password|encrypted archive", text):
        return PreparationError(f"{printable(tally.archive)} is encrypted. Take it apart by hand, with its password.")
    last = printable("\n".join(text.strip().splitlines()[-3:]))[-500:]
    return PreparationError(
        f"The archive {printable(tally.archive)} cannot be read: it is damaged, or packed by a method that is not "
        f"known here. Nothing of it was kept. {last}"
    )
