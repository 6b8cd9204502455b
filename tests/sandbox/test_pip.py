"""What pip is told and what is made of its failures. Runs no pip but to list settings."""

from __future__ import annotations

import importlib.util
import os
import sys
import zipfile
from pathlib import Path

import pytest

from openmle_env.errors import DiskFullError, SandboxUnavailableError, UsageError
from openmle_env.sandbox import packages, pip
from openmle_env.sandbox.pip import Source

REGISTRY, FOLDER = Source(), Source(wheels=Path("wheels"))


@pytest.mark.parametrize(
    ("said", "source", "kind", "told"),
    [
        ("ERROR: No matching distribution found for x", FOLDER, UsageError, "pip download"),
        ("ERROR: No matching distribution found for x", REGISTRY, UsageError, "no wheel of it for Python 3.11"),
        ("WARNING: Retrying after connection broken by 'NewConnectionError'\nERROR: No matching distribution found",
         REGISTRY, SandboxUnavailableError, "cannot be reached"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", REGISTRY, SandboxUnavailableError, "--certif"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", FOLDER, UsageError, "its hash is another"),
        ("ERROR: In --require-hashes mode, all requirements must", FOLDER, UsageError, "all need one"),
        ("ERROR: ResolutionImpossible: for help visit", REGISTRY, UsageError, "contradict"),
        ("OSError: [Errno 28] No space left on device", FOLDER, DiskFullError, "No space is left"),
        ("Segmentation fault", FOLDER, SandboxUnavailableError, "Segmentation fault"),
    ],
)  # fmt: skip
def test_failures_come_with_what_to_do(said, source, kind, told):
    error = pip.explain(said, source=source, python="3.11", where="here")
    assert type(error) is kind
    assert told in str(error)
    assert said.splitlines()[-1] in str(error)


def test_the_last_lines_are_pips_own():
    around = "Removing intermediate container 1\n"
    said = f"Step 3/3 : RUN pip\n ---> Running in 1\nCollecting x\n\x1b[91mERROR: no x\n\x1b[0m{around}"
    assert pip.last_lines(said) == "ERROR: no x"
    assert len(pip.last_lines("x" * 10_000)) < 2000
    assert pip.last_lines("") == ""


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (Source(wheels=Path("/no/such")), "no folder"),
        (Source(certificates=Path("/no/such")), "cannot be read"),
        (Source(certificates=Path("/dev/zero")), "larger than 4 MiB"),
        (Source(indexes=("pypi",)), "no address"),
        (Source(indexes=("file:///x",)), "no address"),
        (Source(indexes=("ftp://me:secret@x/y",)), r"'ftp://\.\.\.@x/y' is no address"),
    ],
)
def test_sources_that_are_not_there(source, told):
    with pytest.raises(UsageError, match=told):
        source.check()


def test_a_folder_without_wheels_and_files_that_are_no_certificates(tmp_path):
    with pytest.raises(UsageError, match=r"holds no file '\*\.whl'"):
        Source(wheels=tmp_path).check()
    (tmp_path / "x.pem").write_text("text")
    with pytest.raises(UsageError, match="openssl x509"):
        Source(certificates=tmp_path / "x.pem").check()
    marks = [f"-----BEGIN {what}-----" for what in ("CERTIFICATE", "RSA PRIVATE KEY")]
    (tmp_path / "x.pem").write_text("\n".join(marks))
    with pytest.raises(UsageError, match="private key"):
        Source(certificates=tmp_path / "x.pem").check()
    (tmp_path / "x.pem").write_text(marks[0])
    Source(certificates=tmp_path / "x.pem").check()


def test_of_this_machines_settings_a_build_gets_addresses_only():
    own = {
        "index-url": "https://one/simple",
        "extra-index-url": "file:///here https://two/simple",
        "find-links": "/here",
        "constraint": "/here.txt",
        "trusted-host": "one\ntwo",
        "default-timeout": "7",
    }
    assert pip.configuration(REGISTRY, own).splitlines() == [
        "[global]",
        "index-url = https://one/simple",
        "extra-index-url = https://two/simple",
        "timeout = 7",
        "trusted-host = one two",
    ]
    given = pip.configuration(Source(indexes=("https://three",)), own)
    assert "index-url = https://three\n" in given
    assert "one/simple" not in given


def test_settings_of_pip_are_read_the_strongest_first(monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_INDEX_URL", "https://it's/simple")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "a b")
    pip.archive(tmp_path / "pip.zip")
    found = pip.settings(tmp_path / "pip.zip")
    assert (found["index-url"], found["trusted-host"]) == ("https://it's/simple", "a b")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "broken.conf"))
    (tmp_path / "broken.conf").write_text("no section\n")
    with pytest.raises(SandboxUnavailableError, match=r"settings of pip cannot be read(.|\n)*broken\.conf"):
        pip.settings(tmp_path / "pip.zip")


def test_pip_takes_packages_from_where_one_says_and_from_nowhere_else(monkeypatch):
    monkeypatch.setenv("PIP_USER", "1")
    own = {"extra-index-url": "https://two", "find-links": "/here", "user": "1", "prefix": "/x", "proxy": "http://p"}
    one = pip.environment(Source(indexes=("https://three", "https://four")), own)
    told = {name: value for name, value in one.items() if name.startswith("PIP_")}
    assert told == {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "https://three",
        "PIP_EXTRA_INDEX_URL": "https://four",
        "PIP_PROXY": "http://p",
    }
    assert not {"PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"} & set(pip.environment(FOLDER, own))
    assert pip.environment(REGISTRY, own)["PIP_FIND_LINKS"] == "/here"


def test_pip_runs_where_no_file_has_a_packages_name(tmp_path):
    command = [sys.executable, "-c", "import os, sys; print(os.getcwd(), sys.stdin.read(), os.environ['PIP_PROXY'])"]
    done = pip.run(command, tmp_path, pip.environment(REGISTRY, {"proxy": "p"}))
    assert done.stdout == f"{tmp_path.resolve()}  p\n"


def test_pip_is_one_file_wherever_it_comes_from(tmp_path, monkeypatch):
    pip.archive(tmp_path / "own.zip")
    assert "pip/__main__.py" in zipfile.ZipFile(tmp_path / "own.zip").namelist()
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pip" else find(name))
    monkeypatch.setattr(pip, "_bundled", lambda: str(tmp_path))
    monkeypatch.setattr("sysconfig.get_config_var", lambda _name: None)
    with pytest.raises(SandboxUnavailableError, match="-m ensurepip"):
        pip.archive(tmp_path / "none.zip")
    (tmp_path / "pip-26.0-py3-none-any.whl").write_bytes(b"a wheel")
    pip.archive(tmp_path / "bundled.zip")
    assert (tmp_path / "bundled.zip").read_bytes() == b"a wheel"


def test_versions_of_the_libraries_stay():
    lines = pip.constraints().splitlines()
    assert {line.partition("==")[0] for line in lines} >= {"numpy", "pandas", "scikit-learn"}
    assert len(lines) == len(packages.distributions())
    assert not [line for line in pip.constraints({"numpy"}).splitlines() if line.startswith("numpy==")]
