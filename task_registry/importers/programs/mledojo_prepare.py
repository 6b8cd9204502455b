"""Runs a competition's own prepare() of MLE-Dojo on a folder that it may change and remove, as it does."""

import tempfile
from pathlib import Path

import own_copy
import peer_prepare


def prepare(raw, public, private):
    """Write public/ and private/."""
    work = Path(tempfile.mkdtemp()) / "raw"
    own_copy.mirror(Path(raw), work)
    peer_prepare.prepare(work, public, private)
    own_copy.no_links(public)
    own_copy.no_links(private)
    for wanted in (public / "sample_submission.csv", private / "test_answer.csv"):
        if not wanted.is_file():
            raise FileNotFoundError(f"the competition's prepare() made no {wanted.parent.name}/{wanted.name}")
