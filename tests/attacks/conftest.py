"""Which hostile programs run where: all of them everywhere is what the page of attacks is made from, and takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.attacks.header import WAYS, attacks

if TYPE_CHECKING:
    import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave each program one of the two ways on each backend, the other one on the other backend.

    What is aimed at the next program of a session always runs in sessions, too; and what is asked for by its whole name
    runs.
    """
    if config.getoption("--every-way") or any("[" in argument for argument in config.args):
        return
    place = {attack.name: number for number, attack in enumerate(attacks()) if attack.kind != "session"}
    kept, left_out = [], []
    for item in items:
        call = getattr(item, "callspec", None)
        parameters = call.params if call else {}
        name = parameters.get("name")
        if item.name.startswith("test_the_box_holds[") and name in place:
            backend, way = parameters["fought"]
            turn = (place[name] + (backend == "docker")) % len(WAYS)
            (kept if way == WAYS[turn] else left_out).append(item)
        else:
            kept.append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
