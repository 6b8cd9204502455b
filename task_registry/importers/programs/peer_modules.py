"""Lets the code of another collection be imported from texts that stand in this file. Runs in a sandbox only."""

import importlib.abc
import importlib.util
import sys

# What importing the shared modules of the peer asks for and only some of their functions use: stands in where it is
# not installed, and fails when it is used.
ABSENT = {}

SOURCES = {}


class _Unusable:
    """A name of a library that is not here."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Unusable(f"{self._name}.{name}")

    def __call__(self, *_arguments, **_options):
        raise ImportError(f"{self._name} is needed here, and this library is not in the box")


class _Bar:
    """A progress bar that shows nothing."""

    def __init__(self, items=(), *_arguments, **_options):
        self._items = items

    def __iter__(self):
        return iter(self._items)

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_arguments, **_options: None


class _PeerModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the peer's modules in SOURCES."""

    def find_spec(self, name, path=None, target=None):
        if name not in SOURCES:
            return None
        is_package = any(other.startswith(name + ".") for other in SOURCES)
        return importlib.util.spec_from_loader(name, self, origin=f"<{name}>", is_package=is_package)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__], f"<{module.__name__}>", "exec"), module.__dict__)  # noqa: S102


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes last: stands in for libraries that nobody else finds."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ABSENT:
            return None
        return importlib.util.spec_from_loader(name, self, origin="<absent>", is_package=True)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__

        def missing(attribute):
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            if attribute == "tqdm":
                return _Bar
            return _Unusable(f"{name}.{attribute}")

        module.__getattr__ = missing


sys.meta_path.insert(0, _PeerModules())
sys.meta_path.append(_Absent())
