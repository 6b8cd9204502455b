"""The one exception tree. A message says what is wrong, which value, and what to do next.

Every exception takes a single argument, the message, so that it survives pickling between processes.
What a program does wrong is never an exception: it is a `ResultStatus` (see `openmle_env.types`).
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

from openmle_env.types import Fault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class OpenMLEError(Exception):
    """Base of every exception that this package raises on purpose."""

    fault: ClassVar[Fault] = Fault.AGENT
    """Who has to act: agent (the caller), task (the pack's author) or infrastructure (the machine)."""


class UsageError(OpenMLEError, ValueError):
    """An argument, option or setting is wrong; nothing was started."""


class UnknownNameError(UsageError):
    """A name (task, metric, sandbox, option) that does not exist."""


class PackError(OpenMLEError, ValueError):
    """A task pack cannot be used as it is: a file is missing, or its contents contradict each other."""

    fault = Fault.TASK


class PreparationError(OpenMLEError, RuntimeError):
    """Making a task's data failed; nothing half-made was kept."""

    fault = Fault.TASK


class InfrastructureError(OpenMLEError, RuntimeError):
    """The machine failed, not the program: no engine, no space, no permission."""

    fault = Fault.INFRASTRUCTURE


class SandboxUnavailableError(InfrastructureError):
    """No sandbox could be started. Nothing of the program ran."""


class PolicyError(InfrastructureError):
    """No reply could be had from a model: its key, name, budget, server or deadline stands in the way."""


class DiskFullError(InfrastructureError, OSError):
    """No space is left where results are written; what was written before is whole."""


_NEAR = 0.6
"""How alike two names are at least, from 0 to 1, where one may be meant for the other."""
_MANY = 200
"""Of more names than this only as many as this, the nearest, are looked at closely."""
_PREFIX = 3
"""From so many characters on, the beginning of a name is near it, however long the rest."""


def unknown_name(kind: str, name: str, known: Iterable[str], *, hint: str = "") -> UnknownNameError:
    """Build the error for an unknown ``name``, with close matches among ``known``; case means nothing here.

    >>> print(unknown_name("task", "titanc", ["titanic", "bikes"]))
    There is no task 'titanc'. Did you mean 'titanic'?
    >>> print(unknown_name("metric", "Log Loss", ["log_loss", "RMSE"]))
    There is no metric 'Log Loss'. Did you mean 'log_loss'?
    >>> print(unknown_name("metric", "top_k", ["top_k_accuracy", "RMSE"]))
    There is no metric 'top_k'. Did you mean 'top_k_accuracy'?
    """
    names = sorted(known)
    folded = {_folded(one): one for one in reversed(names)}
    wanted = _folded(name)
    matches = get_close_matches(wanted, _shortlist(wanted, folded), n=3, cutoff=_NEAR)
    if len(wanted) >= _PREFIX:
        matches += sorted(one for one in folded if one.startswith(wanted) and one not in matches)
    close = [folded[match] for match in matches[:3]]
    if close:
        tail = f" Did you mean {' or '.join(repr(match) for match in close)}?"
    elif len(names) <= 16:
        tail = f" Known: {', '.join(names) or 'none'}."
    else:
        tail = ""
    return UnknownNameError(f"There is no {kind} {name!r}.{tail}{' ' + hint if hint else ''}")


def _shortlist(wanted: str, names: Collection[str]) -> Collection[str]:
    """The nearest of very many names, by a measure that is quicker than difflib's, and never below it."""
    if len(names) <= _MANY:
        return names
    from rapidfuzz import fuzz, process  # only where something is misspelt

    return [
        name for name, *_ in process.extract(wanted, [*names], scorer=fuzz.ratio, score_cutoff=100 * _NEAR, limit=_MANY)
    ]


def _folded(name: str) -> str:
    """A name in one spelling of its case and of what joins its words, so that ``ROC-AUC`` is near ``roc_auc``."""
    return name.casefold().replace("-", "_").replace(" ", "_").replace("@", "_at_")
