"""Programs that follow one another in an episode: none of them may see, or suffer from, the one before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from openmle_env.sandbox.conformance.cases import DENIED, LIMITS, WRITE, Case, Session
from openmle_env.types import ResultStatus

if TYPE_CHECKING:
    from openmle_env.types import Execution

_LOOK = Case(
    name="look",
    program=DENIED
    + """\
import builtins, os, signal, socket, sys, threading, time
import numpy

folders = ("/work", "/tmp", "/output", "/dev/shm")
found = [f"{folder}/{name}" for folder in folders for name in os.listdir(folder)]
assert found == ["/work/program.py"], found
assert os.getcwd() == "/work" and os.umask(0o022) == 0o022
assert "LEFT" not in os.environ and "left" not in sys.modules and not hasattr(builtins, "left")
assert "/tmp" not in sys.path and sys.path[0] == "/work"
assert str(numpy.pi).startswith("3.14159")
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and not signal.pthread_sigmask(signal.SIG_BLOCK, [])
assert threading.active_count() == 1
for _ in range(100):  # what started this program may be about to end
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    if len(processes) <= 3:
        break
    time.sleep(0.02)
assert len(processes) <= 3, processes  # this one, and what serves it
denied("a socket of another program", lambda: socket.socket(socket.AF_UNIX).connect("\\0left"))
print("clean")
""",
    status=ResultStatus.SUBMISSION_MISSING,
    holds=lambda run: run.stdout == "clean\n",
)
_LEAVE = Case(
    name="leave all that can be left",
    program=WRITE
    + """\
import builtins, os, signal, socket, sys, time
import numpy

for folder in ("/work", "/tmp", "/output", "/dev/shm"):
    os.makedirs(f"{folder}/.deep/deeper")
    open(f"{folder}/.deep/deeper/left", "w").close()
    open(f"{folder}/left", "w").close()
    os.symlink("/data", f"{folder}/link")
    os.mkfifo(f"{folder}/pipe")
    os.chmod(f"{folder}/.deep", 0)
os.environ["LEFT"] = "1"
builtins.left = sys.modules["left"] = sys
sys.path.insert(0, "/tmp")
numpy.pi = 3
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
left = socket.socket(socket.AF_UNIX)
left.bind("\\0left")
left.listen()
os.chdir("/tmp")
os.umask(0o777)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        while True:
            time.sleep(600)
""",
    status=ResultStatus.SUCCESS,
    holds=lambda run: run.processes_killed == 3,
)
_NEXT = Case(
    name="next",
    program="print('alive')\n",
    status=ResultStatus.SUBMISSION_MISSING,
    holds=lambda run: run.stdout == "alive\n" and not run.stderr,
)
_BAD = (
    Case(
        name="kills itself",
        program="import os\nos.kill(os.getpid(), 9)\n",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        holds=lambda run: run.exit_code == -9,
    ),
    Case(
        name="segmentation fault",
        program="import ctypes\nctypes.string_at(0)\n",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        holds=lambda run: run.exit_code == -11,
    ),
    Case(
        name="ignores the end of its time",
        program="import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    pass\n",
        status=ResultStatus.TIMEOUT,
        limits=replace(LIMITS, wall_seconds=1),
    ),
    Case(
        name="takes all memory",
        program="blocks = []\nwhile True:\n    blocks.append(b'x' * (32 << 20))\n",
        status=ResultStatus.OUT_OF_MEMORY,
    ),
    Case(
        name="kills all that it can",
        program="import os\ntry:\n    os.kill(-1, 9)\nexcept OSError:\n    pass  # there was nobody else\n",
        status=ResultStatus.SUBMISSION_MISSING,
    ),
    Case(
        name="stops its parent",
        program="""\
import os, signal
if os.getppid() > 1:
    try:
        os.kill(os.getppid(), signal.SIGSTOP)
    except PermissionError:
        pass  # it is another user's
""",
        status=ResultStatus.SUBMISSION_MISSING,
    ),
    Case(
        name="uses up all processes",
        program="""\
import os, time
while True:
    try:
        if os.fork() == 0:
            os.setsid()
            while True:
                time.sleep(600)
    except BlockingIOError:
        break
""",
        status=ResultStatus.SUBMISSION_MISSING,
        holds=lambda run: run.processes_killed >= 50,
    ),
    Case(
        name="fills its folders",
        program="""\
import os
for folder in ("/work", "/tmp", "/output", "/dev/shm"):
    number = 0
    try:
        while True:
            with open(f"{folder}/{number}", "wb") as file:
                file.write(bytes(8 << 20))
            number += 1
    except OSError:
        pass
os._exit(0)
""",
        status=ResultStatus.SUBMISSION_MISSING,
    ),
    Case(
        name="closes all that is open",
        program="import os\nos.closerange(0, 4096)\nos._exit(5)\n",
        status=ResultStatus.CODE_EXECUTION_ERROR,
        holds=lambda run: run.exit_code == 5,
    ),
)

_CHANCE = Case(
    name="chance",
    program="""\
import random, tempfile, uuid
import numpy
print(random.random(), numpy.random.random(), numpy.random.default_rng().random(), uuid.uuid4(), tempfile.mkdtemp())
random.seed(1)
numpy.random.seed(1)
print(random.random(), numpy.random.random())
""",
    status=ResultStatus.SUBMISSION_MISSING,
    holds=lambda run: len(run.stdout.splitlines()) == 2,
)


def _differ_unless_seeded(runs: tuple[Execution, ...]) -> bool:
    chance, seeded = zip(*(run.stdout.splitlines() for run in runs), strict=True)
    same = [len(set(numbers)) == 1 for numbers in zip(*(line.split() for line in chance), strict=True)]
    return not any(same) and len(set(seeded)) == 1


_LIKE_ANY_OTHER = Case(
    name="a process like any other",
    program="""\
import __main__, inspect, multiprocessing, os, pickle, signal, sys, threading

class Thing:
    value = 7

def square(number):
    return number * number

if __name__ == "__main__":
    assert sys.argv == ["/work/program.py"] and __file__ == __main__.__file__ == "/work/program.py"
    assert __main__.square is square and sys.path[0] == os.getcwd() == "/work"
    assert pickle.loads(pickle.dumps(Thing())).value == 7
    assert "number * number" in inspect.getsource(square)
    assert threading.current_thread() is threading.main_thread() and threading.active_count() == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert sys.stdin.read() == "" and os.read(0, 1) == b""
    assert os.umask(0o022) == 0o022
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(square, [2, 3]) == [4, 9], method
    from joblib import Parallel, delayed
    assert Parallel(n_jobs=2)(delayed(square)(number) for number in (4, 5)) == [16, 25]
    print("like any other")
""",
    status=ResultStatus.SUBMISSION_MISSING,
    holds=lambda run: run.stdout == "like any other\n",
)


def _ends(program: str, code: int, *, stdout: str = "", stderr: str = "") -> Case:
    status = ResultStatus.CODE_EXECUTION_ERROR if code else ResultStatus.SUBMISSION_MISSING
    return Case(
        name=program.splitlines()[-1],
        program=program,
        status=status,
        holds=lambda run: run.exit_code == code and run.stdout == stdout and stderr in run.stderr,
    )


_ENDS = (
    _ends("raise SystemExit\n", 0),
    _ends("import sys\nsys.exit('words')\n", 1, stderr="words\n"),
    _ends("import sys\nsys.exit(259)\n", 3),
    _ends("import os\nos._exit(7)\n", 7),
    _ends("raise KeyboardInterrupt\n", 130, stderr="KeyboardInterrupt"),
    _ends("import atexit\natexit.register(print, 'bye')\n", 0, stdout="bye\n"),
    _ends("import threading\nthreading.Timer(0.1, print, ['late']).start()\n", 0, stdout="late\n"),
    _ends("print('no end of line', end='')\n", 0, stdout="no end of line"),
    _ends(
        "def deep():\n    raise ValueError('deep')\n\ndeep()\n",
        1,
        stderr='Traceback (most recent call last):\n  File "/work/program.py", line 4, in <module>\n    deep()\n',
    ),
)

SESSIONS = (
    Session(name="nothing of an earlier program is left", programs=(_LOOK, _LEAVE, _LOOK)),
    Session(
        name="a program that ends badly spoils no other",
        programs=(_NEXT, *(case for bad in _BAD for case in (bad, _NEXT))),
    ),
    Session(name="chance", programs=(_CHANCE, _CHANCE), holds=_differ_unless_seeded),
    Session(name="processes like any other", programs=(_LIKE_ANY_OTHER, _LIKE_ANY_OTHER)),
    Session(name="ends of a process", programs=_ENDS),
)
