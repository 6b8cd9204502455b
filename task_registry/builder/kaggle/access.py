"""Asking Kaggle, before anything is fetched, which sources it hands out to this account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openmle_env.task_registry.builder.kaggle.client import (
    KaggleError,
    KaggleRefusedError,
    NotOnKaggleError,
    UnobtainableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openmle_env.task_registry.builder.kaggle.client import KaggleClient
    from openmle_env.task_registry.builder.sources import Source

Verdict = Literal["ready", "rules to accept", "not handed out", "not found", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What Kaggle says of one source."""

    source: Source
    verdict: Verdict
    """``unknown``: Kaggle did not answer."""
    size: int | None = None
    """Bytes of its files, as far as they are listed."""
    reason: str = ""
    """What to do, or what Kaggle said."""


def check_access(
    client: KaggleClient, sources: Sequence[Source], tell: Callable[[str], None] = lambda _text: None
) -> list[Access]:
    """Ask for each source on Kaggle; folders are left out.

    Raises:
        KaggleRefusedError: The keys are not taken, so that nothing can be had.
    """
    found = []
    for source in sources:
        if source.on_kaggle:
            tell(f"asking Kaggle for {source.name}")
            found.append(_access(client, source))
    return found


def _access(client: KaggleClient, source: Source) -> Access:
    try:
        size = client.listing(source).size
        known = client.competition(source) if source.kind == "competition" else None
    except KaggleRefusedError:
        raise
    except NotOnKaggleError as error:
        return Access(source=source, verdict="not found", reason=str(error))
    except UnobtainableError as error:
        verdict: Verdict = "rules to accept" if source.kind == "competition" else "not handed out"
        return Access(source=source, verdict=verdict, reason=str(error))
    except KaggleError as error:
        return Access(source=source, verdict="unknown", reason=str(error))
    if known is not None and known.get("entered") is False:
        return Access(
            source=source,
            verdict="rules to accept",
            size=size,
            reason=f"Accept the rules at {source.rules}; if that page has no button for it, the competition is closed.",
        )
    return Access(source=source, verdict="ready", size=size)
