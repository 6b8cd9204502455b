"""Reads simple HDF5 files with the standard library and numpy.

As much of the format as files written with the oldest version of it need: superblock 0, groups with symbol tables, and
chunked data sets of numbers and fixed strings, compressed by deflate or not at all. Written after the public
"HDF5 File Format Specification Version 1.1". A field of eight bytes is an offset or a length.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIGNATURE = b"\x89HDF\r\n\x1a\n"
DATASPACE, DATATYPE, LAYOUT, FILTERS, CONTINUATION, SYMBOL_TABLE = 0x01, 0x03, 0x08, 0x0B, 0x10, 0x11
INTEGER, FLOAT, STRING, COMPOUND, ENUM = 0, 1, 3, 6, 8
CHUNKED, DEFLATE = 2, 1


@dataclass(frozen=True)
class Object:
    """A group or a data set: the messages of its header, by their kind."""

    messages: dict[int, int]
    """Where the body of each message starts. Of several of one kind the last one counts."""


class File:
    """An HDF5 file in memory.

    Raises:
        ValueError: It is no HDF5 file, or one that asks for more than this reader knows.
    """

    def __init__(self, path: Path) -> None:
        self._bytes = path.read_bytes()
        if self._bytes[:8] != SIGNATURE or self._bytes[8] != 0 or self._bytes[13:15] != b"\x08\x08":
            raise ValueError(f"{path.name} is no HDF5 file of superblock 0 with offsets of eight bytes")
        # The root group's entry stands behind four versions, sizes and addresses; its second field is the header.
        self._root = self._number(64)

    def read(self, name: str) -> np.ndarray:
        """The data set of a name such as ``group/data``; compound ones become structured arrays.

        Raises:
            ValueError: There is no such data set, or it is of a kind that this reader does not know.
        """
        place = self._root
        for part in name.split("/"):
            members = dict(self._members(self._object(place)))
            if part not in members:
                raise ValueError(f"no {part!r} of {name!r} in the file; it has {', '.join(sorted(members))}")
            place = members[part]
        found = self._object(place).messages
        shape = self._shape(found[DATASPACE])
        kind, _ = self._kind(found[DATATYPE])
        deflated = self._is_deflated(found[FILTERS]) if FILTERS in found else False
        return self._chunks(found[LAYOUT], shape, kind, deflated=deflated)

    def _number(self, place: int, form: str = "<Q") -> int:
        return int(struct.unpack_from(form, self._bytes, place)[0])

    def _object(self, place: int) -> Object:
        """The header at an address: version 1, with continuations."""
        if self._bytes[place] != 1:
            raise ValueError(f"an object header of version {self._bytes[place]}, not 1")
        waiting = [(place + 16, self._number(place + 8, "<I"))]
        messages: dict[int, int] = {}
        for start, size in waiting:  # grows while it is walked through
            at, end = start, start + size
            while at + 8 <= end:
                kind, length = struct.unpack_from("<HH", self._bytes, at)
                if kind == CONTINUATION:
                    waiting.append((self._number(at + 8), self._number(at + 16)))
                else:
                    messages[kind] = at + 8
                at += 8 + length
        return Object(messages)

    def _members(self, group: Object) -> Iterator[tuple[str, int]]:
        """Name and header address of each member of a group."""
        if SYMBOL_TABLE not in group.messages:
            raise ValueError("a group without a symbol table")
        tree, heap = (self._number(group.messages[SYMBOL_TABLE] + skip) for skip in (0, 8))
        names = self._number(heap + 24)
        for leaf in self._leaves(tree, key_size=8):
            node = leaf[1]
            for entry in range(self._number(node + 6, "<H")):
                at = node + 8 + 40 * entry
                start = names + self._number(at)
                yield self._bytes[start : self._bytes.index(b"\0", start)].decode(), self._number(at + 8)

    def _leaves(self, node: int, key_size: int) -> Iterator[tuple[int, int]]:
        """Where the key lies, and the address, of each child of the lowest nodes of a B-tree of version 1."""
        if self._bytes[node : node + 4] != b"TREE":
            raise ValueError("a B-tree of another version than 1")
        level, count = self._bytes[node + 5], self._number(node + 6, "<H")
        for child in range(count):
            key = node + 24 + child * (key_size + 8)
            address = self._number(key + key_size)
            if level:
                yield from self._leaves(address, key_size)
            else:
                yield key, address

    def _shape(self, place: int) -> tuple[int, ...]:
        version, rank = self._bytes[place], self._bytes[place + 1]
        start = place + (8 if version == 1 else 4)
        return tuple(self._number(start + 8 * axis) for axis in range(rank))

    def _kind(self, place: int) -> tuple[np.dtype, int]:
        """The type that is described at an address, and where its description ends."""
        version, kind = divmod(self._bytes[place], 16)
        bits, size = self._number(place + 1, "<H"), self._number(place + 4, "<I")
        if kind == INTEGER:
            return np.dtype(f"{'>' if bits & 1 else '<'}{'i' if bits & 8 else 'u'}{size}"), place + 12
        if kind == FLOAT:
            return np.dtype(f"{'>' if bits & 1 else '<'}f{size}"), place + 20
        if kind == STRING:
            return np.dtype(f"S{size}"), place + 8
        if kind == ENUM and version < 3:
            base, at = self._kind(place + 8)
            for _ in range(bits):
                at = self._after_name(at)
            return base, at + bits * base.itemsize
        if kind == COMPOUND and version < 3:
            names, offsets, kinds, at = [], [], [], place + 8
            for _ in range(bits):
                end = self._bytes.index(b"\0", at)
                names.append(self._bytes[at:end].decode())
                at = self._after_name(at)
                offsets.append(self._number(at, "<I"))
                rank, at = self._bytes[at + 4], at + (32 if version == 1 else 4)
                if version == 1 and rank:
                    raise ValueError(f"the field {names[-1]!r} is an array")
                member, at = self._kind(at)
                kinds.append(member)
            return np.dtype({"names": names, "formats": kinds, "offsets": offsets, "itemsize": size}), at
        raise ValueError(f"data of class {kind}, version {version}")

    def _after_name(self, place: int) -> int:
        """The end of a name, which is filled up to a multiple of eight bytes."""
        return place + (self._bytes.index(b"\0", place) - place) // 8 * 8 + 8

    def _is_deflated(self, place: int) -> bool:
        version, count = self._bytes[place], self._bytes[place + 1]
        first = self._number(place + (8 if version == 1 else 2), "<H")
        if count != 1 or first != DEFLATE:
            raise ValueError(f"{count} filters, the first of them {first}; only deflate is known")
        return True

    def _chunks(self, place: int, shape: tuple[int, ...], kind: np.dtype, *, deflated: bool) -> np.ndarray:
        version, layout, dimensions = self._bytes[place], self._bytes[place + 1], self._bytes[place + 2]
        if version != 3 or layout != CHUNKED or dimensions != len(shape) + 1:
            raise ValueError(f"a layout of version {version}, class {layout}; only chunks of version 3 are known")
        side = struct.unpack_from(f"<{len(shape)}I", self._bytes, place + 11)
        whole = np.zeros(shape, dtype=kind)
        for key, address in self._leaves(self._number(place + 3), key_size=8 * dimensions + 8):
            data = self._bytes[address : address + self._number(key, "<I")]
            # A bit of the mask says that the filter was left out for this chunk.
            plain = zlib.decompress(data) if deflated and not self._number(key + 4, "<I") else data
            start = struct.unpack_from(f"<{len(shape)}Q", self._bytes, key + 8)
            target = tuple(slice(begin, begin + length) for begin, length in zip(start, side, strict=True))
            chunk = np.frombuffer(plain, dtype=kind).reshape(side)
            view = whole[target]
            view[...] = chunk[tuple(slice(length) for length in view.shape)]
        return whole
