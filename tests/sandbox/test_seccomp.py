"""The filter, run through a small interpreter of classic BPF: what the kernel would decide for each call."""

from __future__ import annotations

import errno
import struct

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import seccomp

ALLOW, KILL = 0x7FFF0000, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def decide(code: bytes, number: int, *arguments: int, architecture: int = ARCHITECTURES["x86_64"]) -> int:
    data = struct.pack(
        "=iIQ6Q", number if number < 1 << 31 else number - (1 << 32), architecture, 0, *(*arguments, *[0] * 6)[:6]
    )
    instructions = list(struct.iter_unpack("=HBBI", code))
    accumulator, place = 0, 0
    while True:
        operation, yes, no, operand = instructions[place]
        place += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif operation == 0x05:
            place += operand
        elif operation == 0x54:
            accumulator &= operand
        elif operation == 0x06:
            return operand
        else:
            test = {0x15: accumulator == operand, 0x35: accumulator >= operand}
            place += yes if test[operation] else no


def error(number: int) -> int:
    return 0x00050000 | number


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_exactly_the_table_is_allowed(machine: str, column: int) -> None:
    code = seccomp.bpf(machine)
    numbers = {row[column]: name for name, row in seccomp.table().items() if row[column] is not None}
    for number in range(1000):
        name = numbers.get(number)
        if name in seccomp.RULES:
            continue
        expected = ALLOW if name else error(errno.EPERM if number <= max(filter(None, numbers)) else errno.ENOSYS)
        assert decide(code, number, architecture=ARCHITECTURES[machine]) == expected, (number, name)


@pytest.mark.parametrize(
    ("call", "argument", "decision"),
    [
        (56, 17, ALLOW),  # clone with SIGCHLD: a fork
        (56, 0x003D0F00, ALLOW),  # a thread
        (56, 0x10000000 | 17, error(errno.EPERM)),  # with a user namespace
        (56, 0x00020000 | 17, error(errno.EPERM)),  # with a mount namespace
        (56, 0x00008000 | 17, error(errno.EPERM)),  # as its parent's child
        (56, 0x00000400 | 17, error(errno.EPERM)),  # a process that shares another's open files
        (56, 0x00010000, error(errno.EPERM)),  # a thread that does not
        (56, 0x103D0F00, error(errno.EPERM)),  # a thread with a user namespace
        (56, 0x00004100 | 17, ALLOW),  # as for posix_spawn
        (435, 0, error(errno.ENOSYS)),  # clone3
        (41, 1, ALLOW),
        (41, 2, ALLOW),
        (41, 16, ALLOW),
        (41, 17, error(errno.EPERM)),  # packet socket
        (41, 38, error(errno.EPERM)),  # AF_ALG
        (41, 40, error(errno.EPERM)),  # AF_VSOCK
        (53, 1, ALLOW),
        (302, 0, ALLOW),
        (302, 1, error(errno.EPERM)),  # prlimit of PID 1
        (135, 0xFFFFFFFF, ALLOW),
        (135, 0x40000, error(errno.EPERM)),  # personality without address randomisation
    ],
)
def test_rules_on_the_first_argument(call: int, argument: int, decision: int) -> None:
    assert decide(seccomp.bpf("x86_64"), call, argument) == decision


@pytest.mark.parametrize(
    ("call", "arguments", "decision"),
    [
        (141, (0, 0), ALLOW),  # setpriority of itself
        (141, (0, 1), error(errno.EPERM)),  # of PID 1
        (141, (1, 0), error(errno.EPERM)),  # of a process group
        (141, (2, 0), error(errno.EPERM)),  # of the user's every process
        (251, (1, 0), ALLOW),  # ioprio_set
        (251, (1, 1), error(errno.EPERM)),
        (251, (3, 0), error(errno.EPERM)),
        (142, (0,), ALLOW),  # sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr
        *((call, (1,), error(errno.EPERM)) for call in (142, 144, 203, 314)),
        (54, (3, 1, 2), ALLOW),  # setsockopt: SO_REUSEADDR
        (54, (3, 6, 1), ALLOW),  # TCP_NODELAY
        *((54, (3, 1, option), error(errno.EPERM)) for option in (7, 8, 32, 33)),  # sizes of buffers
        *((54, (3, 1, option), error(errno.EPERM)) for option in (26, 27)),  # filters of sockets
        (54, (3, 41, 26, 1), ALLOW),  # IPV6_V6ONLY has the number of one of them
        (54, (3, 41, 27, 1), error(errno.EPERM)),
        (54, (3, 6, 31), error(errno.EPERM)),  # the kernel's own TLS
        *((41, (2, 1, protocol), ALLOW) for protocol in (0, 6, 17)),  # socket: the usual protocol, TCP, UDP
        *((41, (2, 1, protocol), error(errno.EPERM)) for protocol in (33, 132, 262)),  # DCCP, SCTP, MPTCP
        (41, (16, 3, 2), error(errno.EPERM)),  # netlink messages between programs
        *((72, (3, command), ALLOW) for command in (0, 1, 4, 6, 7, 1030, 1031)),  # fcntl: as usual, and POSIX locks
        *((72, (3, command), error(errno.EPERM)) for command in (36, 37, 38, 1024, 1026)),  # others
        (9, (0, 4096, 3, 0x22), ALLOW),  # mmap
        (9, (0, 1 << 21, 3, 0x40022), error(errno.EPERM)),  # of huge pages
        (9, (0, 1 << 21, 3, 0x22 | 21 << 26), ALLOW),  # a size of huge pages, without asking for them
    ],
)
def test_rules_on_several_arguments(call: int, arguments: tuple[int, ...], decision: int) -> None:
    assert decide(seccomp.bpf("x86_64"), call, *arguments) == decision


@pytest.mark.parametrize(
    "number",
    [101, 165, 166, 155, 161, 272, 308, 310, 311, 321, 323, 425, 426, 427, 105, 106, 113, 114, 246, 169, 240, 253, 294],
)
def test_dangerous_calls_are_denied(number: int) -> None:
    """Tracing, mounts, namespaces, other processes' memory, bpf, io_uring, changing the user, kexec, reboot.

    Two calls that change the user are needed to give every program its own; without capabilities they change nothing.

    And what is counted for a user, whom boxes of an engine share: message queues and inotify.
    """
    assert decide(seccomp.bpf("x86_64"), number) == error(errno.EPERM)


def test_foreign_architectures_are_killed_and_x32_is_denied() -> None:
    code = seccomp.bpf("x86_64")
    assert decide(code, 1, architecture=0x40000003) == KILL
    assert decide(code, 0x40000001) == error(errno.ENOSYS)
    assert decide(code, 0xFFFFFFFF) == error(errno.ENOSYS)


def test_program_is_short_to_run() -> None:
    """The kernel's limit is 4096 instructions; a call costs the depth of the search and not the size of the table."""
    code = seccomp.bpf("x86_64")
    assert len(code) % 8 == 0
    assert len(code) // 8 < 500


def test_docker_profile_agrees_with_the_table() -> None:
    profile = seccomp.docker_profile()
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    names = {name for entry in profile["syscalls"] for name in entry["names"]}
    assert names == set(seccomp.table())
    sockets = [entry["args"][0]["value"] for entry in profile["syscalls"] if entry["names"] == ["socket"]]
    assert sorted(set(sockets)) == [1, 2, 10, 16]
    clone = [entry["args"] for entry in profile["syscalls"] if entry["names"] == ["clone"]]
    masked = [[(each["index"], each["value"], each["valueTwo"]) for each in entry] for entry in clone]
    assert masked == [[(0, 0x7E038400, 0)], [(0, 0x7E038400, 0x10400)]]
    priority = [entry["args"] for entry in profile["syscalls"] if entry["names"] == ["setpriority"]]
    assert [[(each["index"], each["value"]) for each in entry] for entry in priority] == [[(0, 0), (1, 0)]]
    assert not names & {"mount", "unshare", "setns", "ptrace", "bpf", "io_uring_setup", "keyctl", "setuid", "reboot"}


def test_unknown_machines_are_refused() -> None:
    with pytest.raises(SandboxUnavailableError, match="riscv64"):
        seccomp.bpf("riscv64")
