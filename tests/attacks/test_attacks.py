"""Every hostile program of the suite, on each backend, in boxes of its own and in those of a session."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.attacks.conditions import check
from tests.attacks.header import WAYS, Place, attacks, parse
from tests.attacks.running import NEXT_PROGRAM, Arena, Host, run_plainly
from tests.sandbox.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from tests.attacks.running import Outcome

ATTACKS = {attack.name: attack for attack in attacks()}
PLACES = [
    pytest.param(backend, way, id=f"{backend}-{way}", marks=getattr(pytest.mark, backend))
    for backend in ("docker", "bubblewrap")
    for way in WAYS
]
PLAIN_CONTROLS = [name for name, attack in ATTACKS.items() if attack.control == "plain"]
BOXED_CONTROLS = [name for name, attack in ATTACKS.items() if attack.control.startswith("limits")]
KINDS_THAT_SHOW = {"endings", "forgeries", "leftovers", "names", "sources", "submissions"}
"""Kinds whose programs fail by the status or report that their headers expect, so that they need no control."""


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as found:
        yield found


@pytest.fixture(scope="module")
def backend_works(usable: Callable[[str], None], request: pytest.FixtureRequest) -> Callable[[str], None]:
    def works(name: str) -> None:
        if name == "docker":
            request.getfixturevalue("docker_image")  # builds it where it is missing
        usable(name)

    return works


class Fought:
    """An arena and the outcomes of all attacks that this session asks for; they are run two at a time."""

    def __init__(self, arena: Arena, outcomes: dict[str, Future[Outcome]]) -> None:
        self.arena, self.outcomes = arena, outcomes


@pytest.fixture(scope="module", params=[pytest.param(one.values, id=one.id, marks=one.marks) for one in PLACES])
def fought(request: pytest.FixtureRequest, host: Host, backend_works: Callable[[str], None]) -> Iterator[Fought]:
    backend, way = request.param
    backend_works(backend)
    arena = Arena(host, backend, way)
    asked = [getattr(item, "callspec", None) for item in request.session.items]
    names = [
        call.params["name"]
        for call in asked
        if call and call.params.get("fought") == request.param and "name" in call.params
    ]
    yield Fought(arena, arena.start(ATTACKS[name] for name in names))
    arena.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_the_box_holds(fought: Fought, name: str) -> None:
    outcome = fought.outcomes[name].result()
    assert not outcome.problems, f"{outcome.attack.tries}\n" + "\n".join(outcome.problems)


def test_nothing_of_the_host_changed(fought: Fought, host: Host) -> None:
    for future in fought.outcomes.values():
        future.exception()  # ended, one way or the other
    assert host.changes() == []
    assert host.datagrams() == 0


def test_an_honest_program_is_fine_after_all_of_them(fought: Fought) -> None:
    honest = parse("honest", "# tries: nothing\n# expect: success\nprint('honest')\n")
    assert fought.arena.run(honest).problems == ()


def test_what_gets_through_is_noticed(fought: Fought, host: Host) -> None:
    header = "# tries: nothing\n# expect: success\n"
    for program, problem in (
        (f"{header}print('LEAK: it is out')", "LEAK: it is out"),
        (f"{header}print('{host.secret}')", "a secret of the host came out"),
        (f"{header}raise ValueError", "status code_execution_error instead of success"),
        (f"{header}# holds: stdout has words\nprint('')", "it does not hold that 'stdout has words'"),
        (f"{header}# open: why\nprint('')", "remove that line"),
        (f"{header}# collects: submission.csv\n# graded: success\nopen('/output/submission.csv', 'w')", "graded"),
    ):
        assert problem in "\n".join(fought.arena.run(parse("it", program)).problems)


def test_what_is_left_to_the_next_program_is_noticed(fought: Fought) -> None:
    """The program that looks for what others left finds it where it was left: here in its own box, by itself."""
    leave = """
import os, signal, time
os.umask(0o777)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for folder in ("/work", "/tmp", "/output", "/dev/shm"):
    os.close(os.open(f"{folder}/left", os.O_CREAT | os.O_WRONLY))
if os.fork() == 0:
    time.sleep(600)
os.chdir("/tmp")
"""
    attack = parse("it", "# tries: nothing\n# expect: success\n# limits: memory_mb=256\n" + leave + NEXT_PROGRAM)
    said = "\n".join(fought.arena.run(attack).problems)
    found = re.findall(r"LEAK: (/[a-z/]+) holds b'left'", said)
    assert found == ["/work", "/tmp", "/output", "/dev/shm"]  # noqa: S108  the box's own
    for words in ("is there", "umask", "handled", "it is user"):
        assert words in said


@pytest.mark.parametrize("name", PLAIN_CONTROLS)
def test_it_would_notice_outside_of_a_box(host: Host, name: str, tmp_path: Path) -> None:
    said = run_plainly(ATTACKS[name], host, tmp_path)
    assert "LEAK" in said, said


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", BOXED_CONTROLS)
def test_it_would_notice_wider_limits(host: Host, backend_works: Callable[[str], None], name: str) -> None:
    backend_works("bubblewrap")
    arena = Arena(host, "bubblewrap", "off")
    try:
        said = arena.run_control(ATTACKS[name])
    finally:
        arena.close()
    assert "LEAK" in said, said


def test_every_kind_is_shown_to_notice() -> None:
    shown = {ATTACKS[name].kind for name in (*PLAIN_CONTROLS, *BOXED_CONTROLS)}
    assert {attack.kind for attack in ATTACKS.values()} - shown - KINDS_THAT_SHOW == set()


def test_there_are_many() -> None:
    assert len(ATTACKS) >= 75


@pytest.mark.parametrize("name", ATTACKS)
def test_what_a_header_says_is_understood(name: str) -> None:
    attack = ATTACKS[name]
    assert attack.limits.wall_seconds > 0
    assert re.fullmatch("[a-z].*[^.]", attack.tries)
    for backend, way, lesser in itertools.product(("docker", "bubblewrap"), WAYS, (False, True)):
        place = Place(backend=backend, way=way, grouped=not lesser, ordinary=lesser)
        assert attack.expected(place)
        assert attack.expected(place, 1)
        for condition in attack.holds(place):
            check(condition)


BOX = """# tries: to say which box it runs in
# expect: success
import os
print(os.readlink("/proc/self/ns/pid"), open("/proc/1/stat").read().split()[21])
# --- the next program of the session ---
import os
print(os.readlink("/proc/self/ns/pid"), open("/proc/1/stat").read().split()[21])
"""


def test_programs_of_a_session_share_a_box_and_others_do_not(fought: Fought) -> None:
    first, second = (run.stdout for run in fought.arena.run(parse("box", BOX)).executions)
    assert (first == second) == (fought.arena.place.way == "forked")


STAYS = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
os.execv(sys.executable, ["python", "-c", "import time; time.sleep(600)", "TOKEN"])
"""
DRIVER = """
import sys
from openmle_env.sandbox import select
from openmle_env.types import Job
sandbox = select.create(sys.argv[1], warm=sys.argv[2])
sandbox.run(Job(program=sys.argv[3], collect=(), modules=(), session="killed"))
"""


@pytest.mark.parametrize(("backend", "way"), PLACES)
def test_a_box_does_not_outlive_its_killed_driver(backend: str, way: str, backend_works: Callable[[str], None]) -> None:
    backend_works(backend)
    token = f"openmle-stays-{os.urandom(8).hex()}"
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, backend, way, STAYS.replace("TOKEN", token)])
    try:
        assert wait_until(lambda: bool(_running(token)), 60)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert wait_until(lambda: not _running(token), 60)


def _running(token: str) -> list[str]:
    """Processes inside of boxes that carry the token; not the driver, which is told the whole program."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if token.encode() in words:
                    found.append(entry.name)
    return found
