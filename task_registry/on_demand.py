"""A sandbox that is started only if something has to run in it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from openmle_env.sandbox.protocol import Sandbox


class SandboxOnDemand(AbstractContextManager["SandboxOnDemand"]):
    """Hands out the caller's sandbox, or starts the one of the settings at the first `get` and closes it at the end."""

    def __init__(self, given: Sandbox | None) -> None:
        self._given = given
        self._own: Sandbox | None = None

    def get(self) -> Sandbox:
        """The sandbox.

        Raises:
            SandboxUnavailableError: None can be started.
        """
        if self._given is not None:
            return self._given
        if self._own is None:
            from openmle_env import settings
            from openmle_env.sandbox import select  # loads the backends

            wanted = settings.load()
            self._own = select.create(wanted.sandbox, image=wanted.image)
        return self._own

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close what was started here; the caller's sandbox stays open."""
        if self._own is not None:
            self._own.close()
            self._own = None
