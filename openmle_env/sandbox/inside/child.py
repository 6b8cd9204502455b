"""The supervisor's child: imports what it is told, waits for its job, then becomes the program.

Started as ``python child.py STATUS_FD JOB_FD NICE MODULES``. One byte on the status pipe says that it is ready;
a later ``M`` says that the program died of a `MemoryError`. The job is JSON on the other pipe; no job, no program.
"""

# Every import delays every box: no pathlib, no contextlib, and late imports where they can overlap with waiting.
# ruff: noqa: PTH123, SIM105

from __future__ import annotations

import os
import sys
from typing import Any

PROGRAM_PATH = "/work/program.py"
READY = b"R"
OUT_OF_MEMORY = b"M"


def _wait_for_job(status_fd: int, job_fd: int, nice: int, modules: list[str]) -> dict[str, Any]:
    import importlib
    import json

    for fd in (status_fd, job_fd):
        os.set_inheritable(fd, False)  # noqa: FBT003  positional only
    os.nice(nice)  # the supervisor must win against a fork bomb
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # where memory runs out, the program is to die and not the supervisor
    except OSError:
        pass  # some runtimes show this file read-only; the limit holds all the same
    for name in modules:
        importlib.import_module(name)
    os.write(status_fd, READY)
    data = bytearray()
    while chunk := os.read(job_fd, 1 << 16):
        data += chunk
    os.close(job_fd)
    if not data:
        os._exit(0)
    job: dict[str, Any] = json.loads(data)
    return job


def _apply(job: dict[str, Any]) -> None:
    import resource

    for name, value in job["rlimits"].items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))
    os.environ.update(job["environment"])


def _exit_code(leave: SystemExit) -> int:
    if leave.code is None:
        return 0
    if isinstance(leave.code, int):
        return leave.code & 0xFF
    print(leave.code, file=sys.stderr)
    return 1


def _run_program(status_fd: int) -> int:
    """Run the program as ``__main__`` and return the exit code that the interpreter would have given."""
    import builtins
    import types

    os.chdir("/work")
    sys.argv[:] = [PROGRAM_PATH]
    sys.path[0] = "/work"
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=PROGRAM_PATH, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = main
    try:
        with open(PROGRAM_PATH, "rb") as file:
            code = compile(file.read(), PROGRAM_PATH, "exec", dont_inherit=True)
        exec(code, main.__dict__)  # noqa: S102  running it is this file's purpose; the box confines it
    except SystemExit as leave:
        return _exit_code(leave)
    except BaseException as error:  # noqa: BLE001  the interpreter's own last resort is reproduced here
        # The first frame is this function: the program's traceback starts below it.
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        if isinstance(error, MemoryError):
            _tell(status_fd, OUT_OF_MEMORY)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _tell(fd: int, message: bytes) -> None:
    try:
        os.write(fd, message)
    except OSError:
        pass  # the program closed the pipe; it loses a better explanation, nothing else


def _leave(code: int) -> None:
    """Do at exit what a program can see, without tearing down every module (0.3 s with scikit-learn loaded)."""
    import atexit
    import threading
    import traceback

    # Neither step has a public name; both are what the interpreter itself does at exit.
    for action in (getattr(threading, "_shutdown"), getattr(atexit, "_run_exitfuncs")):  # noqa: B009  private
        try:
            action()
        except BaseException:  # noqa: BLE001  as in the interpreter: reported, and the exit goes on
            traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # closed or replaced by the program
    os._exit(code)


if __name__ == "__main__":
    _status_fd, _job_fd = int(sys.argv[1]), int(sys.argv[2])
    _modules = [name for name in sys.argv[4].split(",") if name]
    _apply(_wait_for_job(_status_fd, _job_fd, int(sys.argv[3]), _modules))
    _leave(_run_program(_status_fd))
