"""Runs a competition's own prepare() of MLE-Dojo on a folder that it may change and remove, as it does."""

import os
import tempfile
from pathlib import Path

import peer_prepare


def prepare(raw, public, private):
    """Write public/ and private/."""
    work = Path(tempfile.mkdtemp()) / "raw"
    _mirror(Path(raw), work)
    peer_prepare.prepare(work, public, private)
    for wanted in (public / "sample_submission.csv", private / "test_answer.csv"):
        if not wanted.is_file():
            raise FileNotFoundError(f"the competition's prepare() made no {wanted.parent.name}/{wanted.name}")


def _mirror(source, target):
    target.mkdir()
    for entry in os.scandir(source):
        if entry.is_dir(follow_symlinks=False):
            _mirror(Path(entry.path), target / entry.name)
        else:
            (target / entry.name).symlink_to(entry.path)
