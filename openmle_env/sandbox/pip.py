"""Running pip for the packages of a requirements file, on this machine or in a build, and explaining its failures.

pip is run from one zip file, beside an environment that holds nothing but the libraries that boxes show. So it takes
those for installed and nothing else, keeps their versions, and the same file gives the same packages on both backends.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openmle_env.errors import DiskFullError, OpenMLEError, SandboxUnavailableError, UsageError
from openmle_env.sandbox import packages
from openmle_env.sandbox.requirements import canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from importlib import metadata

OPTIONS = (
    *("--no-input", "--disable-pip-version-check", "--root-user-action=ignore", "--progress-bar=off"),
    # Wheels only: installing one runs none of its code. Bytecode is compiled later, in one way for all.
    *("--only-binary=:all:", "--no-compile", "--no-warn-script-location", "--retries=2"),
)
"""Of ``pip install``, wherever it is run."""
SECONDS = 1800.0
_ELSEWHERE = ("target", "prefix", "root", "user", "require-virtualenv", "python", "no-binary", "only-binary", "dry-run")
"""Settings that would install elsewhere, or something else."""
_UNREACHABLE = (
    r"newconnectionerror|connection (broken|refused|reset|timed)|name resol|max retries|proxyerror|read timed out"
)
_BUILDERS = re.compile(r"(Step \d+/\d+ :| ---> |Removing intermediate container)")
_MOST_OF_CERTIFICATES = 4 << 20
_TAIL_LINES = 12
_TAIL_CHARACTERS = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where packages come from."""

    wheels: Path | None = None
    """A folder of wheels; then no network is used."""
    certificates: Path | None = None
    """Certificates in PEM form, of an authority that a private index or proxy is signed by."""
    indexes: tuple[str, ...] = ()
    """Addresses of package indexes, the main one first; those of this machine's pip where there are none."""

    def check(self) -> None:
        """See that what was given is there.

        Raises:
            UsageError: The folder holds no wheel, the file no certificate, or an address is none.
        """
        if self.wheels is not None and not self.wheels.is_dir():
            raise UsageError(f"There is no folder {str(self.wheels)!r}, which --wheels names.")
        if self.wheels is not None and not any(self.wheels.glob("*.whl")):
            raise UsageError(f"The folder {str(self.wheels)!r}, which --wheels names, holds no file '*.whl'.")
        if self.certificates is not None:
            try:
                with self.certificates.open("rb") as file:
                    text = file.read(_MOST_OF_CERTIFICATES + 1)
            except OSError as error:
                why = error.strerror or str(error)
                raise UsageError(f"The certificates {str(self.certificates)!r} cannot be read: {why}.") from None
            if len(text) > _MOST_OF_CERTIFICATES:
                raise UsageError(f"The certificates {str(self.certificates)!r} are larger than 4 MiB.")
            if b"-----BEGIN CERTIFICATE-----" not in text:
                raise UsageError(
                    f"The file {str(self.certificates)!r} holds no certificate: '-----BEGIN CERTIFICATE-----' is not "
                    "in it. Convert it to PEM: openssl x509 -inform der -in FILE -out FILE.pem"
                )
            if b"PRIVATE KEY-----" in text:
                raise UsageError(
                    f"The file {str(self.certificates)!r} holds a private key. Give the certificate alone."
                )
        for address in self.indexes:
            if not re.fullmatch(r"https?://\S+", address):
                shown = re.sub(r"//.*@", "//...@", address)  # before the @ may stand a password
                raise UsageError(f"{shown!r} is no address of a package index. It begins with https://.")


def archive(target: Path) -> None:
    """Write pip as one zip file, which ``python FILE/pip install ...`` runs: this environment's, or Python's own.

    Raises:
        SandboxUnavailableError: There is neither.
    """
    spec = importlib.util.find_spec("pip")
    if spec is not None and spec.origin and Path(spec.origin).is_file():
        root = Path(spec.origin).parent
        with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as file:
            for folder, names, files in os.walk(root):
                names[:] = sorted(name for name in names if name != "__pycache__")
                for name in sorted(files):
                    path = Path(folder, name)
                    file.write(path, f"pip/{path.relative_to(root).as_posix()}")
        return
    places: list[str | None] = [sysconfig.get_config_var("WHEEL_PKG_DIR"), _bundled()]
    for place in places:
        for wheel in sorted(Path(place).glob("pip-*.whl")) if place else ():
            target.write_bytes(wheel.read_bytes())
            return
    raise SandboxUnavailableError(
        f"pip is needed to install extra packages, and {sys.executable} has none. Install it: "
        f"{sys.executable} -m ensurepip"
    )


def _bundled() -> str | None:
    spec = importlib.util.find_spec("ensurepip")
    return str(Path(spec.origin).parent / "_bundled") if spec and spec.origin else None


def settings(archived: Path) -> dict[str, str]:
    """The settings of this machine's pip, whichever file or variable they stand in; ``archived`` is pip's `archive`.

    Raises:
        SandboxUnavailableError: They cannot be read. Without them, packages might come from another index.
    """
    command = [sys.executable, str(archived / "pip"), "config", "list"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=60)
    except subprocess.TimeoutExpired as error:
        raise SandboxUnavailableError("pip did not tell its settings within 60 s. Try again.") from error
    if done.returncode:
        raise SandboxUnavailableError(
            f"The settings of pip cannot be read. Correct them: {sys.executable} -m pip config debug. It said:\n"
            f"{last_lines(done.stderr)}"
        )
    found: dict[tuple[str, str], str] = {}
    for line in done.stdout.splitlines():
        if match := re.fullmatch(r"(global|install|:env:)\.([\w-]+)=('.*'|\".*\")", line):
            found[match[1], match[2]] = str(ast.literal_eval(match[3]))
    strongest_last = sorted(found, key=lambda item: ("global", "install", ":env:").index(item[0]))
    return {name: found[section, name] for section, name in strongest_last}


def configuration(source: Source, own: Mapping[str, str]) -> str:
    """A ``pip.conf`` for a build elsewhere: of this machine's own settings what does not name its files and folders.

    A file, since arguments of a build can be read in its history, and addresses may hold passwords.
    """
    indexes = list(source.indexes)
    if not indexes:
        indexes = [*own.get("index-url", "https://pypi.org/simple").split(), *own.get("extra-index-url", "").split()]
        indexes = [address for address in indexes if address.startswith(("http://", "https://"))]
    values = {"index-url": indexes[0], "extra-index-url": " ".join(indexes[1:])} if indexes else {}
    values["timeout"] = own.get("timeout") or own.get("default-timeout", "")
    values |= {name: " ".join(own.get(name, "").split()) for name in ("trusted-host", "proxy")}
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in values.items() if value)


def constraints(free: Collection[str] = ()) -> str:
    """A constraints file that keeps the versions of the libraries that boxes show, but for the packages in ``free``."""
    return "".join(
        f"{item.metadata['Name']}=={item.version}\n"
        for item in sorted(packages.distributions(), key=lambda item: canonical(item.metadata["Name"]))
        if canonical(item.metadata["Name"]) not in free
    )


def pretend(folder: Path, distributions: Iterable[metadata.Distribution]) -> None:
    """Write what pip needs to take these for installed, and nothing else, into a folder for ``PYTHONPATH``."""
    for item in distributions:
        name = canonical(item.metadata["Name"]).replace("-", "_")
        made = folder / f"{name}-{item.version}.dist-info"
        made.mkdir()
        (made / "METADATA").write_text(item.read_text("METADATA") or "", encoding="utf-8")
        (made / "INSTALLER").write_text("openmle_env\n", encoding="utf-8")


def environment(source: Source, own: Mapping[str, str]) -> dict[str, str]:
    """Variables for pip on this machine: its own settings, but for where to install and where ``source`` says more.

    Not as arguments, which every user of the machine can read. Files of settings are not read again: what is left out
    here would come back.
    """
    away = set(_ELSEWHERE)
    if source.indexes or source.wheels is not None:
        away |= {"index-url", "extra-index-url", "find-links", "no-index"}
    found = {name: value for name, value in os.environ.items() if not name.upper().startswith("PIP_")}
    found |= {f"PIP_{name.upper().replace('-', '_')}": value for name, value in own.items() if name not in away}
    if source.indexes:
        found |= {"PIP_INDEX_URL": source.indexes[0], "PIP_EXTRA_INDEX_URL": " ".join(source.indexes[1:])}
    return found | {"PIP_CONFIG_FILE": os.devnull}


def run(command: Sequence[str], pretended: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run pip on this machine, beside what is pretended; both streams as one. See `environment`.

    Raises:
        SandboxUnavailableError: It does not end.
    """
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=SECONDS,
            cwd=pretended,  # where no file has a package's name
            env={**variables, "PYTHONPATH": str(pretended)},
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxUnavailableError(
            f"pip did not end within {SECONDS:g} s. Look at the network, or give the wheels by --wheels FOLDER."
        ) from error


def explain(said: str, *, source: Source, python: str, where: str) -> OpenMLEError:
    """The error for a pip that failed with this output; ``where`` says what was being made."""
    tail = last_lines(said)
    told = f"pip could not install the packages {where}."
    lower = said.lower()
    if "no space left on device" in lower or "disk quota exceeded" in lower:
        return DiskFullError(f"{told} No space is left; nothing was kept. Free some, then try again. It said:\n{tail}")
    if "do not match the hashes" in lower or "expected sha" in lower:
        return UsageError(
            f"{told} A package is not the one that the requirements file means: its hash is another. Correct the hash "
            f"only if you know why. It said:\n{tail}"
        )
    if "--require-hashes mode" in lower:
        return UsageError(
            f"{told} Where one package has a hash, all need one, those that they require too. It said:\n{tail}"
        )
    if "certificate verify failed" in lower or "certificate_verify_failed" in lower or "sslerror" in lower:
        return SandboxUnavailableError(
            f"{told} The index's certificate is of an unknown authority: give that authority's by --certificates "
            f"FILE.pem. It said:\n{tail}"
        )
    if source.wheels is None and re.search(_UNREACHABLE, lower):
        return SandboxUnavailableError(
            f"{told} The package index cannot be reached. Check the network and the proxy, name another index by "
            f"--index, or give the wheels by --wheels FOLDER. It said:\n{tail}"
        )
    if "resolutionimpossible" in lower or "conflicting dependencies" in lower:
        return UsageError(
            f"{told} They contradict each other, or the libraries of this environment, whose versions stay as they "
            f"are. It said:\n{tail}"
        )
    if "no matching distribution" in lower or "could not find a version" in lower:
        if source.wheels is not None:
            advice = (
                f"The folder {str(source.wheels)!r} has to hold a wheel of each, and of all that they require, for "
                f"Python {python} on Linux: python -m pip download --only-binary=:all: -d FOLDER -r FILE"
            )
        else:
            advice = (
                f"The index has no wheel of it for Python {python} on Linux: correct the name or the version, or make "
                "one ('python -m pip wheel') and give it by --wheels."
            )
        return UsageError(f"{told} {advice}\nIt said:\n{tail}")
    return SandboxUnavailableError(f"{told} It said:\n{tail}")


def last_lines(said: str) -> str:
    """The end of what pip wrote, without what a builder wrote around it: its errors where it marked some."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    lines = [line.rstrip() for line in plain.splitlines() if line.strip() and not _BUILDERS.match(line)]
    marked = [number for number, line in enumerate(lines) if line.startswith("ERROR")]
    if marked and marked[0] >= len(lines) - _TAIL_LINES:
        broken = [line for line in lines[: marked[0]] if "connection broken" in line][-1:]
        lines = [*broken, *lines[marked[0] :]]
    return "\n".join(lines[-_TAIL_LINES:])[-_TAIL_CHARACTERS:]
