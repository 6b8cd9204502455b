"""Giving up privileges: of PID 1 before anything else, and of a program's process before it becomes the program.

A box whose programs are users of their own keeps two capabilities in PID 1 and in the process that is forked: to change
user and group. No program ever holds them.
"""

# No pathlib: every import delays every box.
# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 8, 22, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 2, 4
_SECCOMP_MODE_FILTER = 2
_CAP_SETGID, _CAP_SETUID = 6, 7
_BOTH = 1 << _CAP_SETGID | 1 << _CAP_SETUID
_libc = ctypes.CDLL(None, use_errno=True)


def confine(config: dict[str, Any]) -> None:
    """Give up every privilege that is left but what the box needs, load the system call filter, verify both."""
    user, keeps = config.get("user"), _BOTH if config.get("users") else 0
    if user is not None:
        if keeps:
            _prctl(_PR_SET_KEEPCAPS, 1)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        _set_capabilities(keeps)  # changing the user leaves the inheritable ones
        if keeps:  # so that they outlast the start of the interpreter that imports the libraries
            for capability in (_CAP_SETGID, _CAP_SETUID):
                _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability)
        # Changing the user cleared the signal for the parent's death. It comes only from a parent that may signal this
        # user, which bubblewrap's process as root may not: the end of the stream, or the owner, ends this box there.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    hide()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if config.get("seccomp"):
        _load_filter(config["seccomp"])
    verify(keeps, filtered=bool(config.get("seccomp")))


def hide() -> None:
    """Let no process of the same user trace this one or look at its memory and descriptors."""
    _prctl(_PR_SET_DUMPABLE, 0)


def show() -> None:
    """Undo `hide`, which a forked process inherits: a program may look at itself."""
    _prctl(_PR_SET_DUMPABLE, 1)


def act_as(user: int, own: int) -> None:
    """Have this process reach what ``user`` may reach, and no more; `own` is whom it goes back to, by calling again.

    The real user changes too: a signal to everybody must reach the processes of that user only.
    """
    os.setresuid(user, user, own)
    hide()


def become(user: int) -> None:
    """Make this process another user's for good, without any capability."""
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    _set_capabilities(0)
    verify(0, filtered=False)


def _prctl(option: int, value: int, other: int = 0) -> None:
    arguments = [ctypes.c_ulong(number) for number in (value, other, 0, 0)]
    if _libc.prctl(ctypes.c_int(option), *arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def _set_capabilities(kept: int) -> None:
    header = struct.pack("=Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    if _libc.capset(header, struct.pack("=6I", kept, kept, kept, 0, 0, 0)) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _load_filter(path: str) -> None:
    with open(path, "rb") as file:
        code = file.read()
    program = _FilterProgram(len(code) // 8, code)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def verify(kept: int, *, filtered: bool) -> None:
    """Refuse to go on with any privilege; reads what the kernel says rather than what was asked for."""
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        if int(status.get(name, "0"), 16) != kept:
            raise PermissionError(errno.EPERM, f"{name} is {status[name]}, not {kept:016x}")
    if "0" in status["Uid"].split() or "0" in status["Gid"].split():
        raise PermissionError(errno.EPERM, "still root")
    if status.get("NoNewPrivs", "1").strip() != "1":
        raise PermissionError(errno.EPERM, "no_new_privs is not set")
    if filtered and status.get("Seccomp", "2").strip() != "2":
        raise PermissionError(errno.EPERM, "no system call filter is loaded")
