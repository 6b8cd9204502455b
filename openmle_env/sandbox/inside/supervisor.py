"""PID 1 of a box: starts programs' processes, watches them, ends everything, and reports. Runs no untrusted code.

Started as ``python -I -S -c`` with the folder above this one on the path, its configuration as JSON in ``OPENMLE_BOX``
(made in box.py). `frames` says how it speaks. It serves one job and ends; or, where its configuration says ``forks``,
one after the other, each program forked from a process that has imported the libraries, until its owner goes, nothing
comes for a while, or a program left something that could not be removed.
"""

# Every import delays every box: no pathlib.
# ruff: noqa: PTH123

from __future__ import annotations

import itertools
import json
import os
import signal
from typing import NoReturn

from . import OUTPUT, PROGRAM_PATH, memory, sweep
from .collect import Collector
from .confine import act_as, confine
from .frames import give_up, receive, send, send_json, wait_for_job
from .processes import Forking, Once, Waiting, cpu_seconds_of
from .watch import Run, Wakeups

SHARED = ("/work", OUTPUT)
"""Folders that all users of a box write to, where its programs are users of their own."""


def main() -> NoReturn:
    """Serve what comes and end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # PID 1 ignores what has its default action
    config = json.loads(os.environ["OPENMLE_BOX"])
    waiting: Once | Forking
    try:
        if config["users"]:
            for folder in SHARED:  # engines give a new file system the mode of what it covers
                os.chmod(folder, 0o1777)  # noqa: PTH101, S103  no pathlib here; as /tmp
        confine(config)
        waiting = Forking(config) if config["forks"] else Once(config)
    except OSError as error:
        give_up(f"The box could not be confined: {error}")
    folders = memory.memory_folders()  # looked up while the modules are imported
    waiting.wait_ready()
    wakeups = Wakeups()
    box = Box(folders, forks=config["forks"])
    users = itertools.cycle(range(*config["users"]) if config["users"] else [None])
    while True:
        user = next(users)
        waiting.prepare(user)
        send(b"R")
        wait_for_job(config["idle_seconds"])
        if not box.serve(waiting, user, wakeups):
            os._exit(0)


class Box:
    """What is the same for all programs that a box serves."""

    def __init__(self, folders: list[str], *, forks: bool) -> None:
        self.folders = folders
        self.modes = {folder: os.lstat(folder).st_mode for folder in folders}
        if forks:  # what the modules wrote when they were imported is not a program's to remove
            sweep.empty(folders, self.modes)
        self.unused = memory.usage_of(folders)
        self.own = os.getuid()

    def serve(self, waiting: Waiting, user: int | None, wakeups: Wakeups) -> bool:
        """Run one job and report; returns whether the box is as it was before."""
        job, program = json.loads(receive()), receive()
        if user is not None:
            act_as(user, self.own)
        with open(PROGRAM_PATH, "wb") as file:
            file.write(program)
        if user is not None:
            act_as(self.own, self.own)
        kills, peak = memory.cgroup_oom_kills(), memory.cgroup_peak_bytes()
        started = waiting.start({key: job[key] for key in ("rlimits", "environment")})
        imports = 0.0 if waiting.spare else cpu_seconds_of(started.pid)
        run = Run(started, job, self.folders, waiting, user)
        run.watch(job["wall_seconds"], wakeups)
        if user is not None:
            act_as(user, self.own)
        files, size = memory.usage_of(self.folders)
        collector = Collector(job["artifact_bytes"], job["artifact_files"])
        for name in job["collect"]:
            collector.collect(name)
        highest = memory.cgroup_peak_bytes()
        send_json(
            b"F",
            {
                "end": run.end,
                "exit_code": run.exit_code,
                "wall_seconds": run.seconds,
                "cpu_seconds": max(0.0, run.cpu_seconds - imports),
                # The cgroup remembers the most that any program of the box used.
                "peak_bytes": highest if highest > peak else run.peak_bytes,
                "oom_kills": memory.cgroup_oom_kills() - kills + (run.end == "memory"),
                "memory_error": run.memory_error,
                "processes_killed": run.strays,
                "stdout_bytes": run.logs[started.stdout].total,
                "stderr_bytes": run.logs[started.stderr].total,
                "disk_bytes": max(0, size - self.unused[1]),
                "files": max(0, files - self.unused[0]),
            },
        )
        run.close()
        if not waiting.spare or run.spare_died or run.remains:
            return False
        clean = sweep.empty(self.folders, self.modes)
        if user is not None:
            act_as(self.own, self.own)
        return clean and memory.usage_of(self.folders) == self.unused
