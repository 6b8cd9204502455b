"""Which devices this machine has, and which of them may be lent (the setting ``OPENMLE_GPUS``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from openmle_env import settings
from openmle_env.errors import UnknownNameError, UsageError
from openmle_env.sandbox.gpus import smi

Kind = Literal["gpu", "mig"]

_GPU_LINE = re.compile(r"GPU (\d+): (.+) \(UUID: (\S+)\)")
_MIG_LINE = re.compile(r"\s+(MIG \S+)\s+Device\s+(\d+): \(UUID: (\S+)\)")
_SHORTEST_PREFIX = 4
"""Of a uuid without ``GPU-`` or ``MIG-`` before it; less is taken for an index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device that a program can be given: a GPU, or a MIG instance of one that is divided."""

    uuid: str
    """``GPU-...`` or ``MIG-...``, the same in every process and container of this machine."""
    name: str
    memory_mb: int
    """All of its memory, in MiB; 0 where the driver does not tell (memory that is shared with the CPU)."""
    kind: Kind
    index: str
    """What nvidia-smi calls it: ``0``, or ``0:1`` for the second instance of the first GPU. Changes with reboots."""
    parent: str = ""
    """Of a MIG instance: the uuid of its GPU."""

    def __str__(self) -> str:
        return f"{self.index} ({self.uuid}, {self.name})"


def find() -> tuple[Device, ...]:
    """The devices of this machine, in nvidia-smi's order; a GPU that is divided is its instances, which may be none.

    Raises:
        SandboxUnavailableError: There is no nvidia-smi, it failed or hung; the message says what to do.
    """
    fields = ["index", "uuid", "memory.total", "mig.mode.current", "name"]
    try:
        rows = smi.query("gpu", fields)
    except smi.InvalidFieldError:  # a driver from before there was MIG
        rows = [[*row[:3], "", row[3]] for row in smi.query("gpu", [*fields[:3], "name"])]
    divided = {uuid for _, uuid, _, mode, _ in rows if mode == "Enabled"}
    instances = _instances() if divided else []
    found: list[Device] = []
    for index, uuid, memory, _, name in rows:
        if uuid in divided:
            found += [item for item in instances if item.parent == uuid]
        else:
            found.append(Device(uuid=uuid, name=name, memory_mb=mib(memory) or 0, kind="gpu", index=index))
    return tuple(found)


def _instances() -> list[Device]:
    """The MIG instances: their uuids are in the list of devices only, their memory in the long report only."""
    sizes = {
        (gpu.findtext("uuid", ""), item.findtext("index", "").strip()): item.findtext("fb_memory_usage/total", "")
        for gpu in smi.tree().iter("gpu")
        for item in gpu.iter("mig_device")
    }
    found = []
    number, name, parent = "", "", ""
    for line in smi.run("-L").splitlines():
        if gpu := _GPU_LINE.match(line):
            number, name, parent = gpu.groups()
        elif mig := _MIG_LINE.match(line):
            profile, index, uuid = mig.groups()
            memory = mib(sizes.get((parent, index), "")) or 0
            found.append(
                Device(
                    uuid=uuid,
                    name=f"{name} {profile}",
                    memory_mb=memory,
                    kind="mig",
                    index=f"{number}:{index}",
                    parent=parent,
                )
            )
    return found


def mib(cell: str) -> int | None:
    """A size as nvidia-smi writes it; None where it is not told.

    >>> mib("81559 MiB"), mib("12"), mib("[N/A]")
    (81559, 12, None)
    """
    number = cell.removesuffix("MiB").strip()
    return int(number) if number.isascii() and number.isdecimal() else None


def chosen(setting: str | None = None) -> tuple[Device, ...]:
    """The devices that may be lent: all, none, or those that the setting ``OPENMLE_GPUS`` names.

    Args:
        setting: Instead of the environment's: ``all``, ``none``, or indices, uuids or beginnings of uuids, with commas
            between them. The index of a GPU that is divided stands for all its instances.

    Raises:
        UnknownNameError: One that is named does not exist; the message lists those that do.
        UsageError: A beginning of a uuid fits several devices.
        SandboxUnavailableError: The devices could not be told.
    """
    wanted = [word.strip() for word in (settings.load().gpus if setting is None else setting).split(",")]
    wanted = [word for word in wanted if word]
    if not wanted or [word.casefold() for word in wanted] == ["none"]:
        return ()
    existing = find()
    if [word.casefold() for word in wanted] == ["all"]:
        return existing
    named = {device.uuid for word in wanted for device in _named(word, existing)}
    return tuple(device for device in existing if device.uuid in named)


def _named(word: str, existing: tuple[Device, ...]) -> list[Device]:
    folded = word.casefold()
    by_index = [item for item in existing if item.index == word or item.index.startswith(f"{word}:")]
    if by_index and word.replace(":", "").isdecimal():
        return by_index
    exact = [item for item in existing if folded in {item.uuid.casefold(), item.parent.casefold()} - {""}]
    if exact:
        return exact
    fitting = [item for item in existing if _begins(item.uuid.casefold(), folded)]
    if len(fitting) == 1:
        return fitting
    there = ", ".join(map(str, fitting or existing)) or "none"
    if fitting:
        raise UsageError(f"OPENMLE_GPUS: {word!r} fits several GPUs: {there}. Write more of the uuid.")
    raise UnknownNameError(f"There is no GPU {word!r}. This machine has: {there}. Correct OPENMLE_GPUS.")


def _begins(uuid: str, word: str) -> bool:
    bare = uuid.partition("-")[2]
    return len(word) >= _SHORTEST_PREFIX and (uuid.startswith(word) or bare.startswith(word))
