from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

from openmle_env import scratch, settings
from openmle_env.errors import (
    DiskFullError,
    InfrastructureError,
    PackError,
    PreparationError,
    SandboxUnavailableError,
    UsageError,
)
from openmle_env.task_registry import files
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.manifest import MANIFEST
from openmle_env.task_registry.prepare import locate, prepare
from openmle_env.types import Execution, ResultStatus


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def everything() -> list[str]:
    """What lies in the cache beside locks."""
    home = settings.load().home
    return sorted(str(p.relative_to(home)) for p in home.rglob("*") if p.is_file() and p.parent.name != "locks")


def test_a_script_makes_the_data(make_pack, unfinished, box, home):
    told = []
    prepared = prepare(
        make_pack(unfinished), sandbox=box, progress=lambda message, share: told.append((share, message))
    )
    assert (prepared.public / "train.csv").read_text().startswith("id,weight,kind\np1,1,dog\n")
    assert prepared.answers.read_text().startswith("id,kind\np5,dog\n")
    assert [file.name for file in prepared.manifest.public_files()] == [
        "sample_submission.csv",
        "test.csv",
        "train.csv",
    ]
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert told[-1] == (1.0, "pets: ready")


def test_answers_are_closed_and_far_from_what_is_mounted(make_pack, unfinished, box, home):
    old = os.umask(0o077)
    try:
        prepared = prepare(make_pack(unfinished), sandbox=box)
    finally:
        os.umask(old)
    assert mode(prepared.public) == 0o755
    assert {mode(path) for path in prepared.public.iterdir()} == {0o644}
    assert mode(prepared.answers.parent) == mode(prepared.answers.parent.parent) == 0o700
    assert mode(prepared.answers) == 0o600
    assert prepared.public.parent == home / "data"
    assert home / "data" not in prepared.answers.parents
    assert "pets" not in str(prepared.public.relative_to(home))


def test_the_script_sees_raw_and_its_own_folder_only(make_pack, unfinished, box):
    pack = make_pack(unfinished)
    prepare(pack, sandbox=box)
    assert {job_input for job in box.jobs for job_input in job.inputs} == {"/data/raw", "/pack"}
    assert box.jobs[0].inputs["/data/raw"] == pack.root / "raw"


def test_a_pack_that_only_its_owner_may_read(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    open_ = prepare(pack, sandbox=box)
    shutil.rmtree(home)
    for path in (pack.root / "raw", *pack.members.values()):
        path.chmod(0o700 if path.is_dir() else 0o600)
    real_run, seen = box.run, []

    def run(job, *, cancel=None):
        seen.extend(
            (inside, mode(path), {mode(file) for file in path.iterdir()}) for inside, path in job.inputs.items()
        )
        return real_run(job, cancel=cancel)

    box.run = run
    assert prepare(pack, sandbox=box) == open_
    assert seen == [("/data/raw", 0o755, {0o644}), ("/pack", 0o755, {0o644})] * 2
    assert sorted(path.name for path in home.iterdir()) == ["answers", "data", "locks", "scratch"]
    assert list((home / "scratch").iterdir()) == []


def test_a_second_time_nothing_runs_and_nothing_is_written(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    first = prepare(pack, sandbox=box)
    runs = len(box.jobs)
    before = {path: path.stat() for path in home.rglob("*")}
    again = prepare(pack, sandbox=box)
    assert (first.made, again.made) == (True, False)
    assert again == first
    assert locate(pack) == first
    assert len(box.jobs) == runs
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == {p: s.st_mtime_ns for p, s in before.items()}


def test_looking_makes_nothing(make_pack, unfinished, home):
    assert locate(make_pack(unfinished)) is None
    assert not home.exists()


def _change(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-2] + b"!" + content[-1:])


def _truncate(path: Path) -> None:
    os.truncate(path, 3)


def _add(path: Path) -> None:
    (path.parent / "extra.csv").write_text("id\n")


def _hide(path: Path) -> None:
    (path.parent / ".extra").write_text("x")


def _link(path: Path) -> None:
    copy = path.parent.parent.parent / "copy"
    path.rename(copy)
    path.symlink_to(copy)


@pytest.mark.parametrize("damage", [_change, _truncate, Path.unlink, _add, _hide, _link])
@pytest.mark.parametrize("place", ["public", "answers", "manifest"])
def test_a_damaged_cache_is_made_again(make_pack, unfinished, box, damage, place):
    pack = make_pack(unfinished)
    whole = prepare(pack, sandbox=box)
    expected = whole.answers.read_bytes(), (whole.public / "train.csv").read_bytes()
    runs = len(box.jobs)
    damage(
        {
            "public": whole.public / "train.csv",
            "answers": whole.answers,
            "manifest": whole.answers.with_name(MANIFEST),
        }[place]
    )
    assert (locate(pack) is None) is (damage is not _change or place == "manifest")  # looking reads no data
    again = prepare(pack, sandbox=box)
    assert again.made
    assert len(box.jobs) > runs
    assert (again.answers.read_bytes(), (again.public / "train.csv").read_bytes()) == expected
    assert not (again.public / "extra.csv").exists()


@pytest.mark.parametrize("tree", ["data", "answers"])
def test_a_removed_tree_is_made_again(make_pack, unfinished, box, home, tree):
    pack = make_pack(unfinished)
    prepare(pack, sandbox=box)
    shutil.rmtree(home / tree)
    assert prepare(pack, sandbox=box) == locate(pack)


def test_a_file_where_a_folder_should_be(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    prepared = prepare(pack, sandbox=box)
    shutil.rmtree(prepared.public)
    prepared.public.write_text("x")
    assert prepare(pack, sandbox=box).public.is_dir()
    (prepared.public / "train.csv").unlink()
    (prepared.public / "train.csv").mkdir()
    assert (prepare(pack, sandbox=box).public / "train.csv").is_file()


@pytest.mark.parametrize("bits", [0o000, 0o600, 0o700, 0o777])
@pytest.mark.parametrize("place", ["file", "folder", "answers", "tree"])
def test_permissions_that_were_changed_are_given_back(make_pack, unfinished, box, home, *, bits, place):
    pack = make_pack(unfinished)
    whole = prepare(pack, sandbox=box)
    before = {path: path.lstat().st_mode for path in home.rglob("*")}
    runs = len(box.jobs)
    path = {
        "file": whole.public / "train.csv",
        "folder": whole.public,
        "answers": whole.answers,
        "tree": whole.public.parent,
    }[place]
    path.chmod(bits)
    assert prepare(pack, sandbox=box) == whole
    assert {path: path.lstat().st_mode for path in home.rglob("*")} == before
    assert len(box.jobs) == runs


def test_an_empty_folder_that_was_added_is_noticed(make_pack, unfinished, box):
    pack = make_pack(unfinished)
    whole = prepare(pack, sandbox=box)
    (whole.public / "extra").mkdir()
    assert locate(pack) is None
    assert prepare(pack, sandbox=box).made
    assert not (whole.public / "extra").exists()


def test_pipes_in_the_cache_keep_nobody_waiting(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    whole = prepare(pack, sandbox=box)
    for path in (whole.answers.with_name(MANIFEST), whole.public / "train.csv"):
        path.unlink()
        os.mkfifo(path)
        assert locate(pack) is None
        assert prepare(pack, sandbox=box) == whole


def test_what_a_killed_process_left_in_boxes_is_removed_at_the_next_start(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    prepare(pack, sandbox=box)
    left = home / f"scratch/{scratch.machine()}-left/data"
    left.mkdir(parents=True)
    (left / "truth.csv").write_text("secret")
    prepare(pack, sandbox=box)
    assert not left.parent.exists()


def test_what_is_whole_may_lie_where_nothing_can_be_written(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    whole = prepare(pack, sandbox=box)
    shutil.rmtree(home / "locks")
    assert prepare(pack, sandbox=box) == whole
    assert not (home / "locks").exists()


def test_a_fork_does_not_keep_the_lock(make_pack, unfinished, home):
    (home / "locks").mkdir(parents=True)
    path, waited = home / "locks/x", []
    with files.locked(path, lambda: None):
        reading, writing = os.pipe()
        with warnings.catch_warnings(action="ignore"):  # newer Pythons warn of forks beside threads
            child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
    try:
        with files.locked(path, lambda: waited.append(1)):
            assert waited == []
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


def in_the_cache(home: Path) -> dict[Path, tuple[int, int]]:
    """Inode and time of everything beside the locks, which every look makes anew."""
    places = [path for path in home.rglob("*") if "locks" not in path.parts]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in places if path.parent != home}


def test_making_the_same_again_changes_nothing(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    first = prepare(pack, sandbox=box)
    before = in_the_cache(home)
    runs = len(box.jobs)
    again = prepare(pack, sandbox=box, force=True)
    assert (first.made, again.made, len(box.jobs)) == (True, True, 2 * runs)
    assert in_the_cache(home) == before


def test_repair_replaces_only_what_was_damaged(make_pack, finished, box, home):
    pack = make_pack(finished, {"pack.yaml": "metric: {name: accuracy}", "data/public/images/a.txt": "pixels"})
    prepared = prepare(pack, sandbox=box)
    expected = {name: path.read_bytes() for name, path in files.tree(prepared.public).items()}
    inodes = {name: path.stat().st_ino for name, path in files.tree(prepared.public).items()}
    folder = prepared.public.stat().st_ino
    _change(prepared.public / "test.csv")
    (prepared.public / "train.csv").chmod(0o600)
    (prepared.public / "images/extra").mkdir()
    assert prepare(pack, sandbox=box).made
    found = files.tree(prepared.public, everything=True)
    assert {name: path.read_bytes() for name, path in found.items()} == expected
    assert mode(prepared.public / "train.csv") == 0o644
    assert not (prepared.public / "images/extra").exists()
    assert prepared.public.stat().st_ino == folder
    changed = {name for name, path in found.items() if path.stat().st_ino != inodes[name]}
    assert changed <= {"test.csv", "train.csv"}


@pytest.mark.parametrize("damaged", [False, True])
def test_an_episode_reads_on_while_its_data_is_made_again(make_pack, unfinished, box, damaged):
    pack = make_pack(unfinished)
    public = prepare(pack, sandbox=box).public
    mounted = os.open(public, os.O_RDONLY)  # what a box holds of it
    stop, failures, reads = threading.Event(), [], []

    def read() -> None:
        while not stop.is_set():
            for name in ("train.csv", "test.csv", "sample_submission.csv"):
                try:
                    os.close(os.open(name, os.O_RDONLY, dir_fd=mounted))
                    reads.append(name)
                except OSError as error:
                    failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(3):
            if damaged:
                _change(public / "train.csv")
            assert prepare(pack, sandbox=box, force=True).made
    finally:
        stop.set()
        reader.join()
        os.close(mounted)
    assert reads
    assert failures == []


def test_a_cache_that_cannot_be_read_is_made_again(make_pack, unfinished, box, home, monkeypatch):
    pack = make_pack(unfinished)
    whole = prepare(pack, sandbox=box)
    real = os.open

    def refuse(path, *arguments, **options):
        if Path(path) == whole.answers.with_name(MANIFEST):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        assert locate(pack) is None
        assert prepare(pack, sandbox=box).made
    assert locate(pack) == whole


def test_an_older_format_is_made_again(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    manifest = prepare(pack, sandbox=box).answers.with_name(MANIFEST)
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 0}))
    assert locate(pack) is None


def test_finished_data_is_copied_without_running_anything(make_pack, finished, box, home):
    changes = {"pack.yaml": "metric: {name: accuracy}", "data/public/images/a.txt": "pixels"}
    prepared = prepare(make_pack(finished, changes), sandbox=box)
    assert box.jobs == []
    assert (prepared.public / "images/a.txt").read_text() == "pixels"
    assert mode(prepared.public / "images") == 0o755
    assert not list(prepared.public.rglob("*answer*"))


def failing(pack, box, error, message):
    with pytest.raises(error, match=message) as caught:
        prepare(pack, sandbox=box)
    assert everything() == []
    return str(caught.value)


SCRIPT_START = "def prepare(raw, public, private):\n"


@pytest.mark.parametrize(
    ("addition", "error", "message"),
    [
        ("    raise ValueError('no such breed')\n", PreparationError, r"prepare\.py failed[\s\S]*no such breed"),
        ("    (public / 'link.csv').symlink_to('/etc/hostname')\n", PreparationError, "link.csv.*a symbolic link"),
        ("    private.rename(public / 'x'); private.symlink_to(public / 'x')\n", PreparationError, "left private/"),
        ("    (public / 'x').write_bytes(__import__('os').urandom(8))\n", PackError, "not deterministic: public/x"),
        ("    (public / '.hidden').write_text('x')\n", PackError, "neither below public"),
        ("    (private / 'manifest.json').write_text('{}')\n", PackError, "a name of ours"),
        ("    (private / 'test_answer.csv').unlink()\n", PackError, "has no answers: private/test_answer.csv"),
        ("    (public / 'sample_submission.csv').unlink()\n", PackError, "no sample submission"),
        ("    raise SystemExit(0)\n", PreparationError, r"ended its process before prepare\(\) returned"),
        ("    __import__('os')._exit(0)\n", PreparationError, r"ended its process before prepare\(\) returned"),
        ("    (public / '\\udcff.csv').write_text('x')\n", PackError, "no plain UTF-8. Rename"),
        ("    (public / 'a\\nb.csv').write_text('x')\n", PackError, "no plain UTF-8. Rename"),
        (
            "    (public / 'x.dat').write_bytes((private / 'test_answer.csv').read_bytes())\n",
            PackError,
            "public/x.dat is a copy of the hidden answers",
        ),
    ],
)
def test_a_script_that_does_wrong(make_pack, unfinished, box, *, addition, error, message):
    script = unfinished["utils/prepare.py"] + addition
    failing(make_pack(unfinished, {"utils/prepare.py": script}), box, error, message)


def test_what_no_box_can_run_is_told_of_the_pack(make_pack, unfinished, home):
    failing(make_pack(unfinished), Broken(UsageError("too little")), PackError, "'preparation' of pack.yaml allows")


def test_a_script_that_hangs(make_pack, unfinished, box):
    changes = {
        "utils/prepare.py": unfinished["utils/prepare.py"] + "    import time; time.sleep(600)\n",
        "pack.yaml": unfinished["pack.yaml"] + "preparation: {seconds: 0.5}\n",
    }
    failing(make_pack(unfinished, changes), box, PreparationError, r"failed \(timeout\): It ran longer than 0.5 s")


@pytest.mark.parametrize("script", ["def prepare(:\n", "x = 1\n", "import no_such_module\n"])
def test_a_script_that_cannot_be_loaded(make_pack, unfinished, box, home, script):
    failing(make_pack(unfinished, {"utils/prepare.py": script}), box, PreparationError, "failed")


def contents_of(prepared) -> str:
    lines = [f"  {file.name}: {file.sha256}" for file in prepared.manifest.files]
    return "contents:\n" + "\n".join(lines) + "\n"


def test_stated_contents_make_one_run_enough(make_pack, write_pack, unfinished, box):
    contents = contents_of(prepare(make_pack(unfinished), sandbox=box))
    assert len(box.jobs) == 2
    root = write_pack(unfinished, {"pack.yaml": unfinished["pack.yaml"] + contents}, name="stated")
    prepare(open_pack(root), sandbox=box)
    assert len(box.jobs) == 3


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        ("    (public / 'x.csv').write_text('id\\n')\n", "public/x.csv is not listed"),
        ("    (private / 'x.csv').write_text('id\\n')\n", "private/x.csv is not listed"),
        ("    (public / 'test.csv').unlink()\n", "public/test.csv is listed"),
        (
            "    (public / 'test.csv').open('a').write('p,1\\n')\n",
            "public/test.csv is not the file that the pack states",
        ),
    ],
)
def test_only_the_stated_contents_are_prepared(write_pack, unfinished, box, addition, message):
    contents = contents_of(prepare(open_pack(write_pack(unfinished)), sandbox=box))
    shutil.rmtree(settings.load().home)
    changes = {
        "pack.yaml": unfinished["pack.yaml"] + contents,
        "utils/prepare.py": unfinished["utils/prepare.py"] + addition,
    }
    failing(open_pack(write_pack(unfinished, changes, name="other")), box, PackError, message)


class Broken:
    """A sandbox whose machine fails."""

    name = "broken"

    def __init__(self, result):
        self.result = result

    def run(self, job, *, cancel=None):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.mark.parametrize(
    "result",
    [
        SandboxUnavailableError("the engine went away"),
        Execution(status=ResultStatus.SANDBOX_UNCONFIRMED, reason="the engine went away"),
    ],
)
def test_a_sandbox_that_fails(make_pack, unfinished, home, result):
    failing(make_pack(unfinished), Broken(result), SandboxUnavailableError, "the engine went away")


def test_the_disk_is_looked_at_first(make_pack, unfinished, box, home, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: usage)
    failing(make_pack(unfinished), box, DiskFullError, "0 MiB left and 17 MiB are needed.*OPENMLE_HOME")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_leaves_nothing_half_made(make_pack, unfinished, box, monkeypatch, number):
    real, written = os.fsync, []

    def fsync(descriptor):
        written.append(descriptor)
        if len(written) == 3:
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(files.os, "fsync", fsync)
    pack = make_pack(unfinished)
    failing(pack, box, DiskFullError, "No space is left.*OPENMLE_HOME")
    monkeypatch.setattr(files.os, "fsync", real)
    assert prepare(pack, sandbox=box) == locate(pack)


def test_a_cache_that_cannot_be_written(make_pack, unfinished, box, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("OPENMLE_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(InfrastructureError, match="OPENMLE_HOME"):
        prepare(make_pack(unfinished), sandbox=box)


DRIVER = """
import os, runpy, signal, sys
from pathlib import Path
conftest, folder, root, die_at = sys.argv[1:]
PlainProcess = runpy.run_path(conftest)["PlainProcess"]
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.prepare import prepare
renames = []
def counted(real):
    def move(self, target):
        if len(renames) == int(die_at):
            os.kill(os.getpid(), signal.SIGKILL)
        renames.append(target)
        return real(self, target)
    return move
Path.rename, Path.replace = counted(Path.rename), counted(Path.replace)
box = PlainProcess(Path(folder))
prepare(open_pack(Path(root)), sandbox=box)
print(len(box.jobs))
"""


def drive(tmp_path: Path, root: Path, name: str, die_at: int = 99) -> subprocess.Popen[str]:
    arguments = [str(Path(__file__).with_name("conftest.py")), str(tmp_path / name), str(root), str(die_at)]
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("die_at", [0, 1])
def test_a_killed_process_leaves_nothing_that_counts(write_pack, unfinished, box, tmp_path, die_at):
    root = write_pack(unfinished)
    with drive(tmp_path, root, "killed", die_at) as process:
        assert process.wait() == -signal.SIGKILL
    pack = open_pack(root)
    assert locate(pack) is None
    prepared = prepare(pack, sandbox=box)
    assert prepared == locate(pack)
    assert not [name for name in everything() if ".new" in name]


@pytest.mark.parametrize("die_at", [0, 1, 2])
def test_a_repair_that_is_killed_leaves_nothing_that_counts(write_pack, unfinished, box, tmp_path, die_at):
    root = write_pack(unfinished)
    pack = open_pack(root)
    whole = prepare(pack, sandbox=box)
    expected = (whole.public / "train.csv").read_bytes()
    for path in (whole.public / "train.csv", whole.answers):
        _change(path)
    with drive(tmp_path, root, "killed", die_at) as process:
        assert process.wait() == -signal.SIGKILL
    assert locate(pack) is None
    assert (prepare(pack, sandbox=box).public / "train.csv").read_bytes() == expected
    assert not [name for name in everything() if ".new" in name]


def test_two_processes_make_it_once(write_pack, unfinished, home, tmp_path):
    root = write_pack(unfinished)
    with drive(tmp_path, root, "one") as one, drive(tmp_path, root, "two") as two:
        outputs = sorted(process.communicate()[0].strip() for process in (one, two))
    assert outputs == ["0", "2"]


def test_whoever_waits_is_told_so(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    (home / "locks").mkdir(parents=True)
    told = threading.Event()
    with files.locked(home / "locks" / pack.hash[:32], lambda: None):
        waiting = threading.Thread(
            target=prepare,
            args=(pack,),
            kwargs={"sandbox": box, "progress": lambda message, share: told.set() if "waiting" in message else None},
        )
        waiting.start()
        assert told.wait(60)
        assert box.jobs == []
    waiting.join(60)
    assert locate(pack) is not None


def test_whoever_waited_for_another_says_that_it_made_nothing(make_pack, unfinished, box, home):
    pack = make_pack(unfinished)
    (home / "locks").mkdir(parents=True)
    waits, made = threading.Event(), []

    def wait() -> None:
        made.append(prepare(pack, sandbox=box, progress=tell).made)

    def tell(message: str, share: float) -> None:
        if "waiting" in message:
            waits.set()

    real = files.locked

    @contextmanager
    def locked(path, waiting):
        with real(path, waiting):
            if not waits.is_set():
                other.start()
                assert waits.wait(60)
            yield

    other = threading.Thread(target=wait)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "locked", locked)
        assert prepare(pack, sandbox=box).made
        other.join(60)
    assert made == [False]
