"""What the sandbox image is made of, written as members of one tar file: a base, the libraries, the user.

The file becomes one flat layer, so that nothing unwanted (test suites, bundled data sets, set-uid bits) is ever in any
layer, and no network, package manager or certificate is needed inside a build.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import layout, packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

VENV = layout.VENV.strip("/")
SITE = packages.SITE_PACKAGES.strip("/")
PYTHON = "python{}.{}".format(*sys.version_info[:2])

_TOOLS = ("sh", "cat", "cp", "echo", "env", "false", "grep", "head", "ls", "mkdir", "mv", "rm", "sleep", "tail", "true")
_EXPECTED = (
    *("libdl.so.2", "libexpat.so.1", "libgcc_s.so.1", "libgomp.so.1", "libm.so.6", "libnss_dns.so.2", "libz.so.1"),
    *("libnss_files.so.2", "libpthread.so.0", "libresolv.so.2", "librt.so.1", "libstdc++.so.6", "libutil.so.1"),
)
"""Shared libraries that wheels of extra packages take for there; those that this machine has."""
_UNWANTED_FOLDERS = packages.TEST_FOLDERS | {"__pycache__", "idlelib", "turtledemo", "ensurepip"}
_UNWANTED_PATHS = (
    *packages.DATA_FOLDERS,
    "etc/ssl",
    "etc/pki",
    "usr/share/ca-certificates",
    "usr/share/doc",
    "usr/share/man",
    "usr/local/share/man",
    "var/cache",
    "var/lib/apt/lists",
    "root/.cache",
    ".dockerenv",
)


def unwanted(name: str, keep: frozenset[str] = frozenset()) -> bool:
    """Whether a path, relative to the image's root, must not be in the image; ``keep`` names folders that may.

    >>> unwanted("opt/venv/lib/python3.11/site-packages/sklearn/datasets/tests/data/openml/id_40945/data.gz")
    True
    >>> unwanted("opt/venv/lib/python3.11/site-packages/numpy/testing/__init__.py")
    False
    """
    parts = PurePosixPath(name).parts
    is_command = parts[-2:] == ("bin", "test")
    if not is_command and not (_UNWANTED_FOLDERS - keep).isdisjoint(parts):
        return True
    if parts[-2:-1] == ("site-packages",) and parts[-1].endswith(".pth"):  # runs at the start of every interpreter
        return True
    path = f"/{'/'.join(parts)}/"
    return any(f"/{item}/" in path for item in _UNWANTED_PATHS)


class Layer:
    """A tar file in the making. Every member belongs to root, has no set-uid bit, and is added once."""

    def __init__(self, file: IO[bytes], *, keep_compiled: bool = False) -> None:
        self._keep = frozenset({"__pycache__"}) if keep_compiled else frozenset[str]()
        self._tar = tarfile.TarFile(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)
        self._names: set[str] = set()

    def close(self) -> None:
        """Write the end of the tar file."""
        self._tar.close()

    def member(self, info: tarfile.TarInfo, content: IO[bytes] | None = None) -> None:
        """Add one member, unless it is unwanted, of a special kind, or there already."""
        info.name = info.name.removeprefix("./").strip("/")
        regular = info.isreg() or info.isdir() or info.issym() or info.islnk()
        if not info.name or not regular or info.name in self._names:
            return
        # Unwanted folders stay as empty ones, as the embedded backend shows them: some libraries import them.
        if unwanted(str(PurePosixPath(info.name).parent) if info.isdir() else info.name, self._keep):
            return
        if info.islnk() and unwanted(info.linkname, self._keep):
            return
        info.mode &= 0o1777  # no set-uid and set-gid bits; the sticky bit of /tmp stays
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = 0
        info.pax_headers = {}
        self._names.add(info.name)
        self._tar.addfile(info, content)

    def folder(self, name: str, *, mode: int = 0o755) -> None:
        """Add a folder, and those above it."""
        for parent in [*reversed(PurePosixPath(name).parents), PurePosixPath(name)]:
            info = tarfile.TarInfo(str(parent))
            info.type = tarfile.DIRTYPE
            info.mode = mode if str(parent) == name else 0o755
            if str(parent) != ".":
                self.member(info)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link, and the folders above it."""
        self.folder(str(PurePosixPath(name).parent))
        info = tarfile.TarInfo(name)
        info.type = tarfile.SYMTYPE
        info.linkname = target
        self.member(info)

    def text(self, name: str, content: str) -> None:
        """Add a text file, and the folders above it."""
        self.folder(str(PurePosixPath(name).parent))
        info = tarfile.TarInfo(name)
        info.size = len(data := content.encode())
        self.member(info, io.BytesIO(data))

    def file(self, name: str, source: Path) -> None:
        """Add a copy of a file (links are followed), and the folders above it."""
        self.folder(str(PurePosixPath(name).parent))
        info = tarfile.TarInfo(name)
        with source.open("rb") as content:
            status = os.fstat(content.fileno())
            info.size = status.st_size
            info.mode = 0o755 if status.st_mode & 0o111 else 0o644
            self.member(info, content)

    def tree(self, name: str, source: Path) -> None:
        """Add copies of all files below a folder, links followed, dangling ones left out."""
        for folder, folders, files in os.walk(source, followlinks=True):
            inside = PurePosixPath(name, Path(folder).relative_to(source).as_posix())
            folders[:] = sorted(item for item in folders if not unwanted(str(inside / item)))
            for item in sorted(files):
                if (path := Path(folder, item)).is_file():
                    self.file(str(inside / item), path)


def add_exported(layer: Layer, stream: IO[bytes]) -> str:
    """Add a base image's file system, given as the tar stream of an export, without its own packages.

    Returns:
        The absolute path of its interpreter.

    Raises:
        SandboxUnavailableError: It has no interpreter of this Python's minor version.
    """
    interpreters: set[str] = set()
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for info in tar:
            name = info.name.removeprefix("./")
            if "/site-packages/" in name or name in {"etc/passwd", "etc/group"}:
                continue
            if re.fullmatch(rf"(usr/local|usr|opt/[^/]+)/bin/{re.escape(PYTHON)}", name):
                interpreters.add(f"/{name}")
            layer.member(info, tar.extractfile(info) if info.isreg() else None)
    if not interpreters:
        raise SandboxUnavailableError(
            f"The base image has no {PYTHON} in /usr/local/bin or /usr/bin, which the libraries of this environment "
            f"need. Choose another base, such as python:{PYTHON.removeprefix('python')}-slim, or 'host'."
        )
    return min(interpreters, key=lambda path: (not path.startswith("/usr/local/"), path))


def add_filtered(layer: Layer, stream: IO[bytes]) -> None:
    """Add the file system of an image of ours, given as the tar stream of an export, but for what is unwanted."""
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for info in tar:
            layer.member(info, tar.extractfile(info) if info.isreg() else None)


def add_interpreter(layer: Layer, libraries: list[Path]) -> str:
    """Add the running interpreter, its standard library, a few shell tools, and the system's shared libraries.

    Args:
        layer: Where to add them.
        libraries: Extension modules whose shared libraries are needed too.

    Returns:
        The absolute path of the interpreter in the image.

    Raises:
        SandboxUnavailableError: This is not Linux, or the interpreter's files are not where they should be.
    """
    interpreter = Path(os.path.realpath(sys.executable))
    standard = Path(sysconfig.get_path("stdlib"))
    if sys.platform != "linux" or not (standard / "os.py").is_file():
        raise SandboxUnavailableError(
            f"The sandbox image cannot be made from this interpreter ({interpreter}, {sys.platform}). "
            f"Let the engine pull python:{PYTHON.removeprefix('python')}-slim, or name another base image with --base."
        )
    for name in ("bin", "lib", "lib64", "sbin"):
        layer.folder(f"usr/{name}")
        layer.link(name, f"usr/{name}")
    for name in ("dev", "etc", "proc", "run", "sys", "var"):
        layer.folder(name)
    layer.file(f"opt/python/bin/{PYTHON}", interpreter)
    layer.link("opt/python/bin/python3", PYTHON)
    inside = PurePosixPath("opt/python") / sys.platlibdir / PYTHON
    for item in sorted(standard.iterdir()):
        if item.name in {"site-packages", "dist-packages"} or item.name.startswith("config-"):
            continue
        if item.is_dir() and not unwanted(str(inside / item.name)):
            layer.tree(str(inside / item.name), item)
        elif item.is_file():
            layer.file(str(inside / item.name), item)
    tools = {name: Path(found) for name in _TOOLS if (found := shutil.which(name))}
    for name, path in tools.items():
        layer.file(f"usr/bin/{name}", path)
    _add_shared_libraries(layer, [interpreter, *tools.values(), *standard.glob("lib-dynload/*.so"), *libraries])
    if Path("/etc/debian_version").is_file():  # by which NVIDIA's tools know where shared libraries belong
        layer.file("etc/debian_version", Path("/etc/debian_version"))
    return f"/opt/python/bin/{PYTHON}"


def add_libraries(layer: Layer, distributions: Iterable[metadata.Distribution]) -> list[Path]:
    """Add the files of installed distributions.

    Returns:
        Their extension modules and shared libraries, where they lie here.
    """
    extensions = []
    for distribution in distributions:
        for file in distribution.files or ():
            if ".." in file.parts:
                continue  # a console script
            if unwanted(f"{SITE}/{file}"):
                layer.folder(str(PurePosixPath(SITE, file).parent))
                continue
            path = Path(str(distribution.locate_file(file)))
            layer.file(f"{SITE}/{file}", path)
            if ".so" in path.suffixes:
                extensions.append(path)
    return extensions


def add_environment(layer: Layer, interpreter: str) -> None:
    """Add the virtual environment around the libraries, the user, and the folders that a program sees."""
    version = ".".join(map(str, sys.version_info[:3]))
    home = PurePosixPath(interpreter).parent
    layer.text(f"{VENV}/pyvenv.cfg", f"home = {home}\ninclude-system-site-packages = false\nversion = {version}\n")
    for name in ("python", "python3", PYTHON):
        layer.link(f"{VENV}/bin/{name}", interpreter)
    layer.folder("data")
    for name in ("output", "tmp", "work"):  # what is mounted there takes its mode from here in some engines
        layer.folder(name, mode=0o1777)
    layer.text("etc/passwd", f"root:x:0:0::/:/bin/sh\nrunner:x:{layout.USER}:{layout.USER}::/work:/bin/sh\n")
    layer.text("etc/group", f"root:x:0:\nrunner:x:{layout.USER}:\n")


def portable(distribution: metadata.Distribution, machine: str) -> bool:
    """Whether an installed distribution came from a wheel that runs on any glibc Linux of this machine type."""
    tags = re.findall(r"^Tag: (\S+)$", distribution.read_text("WHEEL") or "", re.MULTILINE)
    return distribution.files is not None and any(
        tag.endswith("-any") or ("manylinux" in tag and tag.endswith(machine)) for tag in tags
    )


def fetch(distributions: Iterable[metadata.Distribution], machine: str, folder: Path) -> None:
    """Download Linux wheels of the installed versions and unpack them, with this environment's pip and its settings.

    Raises:
        SandboxUnavailableError: pip is missing or failed.
    """
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(36, 4, -1)] + [f"manylinux2014_{machine}"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary=:all:"]
    command += ["--target", str(folder), "--python-version", PYTHON.removeprefix("python")]
    command += [f"--platform={platform}" for platform in platforms]
    command += [f"{item.metadata['Name']}=={item.version}" for item in distributions]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SandboxUnavailableError(
            f"Linux wheels for the sandbox image could not be fetched. pip said: {done.stderr.strip()[-600:]}"
        )


def unpacked(folder: Path) -> list[metadata.Distribution]:
    """The distributions that `fetch` unpacked."""
    return list(metadata.distributions(path=[str(folder)]))


def _add_shared_libraries(layer: Layer, binaries: list[Path]) -> None:
    """Add what the dynamic loader finds for these binaries outside their own packages, where it will look for it."""
    linked = [line for start in range(0, len(binaries), 100) for line in _ldd(binaries[start : start + 100])]
    home = next((Path(path).parent for name, path in linked if name.startswith("libc.so")), Path("/usr/lib"))
    linked += [(name, str(home / name)) for name in _EXPECTED if (home / name).is_file()]
    for name, path in dict(linked).items():
        if "site-packages" in path or "dist-packages" in path:
            continue
        # Loaders are named by absolute path in every binary; all else is found in the folder that has the C library.
        folder = Path(path).parent if name.startswith("/") else home
        inside = re.sub(r"^/(lib\w*)", r"/usr/\1", str(folder)) if not str(folder).startswith("/usr/") else str(folder)
        layer.file(f"{inside.strip('/')}/{PurePosixPath(name).name}", Path(path))


def _ldd(binaries: list[Path]) -> Iterator[tuple[str, str]]:
    if not binaries:
        return
    done = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if match := re.fullmatch(r"\s+(\S+) => (/\S+) \(0x\w+\)", line):
            yield match[1], match[2]
        elif match := re.fullmatch(r"\s+(/\S+) \(0x\w+\)", line):
            yield match[1], match[1]
