"""What a pack's own metric said of itself: it may quote the hidden answers, so it never goes to the ordinary log."""

from __future__ import annotations

import logging
import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1 << 20
"""A file that would grow beyond this is begun again."""
MAX_ENTRY_CHARACTERS = 8_000
"""The end of an entry that is kept."""

_log = logging.getLogger(__name__)
_lock = threading.Lock()


class PrivateLog:
    """A file that only its owner can read, of bounded size. Safe to write from several threads at once."""

    def __init__(self, path: Path) -> None:
        """Nothing is written yet; the folder of ``path`` has to be there."""
        self._path = path

    def __call__(self, text: str) -> None:
        """Append an entry with the time; where that is impossible, the ordinary log says so."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entry = f"{when} {text[-MAX_ENTRY_CHARACTERS:].rstrip()}\n".encode("utf-8", "replace")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with _lock, os.fdopen(os.open(self._path, flags, 0o600), "ab") as file:
                os.fchmod(file.fileno(), 0o600)
                if os.fstat(file.fileno()).st_size + len(entry) > MAX_BYTES:
                    file.truncate(0)
                file.write(entry)
        except OSError as error:
            _log.warning("The private log %s cannot be written: %s", self._path, error.strerror)
