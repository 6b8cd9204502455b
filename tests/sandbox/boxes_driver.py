"""A process that owns boxes, for tests that end it: ``python boxes_driver.py '{"backend": ..., ...}'``.

It prints ``ready`` once it has what it was asked for: programs that run, boxes that wait or are a session's.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmle_env.sandbox import pool
from openmle_env.sandbox.bubblewrap import BubblewrapSandbox
from openmle_env.types import Execution, Job, Limits

if TYPE_CHECKING:
    from openmle_env.sandbox.box import BoxSandbox
    from openmle_env.types import Warm

HOSTILE = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
    signal.signal(number, signal.SIG_IGN)
def rename(name):
    with open("/proc/self/comm", "w") as file:
        file.write(name)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        rename("hostile-child")
        while True:
            time.sleep(1)
    os._exit(0)
rename("hostile")
while True:
    time.sleep(1)
"""
"""Ignores what can be ignored, and leaves a child in a session of its own."""
LIMITS = Limits(memory_mb=128, wall_seconds=600, processes=32, inodes=1000)


def make(backend: str, image: str, warm: Warm) -> BoxSandbox:
    """A sandbox, without looking whether it works."""
    if backend == "bubblewrap":
        return BubblewrapSandbox(warm=warm)
    from openmle_env.sandbox.docker import DockerSandbox

    return DockerSandbox(image, warm=warm)


def job(program: str, folder: str, session: str = "", limits: Limits = LIMITS) -> Job:
    """A job that may have a box that waits."""
    return Job(program=program, inputs={"/data": Path(folder)}, collect=(), limits=limits, modules=(), session=session)


def run_until_warm(sandbox: BoxSandbox, folder: str) -> None:
    """Until a box that waited served a program; its replacement is being made then."""
    wanted = {"single": "warm", "forked": "forked", "off": "fresh"}[sandbox.warm]
    for _ in range(100):
        execution = sandbox.run(job("print(1)", folder, "first" if sandbox.warm == "forked" else ""))
        check(execution)
        if execution.box == wanted:
            return
        time.sleep(0.1)
    raise RuntimeError(f"no box was {wanted}")


def check(execution: Execution) -> None:
    """Stop where a plain program did not succeed."""
    if execution.stdout != "1\n":
        raise RuntimeError(str(execution))


def child(backend: str, image: str, warm: Warm, folder: str) -> None:
    """What a process that was forked in mid-run does: boxes of its own."""
    sandbox = make(backend, image, warm)
    check(sandbox.run(job("print(1)", folder)))
    os.write(1, f"{os.getpid()}\n".encode())
    sandbox.run(job(HOSTILE, folder, "child"))


def main(asked: dict[str, Any]) -> None:
    """Do what was asked for.

    Keys: ``backend``, ``image``, ``ways``, ``folder`` (the input); ``programs``: how many run in each way; ``idle``:
    whether boxes wait, and one is kept by a session; ``fork``: whether a child with boxes of its own is forked;
    ``end``: ``wait`` to be ended, ``leave`` to return from here without closing anything, ``main`` to have the main
    thread run a program until it is interrupted; ``wall_seconds`` and ``idle_seconds``: how long programs may run, and
    boxes wait by their own clock.
    """
    backend, image, folder = asked["backend"], asked["image"], asked["folder"]
    limits = replace(LIMITS, wall_seconds=asked.get("wall_seconds", LIMITS.wall_seconds))
    if "idle_seconds" in asked:
        pool.IDLE_SECONDS = asked["idle_seconds"] - 60  # a box adds these
    sandboxes = [make(backend, image, way) for way in asked["ways"]]
    if asked.get("idle"):
        for sandbox in sandboxes:
            sandbox.warm_up(job("print(1)", folder))
            run_until_warm(sandbox, folder)
    for sandbox in sandboxes:
        for number in range(asked.get("programs", 0)):
            arguments = (job(HOSTILE, folder, f"session {number}" if sandbox.warm == "forked" else "", limits),)
            threading.Thread(target=sandbox.run, args=arguments, daemon=True).start()
    if asked.get("fork"):
        input()  # until the programs run
        process = multiprocessing.get_context("fork").Process(target=child, args=(backend, image, sandbox.warm, folder))
        process.start()
    os.write(1, b"ready\n")
    if asked["end"] == "leave":
        input()
        return
    if asked["end"] == "main":
        sandbox.run(job(HOSTILE, folder))
    time.sleep(600)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
