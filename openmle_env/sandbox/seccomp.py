"""The system call filter of a box: default deny, from one table, for engines (JSON) and for the kernel (BPF).

The table is ``syscalls.txt``: what numeric Python needs, and nothing that makes namespaces, mounts, traces, loads code
into the kernel, or reaches another process's limits or priority. `RULES` restricts the arguments of a few calls.
"""

from __future__ import annotations

import errno
import functools
import itertools
import platform
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmle_env.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Rule:
    """What the arguments of a call may be; a rule that allows nothing denies the call with its error."""

    one_of: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Allowed values by the place of the argument, from 0; all of them must hold."""
    without: int = 0
    """Bits that an argument must not have."""
    together: int = 0
    """Bits that it must have all or none of, where there are some that it must not have."""
    place: int = 0
    """The argument whose bits the two are about, from 0."""
    error: int = errno.EPERM
    instead: Rule | None = None
    """Another one that allows the call where this one does not."""


_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_THREAD = 0x10400
"""CLONE_THREAD and CLONE_FILES: where processes share open files, their locks are shown no more once the one that took
them has ended, so that nobody could count them."""
_CLONE_PARENT = 0x8000
"""Makes a child of the parent, which here is the process that programs are forked from."""
_MAP_HUGETLB = 0x40000
"""Huge pages that the machine keeps are charged to no limit of memory."""

_FILE_COMMANDS = (*range(18), 1025, *range(1030, 1043))
"""Not among them: locks of open file descriptions (36 to 38), which the kernel shows to every box; leases (1024), which
hold up whoever writes the data; notices of a folder (1026), which tell when others read it."""

_SOCKET_OPTIONS = (*range(1, 7), *range(9, 26), *range(28, 31), 66, 67)
"""Names of options, whatever their level: none of SO_SNDBUF, SO_RCVBUF (7, 8) and their forcing kind (32, 33), nor
filters of sockets (26, 27) and the kernel's own TLS (31)."""
_IPV6_ONLY = Rule(one_of={1: (41,), 2: (26,)})
"""The number 26 on the level of IPv6, which servers set."""

_ITSELF = Rule(one_of={0: (0,)})
"""For calls whose first argument is a process: the caller, never PID 1."""

RULES = {
    "clone": Rule(without=_NEW_NAMESPACES | _CLONE_PARENT, together=_THREAD),
    # Its flags lie in memory, where a filter cannot look: "not implemented" makes every library fall back to clone.
    "clone3": Rule(error=errno.ENOSYS),
    "fcntl": Rule(one_of={1: _FILE_COMMANDS}),
    "ioprio_set": Rule(one_of={0: (1,), 1: (0,)}),  # IOPRIO_WHO_PROCESS, itself
    "mmap": Rule(without=_MAP_HUGETLB, place=3),
    "personality": Rule(one_of={0: (0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)}),
    "prlimit64": _ITSELF,
    "sched_setaffinity": _ITSELF,
    "sched_setattr": _ITSELF,
    "sched_setparam": _ITSELF,
    "sched_setscheduler": _ITSELF,
    "setpriority": Rule(one_of={0: (0,), 1: (0,)}),  # PRIO_PROCESS, itself; PID 1 is of the same user
    # The memory watch counts on the buffers' default sizes.
    "setsockopt": Rule(one_of={2: _SOCKET_OPTIONS}, instead=_IPV6_ONLY),
    # Unix, IPv4, IPv6, netlink; no vsock, packet, algorithm, Bluetooth. The usual protocol (netlink: routes), TCP, UDP:
    # others have the kernel load modules, and messages between netlink sockets are memory that nobody counts.
    "socket": Rule(one_of={0: (1, 2, 10, 16), 2: (0, 6, 17)}),
    "socketpair": Rule(one_of={0: (1,)}),
}

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""AUDIT_ARCH value, and column in the table."""


@functools.cache
def table() -> dict[str, tuple[int | None, int | None]]:
    """Allowed calls and their numbers on x86_64 and aarch64."""
    lines = Path(__file__).with_name("syscalls.txt").read_text(encoding="ascii").splitlines()
    rows = (line.split() for line in lines if not line.startswith("#"))
    return {name: (_number(first), _number(second)) for name, first, second in rows}


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def docker_profile() -> dict[str, Any]:
    """The filter as a profile in the format of Docker and Podman."""
    plain = sorted(set(table()) - set(RULES))
    calls: list[dict[str, Any]] = [{"names": plain, "action": "SCMP_ACT_ALLOW"}]
    for name, rule in RULES.items():
        choices = _choices(rule)
        # Conditions within one entry have to hold together: alternatives are entries of their own.
        calls += [{"names": [name], "action": "SCMP_ACT_ALLOW", "args": choice} for choice in choices]
        if not choices:
            calls.append({"names": [name], "action": "SCMP_ACT_ERRNO", "errnoRet": rule.error})
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.EPERM,
        "archMap": [{"architecture": f"SCMP_ARCH_{name.upper()}", "subArchitectures": []} for name in _ARCHITECTURES],
        "syscalls": calls,
    }


def _choices(rule: Rule) -> list[list[dict[str, Any]]]:
    """The ways in which a rule holds, each with its conditions."""
    if rule.without:
        masked = {"index": rule.place, "value": rule.without | rule.together, "op": "SCMP_CMP_MASKED_EQ"}
        choices = [[{**masked, "valueTwo": bits}] for bits in sorted({0, rule.together})]
    else:
        choices = [
            [
                {"index": place, "value": value, "op": "SCMP_CMP_EQ"}
                for place, value in zip(rule.one_of, values, strict=True)
            ]
            for values in itertools.product(*rule.one_of.values())
            if values
        ]
    return choices + (_choices(rule.instead) if rule.instead else [])


# Classic BPF. Operations: load a word of seccomp_data, jump always, jump if equal / if greater or equal, keep some
# bits, return. Offsets: call number 0, architecture 4, low words of the arguments 16, 24, 32 and so on.
_LOAD, _JUMP, _EQUAL, _AT_LEAST, _KEEP, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x54, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_MAX_JUMP = 255

_Code = list[tuple[int, int, int, int]]
"""Instructions: operation, jump if true, jump if false, operand."""


def bpf(machine: str | None = None) -> bytes:
    """The filter as a classic BPF program for the kernel.

    The call's number is found by binary search over ranges of numbers that are treated alike, since every call of every
    program pays for it. A call that is newer than the table gets "not implemented", so that libraries fall back.

    Args:
        machine: ``x86_64`` or ``aarch64``; this machine's by default.

    Raises:
        SandboxUnavailableError: There is no table for this machine.
    """
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        known = " and ".join(_ARCHITECTURES)
        raise SandboxUnavailableError(f"There is no system call filter for {machine!r} machines, only for {known}.")
    architecture, column = _ARCHITECTURES[machine]
    code: _Code = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        *_search(_ranges(column)),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _ranges(column: int) -> list[tuple[int, _Code]]:
    """First numbers of ranges, ascending from 0, each with what is done for all numbers of its range."""
    actions: dict[int, _Code] = {}
    for name, numbers in table().items():
        number = numbers[column]
        if number is not None:
            actions[number] = _decide(RULES[name]) if name in RULES else [(_RETURN, 0, 0, _ALLOW)]
    denied: _Code = [(_RETURN, 0, 0, _ERROR | errno.EPERM)]
    last = max(actions)
    ranges: list[tuple[int, _Code]] = []
    for number in range(last + 1):
        action = actions.get(number, denied)
        if not ranges or ranges[-1][1] != action:
            ranges.append((number, action))
    return [*ranges, (last + 1, [(_RETURN, 0, 0, _ERROR | errno.ENOSYS)])]


def _search(ranges: list[tuple[int, _Code]]) -> _Code:
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle]), _search(ranges[middle:])
    first = ranges[middle][0]
    if len(below) <= _MAX_JUMP:
        return [(_AT_LEAST, len(below), 0, first), *below, *above]
    return [(_AT_LEAST, 0, 1, first), (_JUMP, 0, 0, len(below)), *below, *above]


def _decide(rule: Rule) -> _Code:
    code = _decide_alone(rule)
    if rule.instead is None:
        return code
    error = (_RETURN, 0, 0, _ERROR | rule.error)
    jumps = [(_JUMP, 0, 0, len(code) - place) for place in range(1, len(code) + 1)]  # from each place to its end
    alone = [jump if step == error else step for jump, step in zip(jumps, code, strict=True)]
    return [*alone, *_decide(rule.instead)]


def _decide_alone(rule: Rule) -> _Code:
    error = (_RETURN, 0, 0, _ERROR | rule.error)
    allow = (_RETURN, 0, 0, _ALLOW)
    if rule.without:
        kept: _Code = [(_LOAD, 0, 0, 16 + 8 * rule.place), (_KEEP, 0, 0, rule.without | rule.together)]
        return [*kept, (_EQUAL, 2, 0, 0), (_EQUAL, 1, 0, rule.together), error, allow]
    if not rule.one_of:
        return [error]
    code: _Code = []
    for argument, values in rule.one_of.items():
        tests = [(_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
        code += [(_LOAD, 0, 0, 16 + 8 * argument), *tests, error]
    return [*code, allow]
