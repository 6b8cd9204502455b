"""A process that imports what it is told and waits: then it becomes the program, or forks one that does.

Started with the arguments ``once STATUS_FD JOB_FD NICE MODULES`` or ``forks STATUS_FD CONTROL_FD NICE MODULES``.
On the status pipe it says that it is ready. A process that was forked says its number there, and any program's a later
``M`` that it died of a `MemoryError`. A job is JSON on a pipe; no job, no program.
"""

# Every import delays every box: no pathlib, no contextlib, and late imports where they can overlap with waiting.
# ruff: noqa: PTH123, SIM105

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from . import PROGRAM_PATH

if TYPE_CHECKING:
    import socket

READY = b"R"
OUT_OF_MEMORY = b"M"


def _import(modules: list[str]) -> None:
    """Import what there is; of what cannot be imported, for whatever reason, the program learns by itself."""
    import importlib

    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001, S110  whatever a library raises when it is imported
            pass


def _die_first(score: int) -> None:
    """Where memory runs out, the program is to die rather than what serves it."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(score))
    except OSError:
        pass  # some runtimes show this file read-only; the limit holds all the same


def _read_job(job_fd: int) -> dict[str, Any]:
    import json

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


def _serve(control_fd: int, status_fd: int) -> tuple[int, int]:
    """Fork a process for each message that comes, and tell when one has ended.

    Returns in each of them, with its status and job descriptors.
    """
    import gc
    import select
    import signal
    import socket

    from . import confine

    control = socket.socket(fileno=control_fd)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(woken, select.POLLIN)
    gc.collect()
    gc.freeze()  # so that no collection in a program touches, and copies, what was imported
    confine.hide()
    _tell(status_fd, READY)
    os.close(status_fd)
    while True:
        events = dict(poll.poll())
        if woken in events:
            os.read(woken, 4096)
            _tell_ended(control)
        if control_fd not in events:
            continue
        message, descriptors, _, _ = socket.recv_fds(control, 16, 4)
        if not message:
            os._exit(0)
        if os.fork():
            for descriptor in descriptors:
                os.close(descriptor)
            continue
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        out, err, status, job = descriptors
        os.set_inheritable(status, False)  # noqa: FBT003  positional only
        os.dup2(out, 1)
        os.dup2(err, 2)
        for descriptor in (out, err, woken, wake):
            os.close(descriptor)
        control.close()
        _settle(int(message[1:]) if message[1:] else None)
        _tell(status, b"P%d" % os.getpid())
        return status, job


def _tell_ended(control: socket.socket) -> None:
    """Say of each process that has ended how, and what it used (see `processes.Ended`)."""
    from .processes import Ended

    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        control.send(b"%d %d %f %d" % Ended.of(pid, status, usage))


def _settle(user: int | None) -> None:
    """Make a forked process one of its own: user, session, random state, and a view of itself."""
    from . import confine

    os.setsid()
    if user is not None:
        confine.become(user)
    confine.show()
    _die_first(1000)
    generator = sys.modules.get("numpy.random")
    if generator is not None:
        generator.seed()  # Python's own generator does so by itself


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
    sys.path[:2] = ["/work"]  # instead of the folder above this one, and of the current one
    for name in [name for name in sys.modules if name.partition(".")[0] == __package__]:
        del sys.modules[name]
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


def _leave(code: int) -> NoReturn:
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


def main() -> NoReturn:
    """Wait, and run the program."""
    way, status_fd, other_fd = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    nice, modules = int(sys.argv[4]), [name for name in sys.argv[5].split(",") if name]
    for fd in (status_fd, other_fd):
        os.set_inheritable(fd, False)  # noqa: FBT003  positional only
    os.nice(nice)  # the supervisor must win against a fork bomb
    _die_first(1000 if way == "once" else 500)
    _import(modules)
    if way == "forks":
        status_fd, other_fd = _serve(other_fd, status_fd)
    else:
        _tell(status_fd, READY)
    _apply(_read_job(other_fd))
    _leave(_run_program(status_fd))
