"""What a box is made for, beside the inputs and limits of its job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openmle_env.sandbox.layout import OF_A_MODULE

if TYPE_CHECKING:
    from openmle_env.sandbox.gpus.devices import Device
    from openmle_env.types import Limits

LEAST_MEMORY_MB, LEAST_CPUS = 384, 0.25
"""With less, libraries are left to the program: they would take most of its memory, or the box would not be ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a box is used."""

    modules: tuple[str, ...] = ()
    """What it imports before it is ready, where its limits allow that."""
    forks: bool = False
    """Whether it serves several programs, each forked from the process that has imported the modules."""
    idle_seconds: float = 120.0
    """After so many without a job it ends by its own clock."""
    gpus: tuple[Device, ...] = ()
    """The devices that it gets, lent to its one program."""

    def imports(self, limits: Limits) -> tuple[str, ...]:
        """The modules to import, with those that are commonly used of each."""
        if limits.memory_mb < LEAST_MEMORY_MB or limits.cpus < LEAST_CPUS:
            return ()
        return tuple(inner for module in self.modules for inner in OF_A_MODULE.get(module, (module,)))
