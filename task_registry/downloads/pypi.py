"""Where a wheel or source archive of a Python package lies, as the user's pip says. Nothing is built or installed."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from openmle_env import scratch
from openmle_env.errors import InfrastructureError, PreparationError
from openmle_env.sandbox import pip
from openmle_env.task_registry.downloads import client
from openmle_env.task_registry.downloads.source import Source

if TYPE_CHECKING:
    from openmle_env.task_registry.pack import Download

PROGRAM = """\
import json, logging, sys
from pip._internal.commands import create_command
from pip._internal.cli.cmdoptions import make_target_python
from pip._vendor.requests import Request
package, file, *tags = sys.argv[1:]
failures = []
class Failures(logging.Handler):
    def emit(self, record):
        if record.msg.startswith("Could not fetch URL") and "404 " not in record.getMessage():
            failures.append(record.getMessage())
log = logging.getLogger("pip._internal.index.collector")
log.setLevel(logging.DEBUG)
log.propagate = False
log.addHandler(Failures())
command = create_command("download")
with command.main_context():
    arguments = ["--no-deps", "--no-input", "--no-binary=:none:", "--only-binary=:none:", "--dest=.", *tags, package]
    options, _ = command.parse_args(arguments)
    options.cache_dir = None
    session = command.get_default_session(options)
    finder = command._build_package_finder(
        options=options, session=session, target_python=make_target_python(options), ignore_requires_python=True
    )
    links = [found.link for found in finder.find_all_candidates(package)]
    urls = [link.url_without_fragment for link in links if link.filename == file]
    asked = {url: session.prepare_request(Request("GET", url)).headers for url in urls if url.startswith("http")}
    print(json.dumps({
        "urls": {url: asked.get(url, {}).get("Authorization", "") for url in urls},
        "failures": failures,
        "others": sorted({link.filename for link in links}),
        "certificates": options.cert or "",
        "client_certificate": options.client_cert or "",
        "proxy": options.proxy or "",
        "trusted_hosts": options.trusted_hosts,
    }))
"""
"""Lists the files of a package as ``pip download`` would find them, for whatever Python and platform they are.

No command of pip tells the address of a source archive without running its setup script, and none tells one with the
password that a private index needs. These functions are the same from pip 20.3 on.
"""


def locate(download: Download) -> list[Source]:
    """The addresses of a file, from this machine's pip settings: indexes, find-links, proxy, certificates.

    Raises:
        PackError: The package or version has an impossible name.
        InfrastructureError: There is no pip, or its index cannot be reached.
        PreparationError: The index has no such file.
    """
    client.check_words(download.package, download.version, r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
    command = [sys.executable, "-P", "-c", PROGRAM, download.package, download.file, *tags(download.file)]
    with scratch.folder() as folder:
        variables = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        if importlib.util.find_spec("pip") is None:  # some environments have none, and Python brings one
            pip.archive(folder / "pip.zip")
            variables["PYTHONPATH"] = str(folder / "pip.zip")
        done = client.ask(command, missing=f"{sys.executable} is gone.", variables=variables)
    what = f"{download.package} {download.version}"
    try:
        told = json.loads(done.stdout.strip().rpartition("\n")[2])
    except ValueError:
        raise InfrastructureError(
            f"pip could not be asked for {what}. It said:\n{client.last_words(done.stderr)}"
        ) from None
    if not told["urls"]:
        if told["failures"]:
            raise InfrastructureError(
                f"The package index cannot be asked for {what}. Check the network, the proxy and pip's settings: "
                f"{sys.executable} -m pip config list. pip said:\n" + client.last_words("\n".join(told["failures"]))
            )
        raise PreparationError(
            f"The package index has no file {download.file} of {what}: it lists {len(told['others'])} other files of "
            "the package. Check the names in 'downloads' of pack.yaml, and pip's settings, if it uses a mirror: "
            f"{sys.executable} -m pip config list"
        )
    return [
        Source(
            url=url,
            authorization=authorization,
            proxy=told["proxy"],
            certificates=told["certificates"],
            client_certificate=told["client_certificate"],
            trusted=_is_trusted(url, told["trusted_hosts"]),
        )
        for url, authorization in told["urls"].items()
    ]


def tags(file: str) -> list[str]:
    """Options by which pip takes a wheel for one that suits it, whatever Python and platform it is for.

    >>> tags("a-1.0-cp312-abi3-macosx_11_0_arm64.whl")
    ['--implementation=cp', '--python-version=312', '--abi=abi3', '--platform=macosx_11_0_arm64']
    >>> tags("a-1.0-py2.py3-none-any.whl"), tags("a-1.0.tar.gz")
    (['--implementation=py', '--python-version=2', '--abi=none', '--platform=any'], [])
    """
    if not file.endswith(".whl") or file.count("-") < 4:
        return []
    python, abi, platform = file.removesuffix(".whl").rsplit("-", 3)[1:]
    first = python.split(".")[0]
    return [
        f"--implementation={first[:2]}",
        f"--python-version={first[2:]}",
        *(f"--abi={one}" for one in abi.split(".")),
        *(f"--platform={one}" for one in platform.split(".")),
    ]


def _is_trusted(url: str, hosts: list[str]) -> bool:
    parts = urlsplit(url)
    return parts.hostname in hosts or f"{parts.hostname}:{parts.port}" in hosts
