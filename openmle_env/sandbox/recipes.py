"""What decides what boxes can import, as one hash: it names the image, and the folder of extra packages."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

from openmle_env.sandbox import packages
from openmle_env.sandbox.requirements import NONE, Requirements

DIGITS = 12
"""How much of the hash a name holds."""
Progress = Callable[[str, float], None]
"""Called with what is being done and the fraction done, 0 to 1."""
_CODE = ("image_build.py", "image_parts.py", "packages.py")
_CODE_OF_EXTRAS = ("Dockerfile", "extras.py", "image_install.py", "pip.py")


@functools.cache
def recipe(requirements: Requirements = NONE) -> str:
    """Hash of the library versions, the interpreter's, the code that puts them together, and the extra packages."""
    versions = sorted((item.metadata["Name"], item.version) for item in packages.distributions())
    names = (*_CODE, *_CODE_OF_EXTRAS) if requirements.lines else _CODE
    code = [text(name) for name in names]
    document = json.dumps([versions, sys.version_info[:3], code, requirements.lines], sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()


def text(name: str) -> str:
    """The contents of a file of this folder."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
