"""Running the suite's programs in one backend and way, and saying what got through."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from openmle_env.graders.grader import Grader
from openmle_env.sandbox import select
from openmle_env.types import Column, Execution, Job, Limits, Part, ResultStatus, SubmissionSchema
from tests.attacks.conditions import feedback, holds, steers_no_terminal
from tests.attacks.header import LIMITS, Attack, Place, parse_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.types import Warm

WORKERS = 3
"""Programs that run at the same time, each worker with sessions of its own; many of them only wait."""
HEAD_START_SECONDS = 0.5
"""How long before its victim an attack on other boxes begins."""
NEXT_PROGRAM = Path(__file__).with_name("next_program.py").read_text(encoding="utf-8")
CANARY = "CANARY-"
"""How the secrets begin that the suite plants where no program may look."""
SCHEMA = SubmissionSchema(
    id=Column(name="id", kind="integer"), targets=(Column(name="y", kind="label", labels=("0", "1")),)
)
ROWS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one attack in one place."""

    attack: Attack
    place: Place
    executions: tuple[Execution, ...]
    problems: tuple[str, ...]
    """Why it is not as it must be; empty where the sandbox held."""


class Host:
    """What an attack would find if it got out: hidden answers, secrets, sockets of this machine."""

    def __init__(self) -> None:
        self.secret = CANARY + secrets.token_hex(16)
        self._folder = tempfile.TemporaryDirectory(prefix="openmle-attacks-")
        self.folder = Path(self._folder.name)
        self.folder.chmod(0o755)
        self.data = self.folder / "public"
        self.answers = self.folder / "private" / "test_answer.csv"
        for file, text in (
            (self.data / "train.csv", "id,x,y\n" + "".join(f"{n},{n % 7},{n % 2}\n" for n in range(100))),
            (self.data / "test.csv", "id,x\n" + "".join(f"{n},{n % 7}\n" for n in range(ROWS))),
            (self.data / "sample_submission.csv", "id,y\n" + "".join(f"{n},0\n" for n in range(ROWS))),
            (self.answers, "id,y\n" + "".join(f"{n},{n % 2}\n" for n in range(ROWS))),
            (self.answers.with_name("secret.txt"), self.secret),
        ):
            file.parent.mkdir(mode=0o755, exist_ok=True)
            file.write_text(text)
            file.chmod(0o644)
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(self._folder)
        self.tcp = self._listen(socket.AF_INET, ("127.0.0.1", 0))
        self.abstract = f"openmle-attacks-{os.getpid()}-{secrets.token_hex(4)}"
        self._listen(socket.AF_UNIX, f"\0{self.abstract}")
        self.udp = self._stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)  # noqa: FBT003  positional only
        self.variables = {
            "ATTACK_TCP": str(self.tcp.getsockname()[1]),
            "ATTACK_UDP": str(self.udp.getsockname()[1]),
            "ATTACK_ABSTRACT": self.abstract,
            "ATTACK_FOLDER": str(self.folder),
        }
        """What programs are told, so that they need not guess: where the sockets and the folder are."""
        self._before = self._state()

    def _listen(self, family: int, address: tuple[str, int] | str) -> socket.socket:
        server = self._stack.enter_context(socket.socket(family))
        server.bind(address)
        server.listen(64)
        return server

    def _state(self) -> dict[str, object]:
        files = {path.relative_to(self.folder): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        kernel = {name: Path("/proc/sys/kernel", name).read_text() for name in ("core_pattern", "hostname", "pid_max")}
        return {**{str(name): content for name, content in files.items()}, **kernel}

    def changes(self) -> list[str]:
        """What of this machine is not as it was."""
        after = self._state()
        return [name for name in {*self._before, *after} if self._before.get(name) != after.get(name)]

    def datagrams(self) -> int:
        """How many datagrams came out of boxes."""
        count = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                self.udp.recv(100)
                count += 1
        return count

    def grader(self) -> Grader:
        """One that knows the hidden answers."""
        return Grader(schema=SCHEMA, metric="accuracy", answers=self.answers, split="none")

    def close(self) -> None:
        """Remove all of it."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Arena:
    """One backend and way, in which attacks run side by side."""

    def __init__(self, host: Host, backend: str, way: Warm) -> None:
        self._host = host
        self._grader = host.grader()
        # A secret of the driver, which no box may inherit.
        os.environ["ATTACK_SECRET_TOKEN"] = host.secret
        self._sandbox: Sandbox = select.create(backend, warm=way)
        self.place = Place(
            backend=backend,
            way=way,
            grouped=self._sandbox.confinement().memory == "cgroup",
            ordinary=backend == "bubblewrap" and os.geteuid() != 0,
        )
        self._worker = threading.local()
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="attack")

    def start(self, attacks: Iterable[Attack]) -> dict[str, Future[Outcome]]:
        """Begin to run attacks, those with the same limits one after the other: they share a session."""
        ordered = sorted(attacks, key=lambda attack: (str(attack.limits) != str(LIMITS), str(attack.limits)))
        return {attack.name: self._pool.submit(self.run, attack) for attack in ordered}

    def run(self, attack: Attack) -> Outcome:
        """Run one attack and, in a session, an honest program after it."""
        session = self._session(attack.limits)
        if attack.meanwhile:
            executions = self._run_both(attack)
        else:
            executions = [self._execute(attack, program, session) for program in attack.programs]
        problems = list(self._problems(attack, executions))
        if self.place.way == "forked":
            following = self._run_next(attack.limits, session)
            problems += [f"the next program of the session: {problem}" for problem in _harm(following)]
        return Outcome(
            attack=attack, place=self.place, executions=tuple(executions), problems=tuple(dict.fromkeys(problems))
        )

    def run_control(self, attack: Attack) -> str:
        """What an attack prints in a box with the wider limits that its header names for that."""
        limits = parse_limits(attack.control.removeprefix("limits"))
        return "".join(self._sandbox.run(self._job(attack, text, limits)).stdout for text in attack.programs)

    def _session(self, limits: Limits) -> str:
        """One for each worker and set of limits, ended with the first attack that needs another."""
        if self.place.way != "forked":
            return ""
        plain = str(replace(limits, wall_seconds=1))
        if getattr(self._worker, "limits", None) != plain:
            self._end_session()
            self._worker.limits, self._worker.session = plain, f"attack-{secrets.token_hex(8)}"
        return str(self._worker.session)

    def _end_session(self) -> None:
        if session := getattr(self._worker, "session", ""):
            self._sandbox.end_session(session)

    def _job(self, attack: Attack, program: str, limits: Limits, session: str = "") -> Job:
        return Job(
            program=program,
            inputs={"/data": self._host.data},
            collect=attack.collects,
            limits=limits,
            environment=self._host.variables,
            modules=(),
            session=session,
        )

    def _execute(self, attack: Attack, program: str, session: str) -> Execution:
        return self._sandbox.run(self._job(attack, program, attack.limits, session))

    def _run_both(self, attack: Attack) -> list[Execution]:
        sessions = [f"attack-{secrets.token_hex(8)}" if self.place.way == "forked" else "" for _ in attack.programs]
        with ThreadPoolExecutor(len(sessions)) as pool:
            futures = []
            for program, session in zip(attack.programs, sessions, strict=True):
                futures.append(pool.submit(self._execute, attack, program, session))
                time.sleep(HEAD_START_SECONDS)
            executions = [future.result() for future in futures]
        for session in filter(None, sessions):
            self._sandbox.end_session(session)
        return executions

    def _run_next(self, limits: Limits, session: str) -> Execution:
        job = Job(
            program=NEXT_PROGRAM,
            inputs={"/data": self._host.data},
            limits=replace(limits, wall_seconds=30),
            environment=self._host.variables,
            modules=(),
            session=session,
        )
        return self._sandbox.run(job)

    def _problems(self, attack: Attack, executions: list[Execution]) -> Iterator[str]:
        for step, run in enumerate(executions):
            expected = attack.expected(self.place, step)
            if run.status not in expected:
                yield f"status {run.status} instead of {' or '.join(expected)}: {run.reason} {run.stderr[-300:]}"
            if not attack.is_open(self.place):
                yield from _leaks(run)
            told = [run.stdout, run.stderr, feedback(run), *(str(file.content) for file in run.artifacts.values())]
            if any(self._host.secret in text for text in told):
                yield "a secret of the host came out"
        if attack.is_open(self.place) and not any(leak for run in executions for leak in _leaks(run)):
            yield "its header says that it gets through, which it does not: remove that line"
        for condition in attack.holds(self.place):
            if not holds(condition, executions[0]):
                yield f"it does not hold that {condition!r}: stdout {executions[0].stdout[-300:]!r}"
        if attack.graded:
            yield from self._misjudged(attack.graded, executions[0])

    def _misjudged(self, expected: ResultStatus, run: Execution) -> Iterator[str]:
        """What is wrong with the grade of a submission."""
        grade = self._grader.grade(run.submission, Part.VALIDATION)
        if grade.status is not expected:
            yield f"graded {grade.status} instead of {expected}: {grade.message}"
        if not steers_no_terminal(grade.message):
            yield f"what the grader says would steer a terminal: {grade.message!r}"

    def close(self) -> None:
        """End every run and give the boxes back."""
        self._pool.shutdown(cancel_futures=True)
        self._sandbox.close()
        os.environ.pop("ATTACK_SECRET_TOKEN", None)


def _leaks(run: Execution) -> Iterator[str]:
    """What a program says that it reached."""
    return (line for line in run.stdout.splitlines() if line.startswith("LEAK"))


def _harm(following: Execution) -> Iterator[str]:
    """What is wrong with an honest program that ran after an attack."""
    if following.status is not ResultStatus.SUCCESS:
        yield f"status {following.status}: {following.reason} {following.stderr[-500:]}"
    yield from _leaks(following)
    if following.status is ResultStatus.SUCCESS and "FINE" not in following.stdout:
        yield "it did not come to its end"
    if following.oom_kills or following.processes_killed:
        yield f"its report counts {following.oom_kills} kills for memory, {following.processes_killed} processes"


def run_plainly(attack: Attack, host: Host, folder: Path) -> str:
    """What a harmless attack prints as an ordinary process of this machine, with nothing to hold it."""
    for name in ("work", "tmp", "output"):
        (folder / name).mkdir()
    environment = {
        **host.variables,
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "work"),
        "TMPDIR": str(folder / "tmp"),
        "DATA_DIR": str(host.data),
        "OUTPUT_DIR": str(folder / "output"),
        "ATTACK_SECRET_TOKEN": host.secret,
    }
    paths = [folder / "work" / f"step{number}.py" for number in range(len(attack.programs))]
    for path, program in zip(paths, attack.programs, strict=True):
        path.write_text(program)

    def run(path: Path) -> str:
        done = subprocess.run(
            [sys.executable, path],
            env=environment,
            cwd=folder / "work",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
        return done.stdout + done.stderr

    if not attack.meanwhile:
        return "".join(run(path) for path in paths)
    with ThreadPoolExecutor(len(paths)) as pool:
        futures = []
        for path in paths:
            futures.append(pool.submit(run, path))
            time.sleep(HEAD_START_SECONDS)
        return "".join(future.result() for future in futures)
