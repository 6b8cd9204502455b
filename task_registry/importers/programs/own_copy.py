"""A folder of raw files that a peer's script may change, move from and remove. Runs in a sandbox only."""

import os
import shutil


def mirror(source, target):
    """Make a folder that may be written to, whose files are links to those of another."""
    target.mkdir()
    for entry in os.scandir(source):
        if entry.is_dir(follow_symlinks=False):
            mirror(source / entry.name, target / entry.name)
        else:
            (target / entry.name).symlink_to(entry.path)


def no_links(folder):
    """Put the files themselves where a script moved links to them."""
    for path in list(folder.rglob("*")):
        if path.is_symlink():
            content = path.resolve()
            path.unlink()
            if content.is_dir():
                shutil.copytree(content, path)
            else:
                shutil.copyfile(content, path)
