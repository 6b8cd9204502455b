"""Making a task's data from its pack: in a sandbox where a script makes it, verified, and whole or not there at all.

Public files and answers lie in two trees that share no parent but the cache's own, under names that say nothing:
``data/<digest>`` is readable by the user of any container, ``answers/<digest>`` only by us. The answers' folder holds
the manifest, which goes away first and comes last, so that its presence means that everything is there. Where data is
made again, episodes that run go on: the folder that they have mounted stays, and so does each file that is as before.
"""

from __future__ import annotations

import stat
import unicodedata
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from openmle_env import scratch, settings
from openmle_env.errors import PackError, UsageError
from openmle_env.sandbox.scripted import ScriptedSandbox
from openmle_env.task_registry import content_hash, files, raw_inputs
from openmle_env.task_registry.folder import ANSWERS, GOLD, PREPARE_SCRIPT, SAMPLE
from openmle_env.task_registry.manifest import (
    FORMAT,
    MANIFEST,
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    PUBLIC_FILE,
    PUBLIC_FOLDER,
    Manifest,
    describe,
    read,
    read_whole,
)
from openmle_env.task_registry.on_demand import SandboxOnDemand
from openmle_env.task_registry.pack_values import VALUES
from openmle_env.task_registry.prepare_run import run_script
from openmle_env.types import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openmle_env.sandbox.protocol import Sandbox
    from openmle_env.task_registry.folder import Pack
    from openmle_env.task_registry.index import IndexEntry

    Progress = Callable[[str, float], None]
    Contents = Mapping[str, bytes | Path]

SPARE_BYTES = 16 * MIB
"""What is left free beside the data itself."""
_BEGUN, _FETCHED = 0.1, 0.5
"""The share that is done when the script begins: of a pack that carries its raw data, and of one that fetched it."""
MAX_DEPTH = 64
"""Of folders in prepared data, which is as deep as a sandbox reads back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Where a task's files are, and what they are."""

    public: Path
    """Folder that programs see as ``/data``."""
    answers: Path
    """File with the hidden answers."""
    manifest: Manifest
    """What is there."""
    made: bool = field(default=False, compare=False)
    """Whether this call made the data, rather than found it."""
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What the sample submission, the answers or the metric were warned of, where this call made the data."""


@dataclass(frozen=True, slots=True)
class _Places:
    """The two folders of a task, and where they are made before they take their place."""

    public: Path
    private: Path
    lock: Path

    @property
    def new_public(self) -> Path:
        return self.public.with_name(f".{self.public.name}.new")

    @property
    def new_private(self) -> Path:
        return self.private.with_name(f".{self.private.name}.new")


def locate(pack: Pack | IndexEntry) -> Prepared | None:
    """The prepared task, if it is there by its files' names and sizes; nothing is made, and no file is read for it."""
    places = _places(pack)
    manifest = read(pack.hash, places.public, places.private)
    return _prepared(places, manifest) if manifest else None


def prepare(
    pack: Pack,
    *,
    sandbox: Sandbox | None = None,
    progress: Progress | None = None,
    force: bool = False,
    show_trace: bool = False,
) -> Prepared:
    """Make a task's data, or verify what was made before.

    Safe to call from several processes at once: one makes the data, the others wait. A cache that was changed, cut or
    added to is noticed and made again; permissions that were changed are given back. What is whole is not locked, nor
    is anything written, so that it may lie where nobody can write.

    Args:
        pack: An opened pack.
        sandbox: Where the pack's own code runs. Left out, the one of the settings is started if any code has to run.
        progress: Told what is being done, and the share that is done, from 0 to 1.
        force: Make the data again, even if it is there and whole. The old data stays until the new is; then only the
            files that differ are replaced, each in one step, so that episodes that run miss no file.
        show_trace: End an error of the pack's own metric with its own words. They may quote the answers.

    Raises:
        PackError: What was made is not what the pack says, or nothing could be graded by it.
        PreparationError: The pack's script failed, ran out of time or memory, or left something else than files.
        SandboxUnavailableError: The pack's script could not be run.
        DiskFullError: There is no space for the data.
        InfrastructureError: The cache's folder cannot be written.
    """
    tell = progress or (lambda _message, _share: None)
    home = settings.load().home
    places = _places(pack)
    scratch.sweep()
    tell(f"{pack.slug}: verifying", 0.0)
    if not force and _parents_are_right(places) and (manifest := read_whole(pack.hash, places.public, places.private)):
        tell(f"{pack.slug}: ready", 1.0)
        return _prepared(places, manifest)
    warnings: list[str] = []
    with files.storage_errors(home):
        files.make_folder(places.lock.parent, mode=PRIVATE_FOLDER)
        files.make_folder(places.public.parent, mode=PUBLIC_FOLDER)
        files.make_folder(places.private.parent, mode=PRIVATE_FOLDER)
        with files.locked(places.lock, lambda: tell(f"{pack.slug}: waiting for another process", 0.0)):
            files.set_modes(places.public, folder_mode=PUBLIC_FOLDER, file_mode=PUBLIC_FILE)
            files.set_modes(places.private, folder_mode=PRIVATE_FOLDER, file_mode=PRIVATE_FILE)
            manifest = None if force else read_whole(pack.hash, places.public, places.private)
            made = manifest is None
            if manifest is None:
                with SandboxOnDemand(sandbox) as on_demand:
                    manifest = _make(pack, places, on_demand, tell, warnings, show_trace=show_trace)
    tell(f"{pack.slug}: ready", 1.0)
    return replace(_prepared(places, manifest, made=made), warnings=tuple(warnings))


def _places(pack: Pack | IndexEntry) -> _Places:
    home, digest = settings.load().home, pack.hash[:32]
    return _Places(home / "data" / digest, home / "answers" / digest, home / "locks" / digest)


def _parents_are_right(places: _Places) -> bool:
    try:
        modes = [stat.S_IMODE(path.parent.stat().st_mode) for path in (places.public, places.private)]
    except OSError:
        return False
    return modes == [PUBLIC_FOLDER, PRIVATE_FOLDER]


def _prepared(places: _Places, manifest: Manifest, *, made: bool = False) -> Prepared:
    answers = places.private / PurePosixPath(ANSWERS).name
    return Prepared(public=places.public, answers=answers, manifest=manifest, made=made)


def _make(
    pack: Pack,
    places: _Places,
    sandbox: SandboxOnDemand,
    tell: Progress,
    warnings: list[str],
    *,
    show_trace: bool,
) -> Manifest:
    _discard(places)  # what a killed process may have left
    begun = _FETCHED if pack.config.downloads else _BEGUN
    try:
        if pack.is_finished:
            contents: Contents = {
                name.removeprefix("data/"): path for name, path in pack.members.items() if name.startswith("data/")
            }
        else:
            with raw_inputs.folders(pack, lambda message, share: tell(message, share * begun)) as inputs:
                tell(f"{pack.slug}: running {PREPARE_SCRIPT}", begun)
                contents = made = _run_script(pack, sandbox.get(), inputs)
                if not pack.config.contents:
                    tell(f"{pack.slug}: running {PREPARE_SCRIPT} again, to see that it writes the same", begun + 0.1)
                    _compare(pack, made, _run_script(pack, sandbox.get(), inputs))
        _check_names(pack, contents)
        tell(f"{pack.slug}: writing", 0.7)
        _write(contents, places)
        described = tuple(describe(name, _new_path(places, name)) for name in sorted(contents))
        hashes = {file.name: file.sha256 for file in described}
        _check_hashes(pack, hashes, places)
        _check_copies(pack, hashes)
        tell(f"{pack.slug}: checking", 0.8)
        from openmle_env.task_registry import learn  # with the graders

        learned = learn.learn(pack, places.new_public, _new_path(places, ANSWERS), sandbox, show_trace=show_trace)
        warnings.extend(learned.warnings)
        manifest = Manifest(
            format=FORMAT,
            pack=pack.hash,
            files=described,
            submission=learned.submission,
            higher_is_better=learned.higher_is_better,
            rewards=learned.rewards,
        )
        files.write(places.new_private / MANIFEST, manifest.model_dump_json(indent=1).encode(), mode=PRIVATE_FILE)
        _commit(places)
    finally:
        _discard(places)
    return manifest


def _run_script(pack: Pack, sandbox: Sandbox, inputs: Mapping[str, Path]) -> dict[str, bytes]:
    if isinstance(sandbox, ScriptedSandbox):
        raise UsageError(
            f"{pack.slug} is not prepared, and the scripted sandbox runs no code. Prepare it in another one first: "
            f"openmle prepare {pack.address}"
        )
    what = f"{pack.slug}: {PREPARE_SCRIPT}"
    return run_script(what, inputs, pack.config.preparation, sandbox, requirements=pack.requirements)


def _compare(pack: Pack, first: Mapping[str, bytes], second: Mapping[str, bytes]) -> None:
    """Refuse what two runs did not make the same; a format that packs the same values differently has to say so."""
    for name in sorted(first.keys() | second.keys()):
        if (one := first.get(name)) == (other := second.get(name)):
            continue
        if one is not None and other is not None and content_hash.has_values(name):
            digests = {content_hash.digest(name, content) for content in (one, other)}
            if len(digests) == 1:
                continue
        raise PackError(
            f"{pack.slug}: {PREPARE_SCRIPT} is not deterministic: {name} differs between two runs. "
            "Fix its seeds, and sort whatever comes from a set or a folder."
        )


def _check_names(pack: Pack, contents: Contents) -> None:
    """Refuse what is not where it belongs: nothing but listed files ever becomes public."""
    for name in contents:
        if any(unicodedata.category(character) in {"Cc", "Cs"} for character in name):
            raise PackError(f"{pack.slug}: the prepared file {name!a} has a name that is no plain UTF-8. Rename it.")
        path = PurePosixPath(name)
        hidden = any(part.startswith(".") for part in path.parts)
        if len(path.parts) > MAX_DEPTH:
            raise PackError(f"{pack.slug}: {name[:80]!r}... lies more than {MAX_DEPTH} folders deep. Make it flatter.")
        if path.is_absolute() or ".." in path.parts or hidden or path.parts[0] not in {"public", "private"}:
            raise PackError(f"{pack.slug}: the prepared file {name!r} is neither below public/ nor below private/.")
    source = "data/" if pack.is_finished else f"what {PREPARE_SCRIPT} wrote"
    if f"private/{MANIFEST}" in contents:
        raise PackError(f"{pack.slug}: private/{MANIFEST} is a name of ours. Rename it.")
    if ANSWERS not in contents:
        raise PackError(f"{pack.slug} has no answers: {ANSWERS} is missing in {source}. Nothing could be graded.")
    if SAMPLE not in contents:
        raise PackError(f"{pack.slug} has no sample submission: {SAMPLE} is missing in {source}.")
    listed = pack.config.contents
    if listed and (extra := sorted(contents.keys() - listed.keys())):
        raise PackError(
            f"{pack.slug}: {', '.join(extra)} is not listed in 'contents' of pack.yaml. List it, or do not write it."
        )
    if missing := sorted(listed.keys() - contents.keys()):
        raise PackError(
            f"{pack.slug}: {', '.join(missing)} is listed in 'contents' of pack.yaml and missing in {source}."
        )


def _check_hashes(pack: Pack, found: Mapping[str, str], places: _Places) -> None:
    for name, expected in pack.config.contents.items():
        is_of_values = expected.startswith(VALUES)
        digest = content_hash.digest(name, _new_path(places, name)) if is_of_values else found[name]
        if digest != expected:
            raise PackError(
                f"{pack.slug}: {name} is not the file that the pack states: its SHA-256 is {digest}, "
                f"and 'contents' in pack.yaml says {expected}. If the data was changed on purpose, correct 'contents' "
                f"and raise the version; otherwise {PREPARE_SCRIPT} is not deterministic, or the pack is damaged."
            )


def _check_copies(pack: Pack, found: Mapping[str, str]) -> None:
    hidden = {found[name]: f"the hidden answers, {name}" for name in (ANSWERS, GOLD) if name in found}
    if pack.config.leaderboard:
        board = pack.config.leaderboard.file
        hidden[files.sha256(pack.members[board])] = f"the leaderboard, {board}"
    for name, digest in found.items():
        if name.startswith("public/") and digest in hidden:
            raise PackError(f"{pack.slug}: {name} is a copy of {hidden[digest]}. Keep it out of public/.")


def _write(contents: Contents, places: _Places) -> None:
    sizes = (len(source) if isinstance(source, bytes) else source.stat().st_size for source in contents.values())
    files.need_space(places.public.parent, sum(sizes) + SPARE_BYTES)
    for name, source in contents.items():
        is_public = name.startswith("public/")
        root = places.new_public if is_public else places.new_private
        target = _new_path(places, name)
        folder_mode, mode = (PUBLIC_FOLDER, PUBLIC_FILE) if is_public else (PRIVATE_FOLDER, PRIVATE_FILE)
        files.make_folder(root, mode=folder_mode)
        files.make_parents(target, root, mode=folder_mode)
        if isinstance(source, bytes):
            files.write(target, source, mode=mode)
        else:
            files.copy(source, target, mode=mode)


def _new_path(places: _Places, name: str) -> Path:
    side, _, rest = name.partition("/")
    return (places.new_public if side == "public" else places.new_private) / rest


def _commit(places: _Places) -> None:
    """Put what is new in its place, the manifest away first and back last; nothing changes where nothing is new."""
    if files.same(places.new_public, places.public) and files.same(places.new_private, places.private):
        return
    if not places.private.is_dir() or places.private.is_symlink():
        files.remove(places.private)
    else:
        files.remove(places.private / MANIFEST)
        files.sync_folder(places.private)
    files.sync_folder(places.private.parent)
    for new, final, last in (
        (places.new_public, places.public, ""),
        (places.new_private, places.private, MANIFEST),
    ):
        files.sync_folder(new)
        files.take_over(new, final, last=last)
        files.sync_folder(final.parent)


def _discard(places: _Places) -> None:
    files.remove(places.new_public)
    files.remove(places.new_private)
