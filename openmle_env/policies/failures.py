"""Why no reply could be had, by what has to be done about it."""

from __future__ import annotations

from typing import ClassVar

from openmle_env.errors import PolicyError


class ModelError(PolicyError):
    """Base of the errors of this layer."""

    terminal: ClassVar[bool] = False
    """Whether every further request will end the same way, so that a run should stop and can be resumed later."""


class AccessError(ModelError):
    """There is no key, or the server does not accept it."""

    terminal = True


class UnknownModelError(ModelError):
    """The server does not know the model, or there is none at the address."""

    terminal = True


class QuotaError(ModelError):
    """What was paid for at the provider is used up."""

    terminal = True


class LimitError(ModelError):
    """A limit of our own ledger is reached: money, tokens or calls. Nothing was sent."""

    terminal = True


class RequestRefusedError(ModelError):
    """The server takes no such request: it is too long, say. Others may do."""


class ServerError(ModelError):
    """The server was busy, failed or answered with something that is no reply, again and again."""


class TooLateError(ModelError, TimeoutError):
    """The deadline of the request passed before there was a reply."""


class ClosedError(ModelError):
    """The policy was closed while the request waited."""

    terminal = True
