"""The kinds of values in ``pack.yaml`` and in other files of a pack, each with its check."""

from __future__ import annotations

import keyword
import math
import re
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from openmle_env.task_registry.index import MAX_SLUG

SLUG = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")
SHA256 = re.compile(r"[0-9a-f]{64}")
VALUES = "values:"
"""Stands before a SHA-256 over what a file says rather than over its bytes (see `content_hash`)."""


def _is_slug(value: str) -> str:
    if not SLUG.fullmatch(value) or len(value) > MAX_SLUG:
        raise ValueError(
            f"should be up to {MAX_SLUG} lower-case letters and digits, joined by '-', '_' or '.', as in 'house-prices'"
        )
    return value


def _is_inside(value: str) -> str:
    path = PurePosixPath(value)
    if not value or path.is_absolute() or ".." in path.parts or "\\" in value or "\0" in value:
        raise ValueError("should be a path inside the pack's folder, relative and without '..'")
    return str(path)


def _is_module(value: str) -> str:
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in value.split(".")):
        raise ValueError("should be the name of a Python module, as in 'sklearn.linear_model'")
    return value


def _is_sha256(value: str) -> str:
    if not SHA256.fullmatch(value):
        raise ValueError("should be a SHA-256, 64 digits of 0-9 and a-f, as sha256sum prints it")
    return value


def _is_digest(value: str) -> str:
    if not SHA256.fullmatch(value.removeprefix(VALUES)):
        raise ValueError(f"should be a SHA-256 of 64 digits, alone or after {VALUES!r}")
    return value


def _is_file_name(value: str) -> str:
    if not value or value.startswith(".") or any(character in "/\\\0" for character in value):
        raise ValueError("should be the name of a file, without a folder")
    return value


def is_number(value: object) -> object:
    """Check one that may be whole or not: a union of types would be refused once for each.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("should be a number")  # noqa: TRY004  pydantic reports ValueError, not TypeError
    return value


def _is_parameter(value: object) -> object:
    """One value or a list of them: checked here, since a union of types would be refused once for each."""
    many = isinstance(value, list | tuple)
    for one in value if many else (value,):  # type: ignore[attr-defined]  # a sequence, if many
        if not isinstance(one, bool | int | float | str) or (isinstance(one, float) and not math.isfinite(one)):
            raise ValueError("should be a text, a finite number, true or false, or a list of such values")
    return tuple(value) if many else value  # type: ignore[arg-type]  # as above


Slug = Annotated[str, AfterValidator(_is_slug)]
InsidePath = Annotated[str, AfterValidator(_is_inside)]
ModuleName = Annotated[str, AfterValidator(_is_module)]
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(strict=True, ge=1)]
Number = Annotated[float, Field(strict=True)]
Seconds = Annotated[float, Field(strict=True, gt=0, lt=1e9)]
Sha256 = Annotated[str, AfterValidator(_is_sha256)]
Digest = Annotated[str, AfterValidator(_is_digest)]
FileName = Annotated[str, AfterValidator(_is_file_name)]
Parameter = Annotated[Any, BeforeValidator(_is_parameter)]
