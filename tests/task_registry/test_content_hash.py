"""Digests over values: the same for the same values however they are packed, another for other values."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import struct
import zipfile
import zlib

import numpy as np
import pytest

from openmle_env.errors import PackError, PreparationError
from openmle_env.task_registry.content_hash import digest
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.prepare import prepare

TEXT = b"id,kind\n" + b"1,cat\n" * 5000


def zipped(names: list[str], level: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name, (1980 + level, 1, 1, 0, 0, 0)), name.encode() * 50)
    return made.getvalue()


def arrays(save, **values: object) -> bytes:
    made = io.BytesIO()
    save(made, **values)
    return made.getvalue()


def locked(content: bytes) -> bytes:
    """A zip file whose first member says that it has a password."""
    changed = bytearray(content)
    changed[changed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(changed)


def png(level: int, pixel: int = 0, pieces: int = 1, comment: bytes = b"", *, empty: bool = False) -> bytes:
    rows = zlib.compress(b"".join(b"\0" + bytes([pixel, 1, 2]) for _ in range(500)), level)
    size = -(-len(rows) // pieces)
    blocks = [(b"IHDR", struct.pack(">IIBBBBB", 3, 500, 8, 0, 0, 0, 0)), (b"tEXt", comment)]
    blocks += [(b"IDAT", b"")] * empty
    blocks += [(b"IDAT", rows[start : start + size]) for start in range(0, len(rows), size)]
    made = b"\x89PNG\r\n\x1a\n"
    for kind, content in [*blocks, (b"IEND", b"")]:
        made += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return made


@pytest.mark.parametrize(
    ("name", "one", "same", "other"),
    [
        ("a.csv.gz", gzip.compress(TEXT, 1, mtime=1), gzip.compress(TEXT, 9, mtime=2), gzip.compress(TEXT + b"2")),
        ("a.csv.xz", lzma.compress(TEXT, preset=0), lzma.compress(TEXT, preset=6), lzma.compress(TEXT[:-1])),
        ("a.csv.bz2", bz2.compress(TEXT, 1), bz2.compress(TEXT, 9), bz2.compress(b"")),
        ("a.zip", zipped(["a", "b"], 1), zipped(["b", "a"], 9), zipped(["a", "c"], 1)),
        (
            "a.npz",
            arrays(np.savez, x=np.arange(9), y=np.zeros(2)),
            arrays(np.savez_compressed, x=np.arange(9), y=np.zeros(2)),
            arrays(np.savez, x=np.arange(9), y=np.zeros(2, "f4")),
        ),
        ("a.png", png(1, comment=b"now"), png(9, pieces=3, empty=True), png(1, pixel=1)),
    ],
)
def test_values_count_and_not_how_they_are_packed(tmp_path, name, one, same, other):
    assert one != same
    assert digest(name, one) == digest(name, same) != digest(name, other)
    (tmp_path / "file").write_bytes(same)
    assert digest(name, tmp_path / "file") == digest(name, one)


def test_a_compressed_file_has_the_digest_of_what_is_in_it():
    assert digest("public/a.csv.gz", gzip.compress(TEXT)) == f"values:{hashlib.sha256(TEXT).hexdigest()}"


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("public/a.csv", TEXT, PackError, "a.csv has no digest over values.*State the SHA-256 of its bytes"),
        ("a.png", TEXT, PackError, "no PNG"),
        ("a.png", png(1)[:60], PreparationError, "a.png cannot be read"),
        ("a.csv.gz", gzip.compress(TEXT)[:-9], PreparationError, "a.csv.gz cannot be read"),
        ("a.csv.gz", TEXT, PreparationError, "a.csv.gz cannot be read"),
        ("a.npz", TEXT, PreparationError, "a.npz cannot be read"),
        ("a.zip", locked(zipped(["a"], 1)), PreparationError, "a.zip cannot be read.*password"),
    ],
)
def test_what_has_no_values(name, content, error, message):
    with pytest.raises(error, match=message):
        digest(name, content)


PACKED = """\
    import gzip, os
    clock = int.from_bytes(os.urandom(3), "little")
    (public / "extra.csv.gz").write_bytes(gzip.compress(b"a,b\\n", mtime=clock))
"""


def test_a_pack_may_state_values_and_two_runs_may_pack_them_differently(write_pack, unfinished, box):
    unfinished["utils/prepare.py"] += PACKED
    prepared = prepare(open_pack(write_pack(unfinished)), sandbox=box)
    assert len(box.jobs) == 2
    stated = {file.name: file.sha256 for file in prepared.manifest.files}
    stated["public/extra.csv.gz"] = "values:" + hashlib.sha256(b"a,b\n").hexdigest()
    contents = "contents:\n" + "".join(f"  {name}: {value}\n" for name, value in stated.items())
    changes = {"pack.yaml": unfinished["pack.yaml"] + contents}
    prepare(open_pack(write_pack(unfinished, changes, name="stated")), sandbox=box)
    assert len(box.jobs) == 3
    changes["utils/prepare.py"] = unfinished["utils/prepare.py"].replace("a,b", "a,c")
    found = "values:" + hashlib.sha256(b"a,c\n").hexdigest()
    with pytest.raises(PackError, match=f"extra.csv.gz is not the file .* its SHA-256 is {found}"):
        prepare(open_pack(write_pack(unfinished, changes, name="changed")), sandbox=box)
