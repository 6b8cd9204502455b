"""Pushing a pack to the Hugging Face hub as a data set, and pulling one: pinned to a commit, checked byte by byte."""

from __future__ import annotations

import glob
import json
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmle_env.errors import DiskFullError, InfrastructureError, OpenMLEError, PackError, UsageError
from openmle_env.files import is_full
from openmle_env.task_registry import files
from openmle_env.task_registry.folder import open_pack
from openmle_env.task_registry.hub import card, edition
from openmle_env.task_registry.hub.edition import MANIFEST
from openmle_env.task_registry.importers.drafts import may_be_replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openmle_env.task_registry.folder import Pack

    Progress = Callable[[str, float], None]

_REPO = re.compile(r"(?P<repo>\w[\w.-]*/\w[\w.-]*)(?:@(?P<revision>\w[\w./-]*))?")
_CARD = "README.md"
_NO_PART = {MANIFEST, _CARD, ".gitattributes"}
"""Files of a data set that are none of the pack."""
_MAX_MANIFEST = 64 << 20
"""Bytes of a list of files; a pack of 100,000 files has one of 15 million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """Where a pack went."""

    repo: str
    """The data set."""
    commit: str
    """Its state, for ``REPO@COMMIT``."""
    url: str
    """Its page."""
    edition: str
    """``whole`` or ``public``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """What came."""

    slug: str
    """The task."""
    folder: Path
    """Where the pack is."""
    commit: str
    """The state of the data set that was taken."""
    edition: str
    """``whole``, which can be played, or ``public``."""
    hash: str
    """Hash of the whole pack."""


def split_address(address: str) -> tuple[str, str | None]:
    """Data set and revision of ``OWNER/NAME`` or ``OWNER/NAME@REVISION``.

    Raises:
        UsageError: It has another form.
    """
    match = _REPO.fullmatch(address)
    if match is None:
        raise UsageError(f"{address!r} should be OWNER/NAME or OWNER/NAME@REVISION, as on the hub.")
    return match["repo"], match["revision"]


def push(
    pack: Pack,
    repo: str,
    *,
    public: bool = False,
    with_answers: bool = False,
    prepared: Path | None = None,
    progress: Progress | None = None,
) -> Pushed:
    """Push a pack.

    To a private data set goes the whole pack. To a public one goes what agents may see, unless the answers are asked
    for: whoever can read them can hand them in.

    Args:
        pack: The pack.
        repo: ``OWNER/NAME``.
        public: Make a public data set, if there is none of this name.
        with_answers: Push the whole pack to a public data set, too.
        prepared: Folder of its prepared public files, for the public edition.
        progress: Told what is being done, and the share that is done, from 0 to 1.

    Raises:
        UsageError: The name or the library, or the visibility of a data set that is there, does not fit.
        PackError: The public files are not there.
        InfrastructureError: The hub refused, or cannot be reached.
    """
    name, revision = split_address(repo)
    if revision is not None:
        raise UsageError(f"A pack is pushed to a data set, not to a revision of it: {name}")
    hub = _hub()
    tell = progress or (lambda _message, _share: None)
    with _worded(name):
        api = hub.HfApi(library_name="openmle_env")
        tell("looking at the data set", 0.0)
        url = str(api.create_repo(name, repo_type="dataset", private=not public, exist_ok=True))
        is_public = not api.repo_info(name, repo_type="dataset").private
    if is_public and not public:
        raise UsageError(f"{name} is public. Say --public, and --with-answers if the answers are to go there, too.")
    made = edition.whole(pack) if with_answers or not is_public else edition.public(pack, prepared)
    tell(f"sending {len(made.sources)} files", 0.1)
    text = json.dumps(made.shared.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
    with _worded(name):
        gone = _sizes(api, name).keys() - made.sources.keys() - _NO_PART
        operations = [
            *(hub.CommitOperationAdd(path, str(source)) for path, source in made.sources.items()),
            hub.CommitOperationAdd(MANIFEST, text.encode()),
            hub.CommitOperationAdd(_CARD, card.render(pack, made.shared, made.rows()).encode()),
            *(hub.CommitOperationDelete(path) for path in sorted(gone)),
        ]
        message = f"{pack.slug} {pack.version}, {made.shared.edition}"
        commit = api.create_commit(name, operations, commit_message=message, repo_type="dataset")
    tell("sent", 1.0)
    return Pushed(repo=name, commit=commit.oid, url=url, edition=made.shared.edition)


def pull(address: str, to: Path, *, force: bool = False, progress: Progress | None = None) -> Pulled:
    """Pull a pack into ``to``/<slug>: whole, or not at all. What was loaded before is not loaded again.

    Args:
        address: ``OWNER/NAME``, or ``OWNER/NAME@REVISION`` with a commit, tag or branch.
        to: Folder for the pack.
        force: Write over another pack of that name.
        progress: Told what is being done, and the share that is done, from 0 to 1.

    Raises:
        UsageError: The address or the library does not fit, or another pack is there.
        PackError: The data set holds no pack, or not the files that were pushed.
        InfrastructureError: The hub refused, or cannot be reached, or the folder cannot be written.
    """
    name, revision = split_address(address)
    hub = _hub()
    tell = progress or (lambda _message, _share: None)
    with _worded(address):
        api = hub.HfApi(library_name="openmle_env")
        tell("looking at the data set", 0.0)
        commit = str(api.repo_info(name, repo_type="dataset", revision=revision).sha)
        there = _sizes(api, name, revision=commit)
        if there.get(MANIFEST, 0) > _MAX_MANIFEST:
            raise PackError(f"{address} holds no task pack: its {MANIFEST} is larger than {_MAX_MANIFEST >> 20} MiB.")
        fetched = Path(api.hf_hub_download(name, MANIFEST, repo_type="dataset", revision=commit))
        shared = edition.read(fetched.read_bytes(), address)
        with files.storage_errors(to):
            to.mkdir(parents=True, exist_ok=True)
            files.need_space(to, sum(file.size for file in shared.files.values()))
        target, new = to / shared.slug, to / f".{shared.slug}.new"
        if target.exists() or target.is_symlink():
            if not force:
                raise UsageError(f"{target} is there. Remove it, or say --force.")
            if not may_be_replaced(target):
                raise UsageError(f"{target} is there and is no task pack, so it stays. Move it, or use another folder.")
        _check_sizes(shared, there)
        tell(f"fetching {len(shared.files)} files", 0.1)
        # Named are the files that are left out, which are few: each pattern is compared with each file.
        others = [glob.escape(path) for path in sorted(there.keys() - shared.files.keys())]
        api.snapshot_download(name, repo_type="dataset", revision=commit, ignore_patterns=others)
    with files.storage_errors(to):
        files.remove(new)
        try:
            _copy(shared, fetched.parent, new)
            edition.check(shared, new)
            if shared.edition == "whole" and (found := open_pack(new).hash) != shared.hash:
                raise PackError(f"{shared.slug}: the pack's hash is {found}, and {MANIFEST} says {shared.hash}.")
            files.remove(target)
            new.rename(target)
        finally:
            files.remove(new)
    tell("fetched", 1.0)
    return Pulled(slug=shared.slug, folder=target, commit=commit, edition=shared.edition, hash=shared.hash)


def _sizes(api: Any, name: str, revision: str | None = None) -> dict[str, int]:
    """The files of a data set, with their bytes."""
    entries = api.list_repo_tree(name, repo_type="dataset", recursive=True, revision=revision)
    return {one.path: one.size for one in entries if hasattr(one, "blob_id")}


def _check_sizes(shared: edition.SharedPack, there: dict[str, int]) -> None:
    """Notice before anything is fetched that a file is missing, or larger than the list makes believe."""
    for name, listed in shared.files.items():
        if name not in there:
            raise PackError(f"{shared.slug}: {name} is listed in {MANIFEST} and is not in the data set.")
        if there[name] != listed.size:
            raise PackError(
                f"{shared.slug}: {name} is not the file that was pushed: it has {there[name]} bytes, and {MANIFEST} "
                f"says {listed.size}. Nothing was fetched."
            )


def _copy(shared: edition.SharedPack, snapshot: Path, new: Path) -> None:
    """Copy the listed files; in the library's cache they are links to it."""
    for name in shared.files:
        source, target = snapshot / name, new / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise UsageError("Sharing packs needs huggingface_hub: pip install 'openmle-env[hub]'") from None
    return huggingface_hub


@contextmanager
def _worded(name: str) -> Iterator[None]:
    """Word what the hub's library raises. Its own texts may hold addresses with keys, and are not passed on."""
    from huggingface_hub import errors

    # Which HTTP library says that nobody is there depends on the version of the hub's: it is the one whose error that
    # one's own is made of.
    trouble: tuple[type[BaseException], ...] = (OSError, RuntimeError, ValueError, *errors.HfHubHTTPError.__bases__)
    try:
        yield
    except OpenMLEError:
        raise
    except errors.RepositoryNotFoundError:
        raise InfrastructureError(
            f"The hub knows no data set {name}, or does not show it to you. Check the name, and log in: hf auth login"
        ) from None
    except errors.RevisionNotFoundError:
        raise InfrastructureError(f"The hub has no such revision: {name}.") from None
    except errors.EntryNotFoundError:
        raise PackError(f"{name} holds no task pack: it has no {MANIFEST}.") from None
    except errors.LocalTokenNotFoundError:
        raise InfrastructureError(f"The hub wants to know who you are for {name}. Log in: hf auth login") from None
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        advice = " Log in: hf auth login" if status in {401, 403} else " Try again later."
        raise InfrastructureError(f"The hub refused {name} ({status}).{advice}") from None
    except errors.HFValidationError:
        raise UsageError(f"{name!r} is no name of a data set on the hub.") from None
    except trouble as error:  # nobody there, or a transfer that broke off
        if isinstance(error, OSError) and is_full(error):
            raise DiskFullError(
                f"No space is left for {name} in the hub's cache. Free some space, or set HF_HOME to a folder on "
                "another disk."
            ) from None
        raise InfrastructureError(
            f"The hub could not be reached for {name}, or broke off: {type(error).__name__}. "
            "Check the network and HF_ENDPOINT, and try again: what was sent or fetched counts."
        ) from None
