"""A space of Unicode text, with what Gymnasium's vector environments and wrappers need to carry it.

`gymnasium.spaces.Text` refuses blanks and line breaks unless every character is listed, and lists of that
length are slow. `UnicodeText` is bounded by length only.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from gymnasium.spaces import Space
from gymnasium.spaces import utils as space_utils
from gymnasium.vector.utils import shared_memory

from openmle_env.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.sharedctypes import SynchronizedArray

_ALPHABET = np.array(list("abcdefghijklmnopqrstuvwxyz0123456789 \n_()=.:#"))


class UnicodeText(Space[str]):
    r"""Every well-formed Unicode string of ``min_length`` to ``max_length`` code points.

    Strings that hold lone surrogates are not members: they cannot be written as UTF-8.

    >>> space = UnicodeText(10)
    >>> "naïve 🚢\n" in space, "\ud800" in space, "far too long" in space
    (True, False, False)
    """

    def __init__(self, max_length: int, *, min_length: int = 0, seed: int | np.random.Generator | None = None) -> None:
        if not 0 <= min_length <= max_length:
            raise UsageError(f"UnicodeText needs 0 <= min_length <= max_length; it got {min_length} and {max_length}.")
        self.min_length = int(min_length)
        self.max_length = int(max_length)
        super().__init__(shape=None, dtype=None, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draw a short text, of at most 256 characters unless ``min_length`` asks for more.

        Raises:
            UsageError: A mask or probability was given; neither has a meaning for text.
        """
        if mask is not None or probability is not None:
            raise UsageError("UnicodeText.sample() takes neither mask nor probability.")
        longest = min(max(256, self.min_length), self.max_length)
        length = int(self.np_random.integers(self.min_length, longest + 1))
        return "".join(self.np_random.choice(_ALPHABET, size=length).tolist())

    def contains(self, x: object) -> bool:
        """Whether ``x`` is a string within the bounds that UTF-8 can represent."""
        if not isinstance(x, str) or not self.min_length <= len(x) <= self.max_length:
            return False
        try:
            x.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return True

    @property
    def is_np_flattenable(self) -> bool:
        """Always False: text has no fixed-size numeric form."""
        return False

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length}, min_length={self.min_length})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UnicodeText)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
        )

    def __hash__(self) -> int:
        return hash((self.min_length, self.max_length))


# Wrappers such as FlattenObservation leave text as it is, as they do graphs and sequences.

_T = TypeVar("_T")


@space_utils.flatdim.register(UnicodeText)
def _flatdim(space: UnicodeText) -> int:
    raise ValueError(f"{space} has no flattened size: text has a dynamic length.")


def _unchanged(space: UnicodeText, x: _T) -> _T:  # noqa: ARG001  the signature is Gymnasium's
    return x


space_utils.flatten.register(UnicodeText, _unchanged)
space_utils.unflatten.register(UnicodeText, _unchanged)


@space_utils.flatten_space.register(UnicodeText)
def _flatten_space(space: UnicodeText) -> UnicodeText:
    return space


@space_utils.is_space_dtype_shape_equiv.register(UnicodeText)
def _is_equivalent(space_1: UnicodeText, space_2: Space[Any]) -> bool:
    return space_1 == space_2


# AsyncVectorEnv keeps observations in shared memory: here each text has a slot of a fixed size that holds the
# length of its UTF-8 form in bytes, then that form (at most 4 bytes for a code point).

_HEADER = 8


def _slot(space: UnicodeText) -> int:
    return _HEADER + 4 * space.max_length


@shared_memory.create_shared_memory.register(UnicodeText)
def _create_shared(space: UnicodeText, n: int = 1, ctx: Any = multiprocessing) -> SynchronizedArray[Any]:
    memory: SynchronizedArray[Any] = ctx.Array("B", n * _slot(space))
    return memory


@shared_memory.write_to_shared_memory.register(UnicodeText)
def _write_shared(space: UnicodeText, index: int, value: str, memory: SynchronizedArray[Any]) -> None:
    data = value.encode("utf-8")
    start = index * _slot(space)
    buffer = _bytes_of(memory)
    buffer[start : start + _HEADER] = len(data).to_bytes(_HEADER, "little")
    buffer[start + _HEADER : start + _HEADER + len(data)] = data


@shared_memory.read_from_shared_memory.register(UnicodeText)
def _read_shared(space: UnicodeText, memory: SynchronizedArray[Any], n: int = 1) -> SharedTexts:
    return SharedTexts(memory, n, _slot(space))


class SharedTexts(Sequence[str]):
    """The texts of a batch, decoded from shared memory whenever one is looked at; a deep copy is a plain tuple.

    AsyncVectorEnv reads the memory once, when it is made, and deep-copies what it got at every step.
    """

    def __init__(self, memory: SynchronizedArray[Any], count: int, slot: int) -> None:
        self._memory = memory
        self._count = count
        self._slot = slot

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        start = range(self._count)[index] * self._slot
        buffer = _bytes_of(self._memory)
        size = int.from_bytes(buffer[start : start + _HEADER], "little")
        return bytes(buffer[start + _HEADER : start + _HEADER + size]).decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(self._count))

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


def _bytes_of(memory: SynchronizedArray[Any]) -> memoryview:
    return memoryview(memory.get_obj()).cast("B")
