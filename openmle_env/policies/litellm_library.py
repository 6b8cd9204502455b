"""The library litellm, loaded when it is needed: without telemetry, printing and look-ups in the network."""

from __future__ import annotations

import importlib
import logging
import os
import threading
import warnings
from typing import Any

from openmle_env.errors import UsageError

_QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # the price list that is part of the library
    "LITELLM_MODE": "PRODUCTION",  # no .env file is read
    "LITELLM_LOG": "ERROR",
}
_NOTHING = {"role": "user", "content": ""}
_lock = threading.Lock()
_loaded: list[Any] = []


def load() -> Any:
    """The module.

    Raises:
        UsageError: It is not installed.
    """
    with _lock:
        if _loaded:
            return _loaded[0]
        added = {name: value for name, value in _QUIET.items() if name not in os.environ}
        os.environ.update(added)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the library's own making
                module = _quiet(importlib.import_module("litellm"))
                # Half of it is imported by the first request only: this one goes nowhere.
                module.completion(model="openai/none", messages=[_NOTHING], api_key="none", mock_response="none")
        except ImportError as error:
            raise UsageError(
                f"Models of litellm need the library litellm ({error}). Install it: pip install 'openmle-env[litellm]'"
            ) from None
        finally:
            for name in added:
                os.environ.pop(name, None)
        _loaded.append(module)
        return module


def _quiet(module: Any) -> Any:
    module.telemetry = False
    module.suppress_debug_info = True  # else it prints advice to stdout with each error
    logger = logging.getLogger("LiteLLM")
    if logger.level < logging.ERROR:
        logger.setLevel(logging.ERROR)
    return module
