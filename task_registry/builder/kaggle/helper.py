"""Calls Kaggle's client. This text is the program of a process of its own: it is never imported by ours.

It reads one request as JSON from stdin and writes one answer as JSON to stdout. What the client prints goes to stderr.
Only methods that every version since 1.6 has are called; faults are told by their HTTP status, not by their wording.
"""

import importlib
import importlib.metadata
import json
import os
import sys
from typing import Any

PAGES = 200
PAGE_SIZE = 200


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    answer: dict[str, object]
    try:
        answer = {"result": ACTIONS[request["action"]](_api(), request)}
    except SystemExit:  # the client ends its process where it finds no valid keys
        answer = {"error": {"status": 401, "message": "the client found no valid keys"}}
    except Exception as error:  # noqa: BLE001 - what it raises differs between versions, and all of it is told
        answer = {"error": _told(error)}
    json.dump(answer, answers)
    answers.close()


def _api() -> Any:
    """The client, which signs in when it is imported; from version 2 on it may fail at that in silence."""
    environment = dict(os.environ)
    api = importlib.import_module("kaggle").api
    os.environ.update(environment)  # version 1.8 takes the token away
    if int(importlib.metadata.version("kaggle").partition(".")[0]) >= 2:
        api.authenticate()
    return api


def _told(error: Any) -> dict[str, object]:
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(error, "status", None)
    headers = getattr(response, "headers", None) or getattr(error, "headers", None) or {}
    return {
        "broken": isinstance(error, ImportError),
        "status": status if isinstance(status, int) else None,
        "message": f"{type(error).__name__}: {error}"[:500],
        "retry_after": headers.get("Retry-After"),
    }


def _competition(api: Any, request: dict[str, Any]) -> Any:
    """What the list of competitions says of one; None where it does not have it."""
    found = api.competitions_list(search=request["name"])
    found = getattr(found, "competitions", found) or []
    for entry in found:
        address = str(_value(entry, "ref", "url") or "")
        if address.rstrip("/").rpartition("/")[2].lower() == request["name"].lower():
            return {
                "entered": _value(entry, "user_has_entered", "userHasEntered"),
                "title": _value(entry, "title"),
                "description": _value(entry, "description"),
                "metric": _value(entry, "evaluation_metric", "evaluationMetric"),
                "licence": _value(entry, "license_name", "licenseName"),
                "deadline": str(_value(entry, "deadline") or ""),
            }
    return None


def _files(api: Any, request: dict[str, Any]) -> Any:
    """Names and sizes (bytes, or None) of the files."""
    listing = api.competition_list_files if request["kind"] == "competition" else api.dataset_list_files
    found, token, whole = [], None, False
    for _ in range(PAGES):
        page = listing(request["name"], page_token=token, page_size=PAGE_SIZE)
        if message := getattr(page, "error_message", None) or getattr(page, "errorMessage", None):
            raise RuntimeError(message)
        entries = getattr(page, "files", page) or []
        found += [[str(_value(one, "name", "ref")), _value(one, "total_bytes", "totalBytes")] for one in entries]
        token = getattr(page, "next_page_token", None) or getattr(page, "nextPageToken", None)
        if not token:
            whole = True
            break
    return {"files": found, "whole": whole}


def _download(api: Any, request: dict[str, Any]) -> Any:
    """Fetch everything in one archive, or the files that are named, into a folder."""
    options = {"path": request["folder"], "force": request["force"], "quiet": True}
    competition = request["kind"] == "competition"
    if request["files"] is None:
        (api.competition_download_files if competition else api.dataset_download_files)(request["name"], **options)
    else:
        one = api.competition_download_file if competition else api.dataset_download_file
        for name in request["files"]:
            one(request["name"], name, **options)
    return True


def _leaderboard(api: Any, request: dict[str, Any]) -> Any:
    api.competition_leaderboard_download(request["name"], request["folder"], quiet=True)
    return True


def _metadata(api: Any, request: dict[str, Any]) -> Any:
    """What a data set says of itself, as the file that the client writes."""
    api.dataset_metadata(request["name"], request["folder"])
    return True


def _value(entry: Any, *names: str) -> Any:
    """The first of some spellings of a field that an object, or a dict, has."""
    for name in names:
        value = entry.get(name) if isinstance(entry, dict) else getattr(entry, name, None)
        if value is not None:
            return value if isinstance(value, bool | int | float | str) else str(value)
    return None


ACTIONS = {
    "competition": _competition,
    "files": _files,
    "download": _download,
    "leaderboard": _leaderboard,
    "metadata": _metadata,
}

if __name__ == "__main__":
    main()
