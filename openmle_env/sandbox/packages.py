"""What a box of the embedded backend sees of this machine: an allow-list of mounts, found once for each environment.

Of the running environment only known machine-learning libraries and what they require are shown, at the same paths as
in the container image, without their tests and bundled data sets: scikit-learn's tests, for one, hold the answers of
titanic. Never shown: this package, the project, home folders, and every other library.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import sys
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path

from openmle_env import settings
from openmle_env.errors import SandboxUnavailableError
from openmle_env.files import write_whole
from openmle_env.sandbox.layout import PYTHON, VENV

REQUIRED = ("numpy", "pandas", "scikit-learn")
LIBRARIES = (
    *REQUIRED,
    *("catboost", "category-encoders", "imbalanced-learn", "lightgbm", "matplotlib", "nltk", "numba", "opencv-python"),
    *(
        "opencv-python-headless",
        "optuna",
        "pillow",
        "polars",
        "pyarrow",
        "safetensors",
        "scikit-image",
        "scipy",
        "seaborn",
    ),
    *("sentence-transformers", "statsmodels", "timm", "torch", "torchaudio", "torchvision", "tqdm"),
    *("transformers", "xgboost", "xgboost-cpu"),
)
"""Distributions that programs may import where they are installed."""

BASE = "/opt/python"
_VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
SITE_PACKAGES = f"{VENV}/lib/{_VERSION}/site-packages"

TEST_FOLDERS = frozenset(("tests", "test", "_tests"))
DATA_FOLDERS = (
    *("sklearn/datasets/data", "sklearn/datasets/images", "sklearn/datasets/descr"),
    *("statsmodels/datasets", "skimage/data", "matplotlib/mpl-data/sample_data", "nltk/test"),
    *("seaborn/external/datasets", "torchvision/datasets/samplers/data", "catboost/data"),
)
_STANDARD_LIBRARY_MASKS = (
    "site-packages",
    "dist-packages",
    "test",
    "idlelib",
    "ensurepip",
    "turtledemo",
    "lib2to3/tests",
)


EXTRA_MARKER = "openmle.json"
"""In a folder of further packages, and none of them: it says what they are."""


@dataclass(frozen=True, slots=True)
class View:
    """Mounts of a box, in order: sources by destination, links, and folders that are covered by an empty one."""

    binds: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    """Target and place of each symbolic link."""
    masks: tuple[str, ...]
    library_path: str = ""
    """LD_LIBRARY_PATH, where the interpreter's own shared library is not found without it."""


@functools.lru_cache(maxsize=16)
def view(extra: Path | None = None) -> View:
    """The mounts for the running environment; found once and kept below the settings' home.

    Args:
        extra: A folder of further packages, shown in the same place (see `openmle_env.sandbox.extras`).

    Raises:
        SandboxUnavailableError: A required library is not installed in this environment.
    """
    if extra is not None:
        return _with_extra(view(), extra)
    file = settings.load().home / "sandbox" / f"view-{_key()}.json"
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        return View(
            binds=tuple((source, place) for source, place in stored["binds"]),
            links=tuple((target, place) for target, place in stored["links"]),
            masks=tuple(stored["masks"]),
            library_path=stored["library_path"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        found = find()
    with contextlib.suppress(OSError):  # without the cache the next process looks again, nothing worse
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(asdict(found)).encode())
    return found


def find() -> View:
    """Look through the environment; takes about a second."""
    binds, links, masks = _system()
    base = Path(sys.base_prefix)
    library_path = ""
    interpreter = (base / "bin" / _VERSION).resolve()
    if base == Path("/usr"):
        home = "/usr/bin"
    else:
        home = f"{BASE}/bin"
        binds += [(str(base / "lib"), f"{BASE}/lib"), (str(interpreter), f"{BASE}/bin/{_VERSION}")]
        masks += _masks_of_interpreter(base / "lib", f"{BASE}/lib")
        if any((base / "lib").glob("libpython3*.so*")):
            library_path = f"{BASE}/lib"
    links.append((f"{home}/{_VERSION}", PYTHON))
    links += [("python", f"{VENV}/bin/python3"), ("python", f"{VENV}/bin/{_VERSION}")]
    for name, source in sorted(entries().items()):
        place = f"{SITE_PACKAGES}/{name}"
        binds.append((str(source), place))
        masks += _masks_of_package(source, place)
    return View(tuple(binds), tuple(links), tuple(masks), library_path)


def _with_extra(shown: View, extra: Path) -> View:
    """The same, and what a folder of further packages adds to it; what is shown already stays."""
    names = {place for _, place in shown.binds}
    binds, masks = list(shown.binds), list(shown.masks)
    for source in sorted(extra.iterdir()):
        place = f"{SITE_PACKAGES}/{source.name}"
        if source.name != EXTRA_MARKER and not source.name.endswith(".pth") and place not in names:
            binds.append((str(source), place))
            masks += _masks_of_package(source, place)
    return replace(shown, binds=tuple(binds), masks=tuple(masks))


def pyvenv_cfg() -> str:
    """The file that makes ``/opt/venv`` an environment of the interpreter in the box."""
    home = "/usr/bin" if Path(sys.base_prefix) == Path("/usr") else f"{BASE}/bin"
    return f"home = {home}\ninclude-system-site-packages = false\nversion = {sys.version.split()[0]}\n"


def _key() -> str:
    """Changes with this file, the interpreter, and whatever is installed: installing touches the folder's own time."""
    parts = [Path(__file__).read_text(encoding="utf-8"), sys.base_prefix, sys.prefix, sys.version]
    for entry in sys.path:
        if entry.endswith(("site-packages", "dist-packages")) and Path(entry).is_dir():
            parts += [entry, str(Path(entry).stat().st_mtime_ns)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


# --- the system -------------------------------------------------------------------------------------------------------


def _system() -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[str]]:
    """Shared libraries, commands and time zones of this machine: binds, links and masks."""
    binds: list[tuple[str, str]] = []
    links: list[tuple[str, str]] = []
    masks: list[str] = []
    usr = Path("/usr")
    shown = [usr / name for name in ("bin", "lib64", "share/zoneinfo")]
    binds += [(str(path), str(path)) for path in shown if path.is_dir()]
    by_architecture = sorted(path for path in (usr / "lib").glob("*-linux-*") if path.is_dir())
    if by_architecture:  # Debian's layout: the libraries stand in a folder of their own
        binds += [(str(path), str(path)) for path in by_architecture]
        links += [(str(path.readlink()), str(path)) for path in (usr / "lib").glob("ld-linux*") if path.is_symlink()]
        standard = usr / "lib" / _VERSION
        if Path(sys.base_prefix) == usr:
            binds.append((str(standard), str(standard)))
            masks += _masks_of_interpreter(usr / "lib", "/usr/lib")
    else:
        binds.append(("/usr/lib", "/usr/lib"))
        masks += _masks_of_interpreter(usr / "lib", "/usr/lib")
        masks += [f"/usr/lib/{name}" for name in ("R", "node_modules") if (usr / "lib" / name).is_dir()]
    for name in ("bin", "sbin", "lib", "lib64"):
        place = Path("/", name)
        if place.is_symlink():
            links.append((str(place.readlink()), str(place)))
        elif place.is_dir() and name != "sbin":
            binds.append((str(place), str(place)))
    return binds, links, masks


def _masks_of_interpreter(folder: Path, place: str) -> list[str]:
    """Folders of packages and tests below ``lib/pythonX.Y``, of every version that stands there."""
    result = []
    for library in sorted(folder.glob("python3*")):
        names = [name for name in _STANDARD_LIBRARY_MASKS if (library / name).is_dir()]
        result += [f"{place}/{library.name}/{name}" for name in names]
    return result


# --- the libraries ----------------------------------------------------------------------------------------------------


def entries() -> dict[str, Path]:
    """Files and folders of the allowed distributions, by their name in site-packages."""
    result: dict[str, Path] = {}
    for distribution in distributions():
        for name in _top_level(distribution):
            source = Path(str(distribution.locate_file(name)))
            if source.exists():
                result[name] = source
    return result


def distributions() -> list[metadata.Distribution]:
    """The allowed distributions that are installed, with all that they require."""
    found: dict[str, metadata.Distribution] = {}
    waiting = list(LIBRARIES)
    while waiting:
        name = _canonical(waiting.pop())
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if name in REQUIRED:
                raise SandboxUnavailableError(
                    f"Programs need {name}, which is not installed in {sys.prefix}. "
                    f"Install it: {sys.executable} -m pip install {name}"
                ) from None
            continue
        # What only an extra asks for is left out; what does not apply to this platform is not installed anyway.
        needs = [text for text in found[name].requires or () if not re.search(r"\bextra\s*==", text)]
        waiting += [re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0] for text in needs]
    return list(found.values())


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _top_level(distribution: metadata.Distribution) -> set[str]:
    names = {file.parts[0] for file in distribution.files or ()}
    if not names:  # a system's packager left out the list of files
        names = set((distribution.read_text("top_level.txt") or "").split())
        names |= {f"{name}.py" for name in names}
    return {name for name in names if name not in ("..", "__pycache__", "bin") and not name.endswith(".pth")}


def _masks_of_package(source: Path, place: str) -> list[str]:
    if not source.is_dir():
        return []
    result = [
        f"{place}/{known.partition('/')[2]}"
        for known in DATA_FOLDERS
        if known.startswith(source.name + "/") and (source.parent / known).is_dir()
    ]
    for folder, names, _ in os.walk(source):
        tests = [name for name in names if name in TEST_FOLDERS]
        here = place + folder[len(str(source)) :]
        result += [f"{here}/{name}" for name in tests]
        names[:] = sorted(name for name in names if name not in tests and name != "__pycache__")
    return result
