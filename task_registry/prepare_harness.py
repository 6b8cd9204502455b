"""Runs a pack's ``utils/prepare.py``. This text is the program of a sandboxed job: it is never imported."""

import importlib.util
import sys
from pathlib import Path


def main() -> None:
    """Call ``prepare(raw, public, private)`` with folders below ``/output``."""
    spec = importlib.util.spec_from_file_location("prepare", "/pack/prepare.py")
    if spec is None or spec.loader is None:
        raise SystemExit("utils/prepare.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules["prepare"] = module
    sys.path.insert(0, "/pack")
    spec.loader.exec_module(module)
    public, private = Path("/output/public"), Path("/output/private")
    public.mkdir()
    private.mkdir()
    module.prepare(Path("/data/raw"), public, private)
    Path("/output/done").touch(exist_ok=False)


if __name__ == "__main__":
    main()
