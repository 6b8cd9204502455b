"""What bubblewrap is told: the namespaces, mounts, small files and environment of one box."""

from __future__ import annotations

import functools
import marshal
import os
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openmle_env.sandbox import extras, packages, requirements, seccomp
from openmle_env.sandbox.box import SUPERVISOR, configuration
from openmle_env.sandbox.layout import INSIDE, USER, VENV
from openmle_env.sandbox.users import EACH
from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openmle_env.sandbox.plan import Plan
    from openmle_env.types import Job

_FILTER = f"{INSIDE}/seccomp.bpf"
_ETC = {
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
}


def arguments(job: Job, plan: Plan, *, user: int | None, nice: int, files: list[int]) -> list[str]:
    """Bubblewrap's arguments, the supervisor's command at their end.

    Opens the files that bubblewrap copies, and appends their descriptors to ``files``. ``user`` is the first of those
    that the box has; without one it is a user namespace, in which there is only one.
    """
    view = packages.view(extras.find(requirements.of(job)))
    result = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try"]
    result += ["--hostname", "sandbox", "--new-session", "--die-with-parent", "--as-pid-1", "--clearenv"]
    if user is not None:
        result += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        result += ["--unshare-user", "--disable-userns", "--uid", str(USER), "--gid", str(USER)]
    result += _system(view, job, _people(user), files)
    result += ["--proc", "/proc", "--dev", "/dev"]
    limits = job.limits
    # The two are the box's own.
    sizes = {"/work": limits.work_mb, "/tmp": limits.work_mb, "/output": limits.output_mb, "/dev/shm": limits.shm_mb}  # noqa: S108  the box's own
    for place, size in sizes.items():
        result += ["--perms", "1777", "--size", str(int(size * MIB)), "--tmpfs", place]
    for place, folder in job.inputs.items():
        result += ["--ro-bind", str(folder.resolve()), place]
    # Pseudo-terminals are counted for the whole machine: without this, one box could leave none to others.
    result += ["--perms", "0555", "--size", "4096", "--tmpfs", "/dev/pts"]
    result += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work"]
    variables = configuration(job, plan, user=user, seccomp=_FILTER, nice=nice)
    if view.library_path:
        variables["LD_LIBRARY_PATH"] = view.library_path
    for name, value in variables.items():
        result += ["--setenv", name, value]
    return [*result, *SUPERVISOR]


def _system(view: packages.View, job: Job, people: Mapping[str, bytes], files: list[int]) -> list[str]:
    """What is the same in every box: libraries, interpreter, small files, and what is covered of them."""
    result: list[str] = []
    for place in _folders(view, job):
        result += ["--perms", "0755", "--dir", place]
    for source, place in view.binds:
        result += ["--ro-bind", source, place]
    for target, place in view.links:
        result += ["--symlink", target, place]
    for place in ("/etc/ld.so.cache", "/etc/alternatives"):
        result += ["--ro-bind-try", place, place]
    for place, content in {**_files(), **people}.items():
        descriptor = os.memfd_create("file")
        files.append(descriptor)
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        result += ["--perms", "0444", "--file", str(descriptor), place]
    for place in view.masks:
        # An empty file system of one page: with a bind mount for each, bubblewrap's time grows with their square.
        result += ["--perms", "0555", "--size", "4096", "--tmpfs", place]
    return result


def _people(user: int | None) -> dict[str, bytes]:
    """The users of a box by their name, which is the same for all of them."""
    numbers = (USER,) if user is None else range(user, user + EACH)
    people = "".join(f"runner:x:{number}:{number}:runner:/work:/bin/sh\n" for number in numbers)
    groups = "".join(f"runner:x:{number}:\n" for number in numbers)
    return {
        "/etc/passwd": f"root:x:0:0:root:/root:/bin/sh\n{people}".encode(),
        "/etc/group": f"root:x:0:\n{groups}".encode(),
    }


def _folders(view: packages.View, job: Job) -> list[str]:
    """Folders to make before anything is put into them: those that bubblewrap makes by itself only root may enter."""
    binds = [place for _, place in view.binds]
    places = [*binds, *(place for _, place in view.links), *_files(), *job.inputs]
    parents = {str(parent) for place in places for parent in PurePosixPath(place).parents}
    inside = tuple(f"{place}/" for place in binds)
    return sorted(parent for parent in parents if parent != "/" and not f"{parent}/".startswith(inside))


def _compiled(source: bytes, place: str) -> bytes:
    """A module as `py_compile` writes it, never checked against its source. Made here once instead of in each box."""
    code = compile(source, place, "exec", dont_inherit=True)
    unchecked = (1).to_bytes(4, "little")
    return MAGIC_NUMBER + unchecked + source_hash(source) + marshal.dumps(code)


@functools.cache
def _files() -> Mapping[str, bytes]:
    """Small files that are written into each box."""
    inside = Path(__file__).with_name("inside")
    files = {place: text.encode() for place, text in _ETC.items()}
    files[f"{VENV}/pyvenv.cfg"] = packages.pyvenv_cfg().encode()
    files[_FILTER] = seccomp.bpf()
    for path in inside.glob("*.py"):
        place = f"{INSIDE}/inside/{path.name}"
        files[f"{place}c"] = _compiled(path.read_bytes(), place)
    return files
