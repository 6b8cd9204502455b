"""Runs a competition's own prepare() of MLE-bench and gives what it makes the names that task packs have."""

import csv
import importlib
import shutil
import tempfile
from pathlib import Path

from own_copy import mirror, no_links

PREPARER = ("", "")  # module and function
ANSWERS = ""  # below private/
SAMPLE = ""  # below public/
COLUMNS = []  # of a submission, the id first, where the sample's own order is another


def prepare(raw, public, private):
    """Write public/ and private/."""
    module, function = PREPARER
    work = Path(tempfile.mkdtemp()) / "raw"
    mirror(Path(raw), work)
    getattr(importlib.import_module(module), function)(work, public, private)
    for folder in (public, private):
        no_links(folder)
    answers = private / ANSWERS
    if not answers.is_file():
        raise FileNotFoundError(f"the competition's prepare() made no private/{ANSWERS}")
    sample = public / SAMPLE
    if not sample.is_file():
        # A sample that lies beside the answers is not copied to the public side: it may hold more than it should.
        raise FileNotFoundError(f"the competition's prepare() made no public/{SAMPLE}")
    for path in sorted(private.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        elif path != answers and path != private / "gold_submission.csv":
            path.unlink()
    _take(answers, private / "test_answer.csv")
    gold = private / "gold_submission.csv"
    if COLUMNS:
        _select(sample, public / "sample_submission.csv")
        if gold.is_file():
            _select(gold, gold)
    else:
        _take(sample, public / "sample_submission.csv")


def _take(path, wanted):
    if path != wanted:
        shutil.move(path, wanted)


def _select(path, wanted):
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with wanted.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
