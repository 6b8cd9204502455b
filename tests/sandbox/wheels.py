"""Small wheels, as an index or a folder would have them."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def make_wheel(
    folder: Path, name: str, version: str = "1.0", *, files: Mapping[str, str], requires: Sequence[str] = ()
) -> Path:
    """Write a wheel of pure Python; ``files`` are its contents by their path in site-packages."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {item}\n" for item in requires)
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    contents[f"{info}/RECORD"] = "".join(f"{item},,\n" for item in (*contents, f"{info}/RECORD"))
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for item, text in contents.items():
            file.writestr(item, text)
    return path


ANSWER = 42
TINY = "openmle_tiny"


def make_tiny(folder: Path) -> Path:
    """A wheel that needs numpy, and brings a folder of tests and a file that runs at an interpreter's start."""
    folder.mkdir(exist_ok=True)
    return make_wheel(
        folder,
        TINY,
        files={
            f"{TINY}/__init__.py": f"import numpy\nvalue = int(numpy.int64({ANSWER}))\n",
            f"{TINY}/tests/answers.py": "hidden = 1\n",
            f"{TINY}.pth": "import sys; sys.started = True\n",
        },
        requires=["numpy"],
    )
