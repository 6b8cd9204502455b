"""Asking the driver's own program, nvidia-smi: the one on PATH, with a time limit, and its failures put in words."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from openmle_env.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "nvidia-smi"
SECONDS = 20.0
"""The longest that one call may take; without persistence mode a driver needs seconds to wake each device."""

_REMEDIES = (
    ("version mismatch", "The driver was updated while it was loaded: reboot the machine."),
    ("communicate with the nvidia driver", "Load the driver with 'sudo modprobe nvidia', or install it again."),
    ("not loaded", "Load the driver with 'sudo modprobe nvidia', or install it again."),
    ("insufficient permissions", "Give this user access to the files /dev/nvidia*."),
    ("gpu is lost", "A device fell off the bus: reboot the machine."),
)
_ADVICE = f"Run '{PROGRAM}' by hand, and repair the driver."


class InvalidFieldError(Exception):
    """This driver's nvidia-smi does not know a field that was asked for."""


def query(what: str, fields: Sequence[str]) -> list[list[str]]:
    """Rows of ``nvidia-smi --query-<what>``, sizes in MiB without their unit.

    What programs or makers name freely may hold commas: it has to be the last field.

    Raises:
        SandboxUnavailableError: There is no nvidia-smi, it failed or hung.
        InvalidFieldError: It is too old for a field.
    """
    output = run(f"--query-{what}={','.join(fields)}", "--format=csv,noheader,nounits")
    rows = [line.split(",", len(fields) - 1) for line in output.splitlines()]
    return [[cell.strip() for cell in row] for row in rows if len(row) == len(fields)]


def tree() -> ET.Element:
    """All that nvidia-smi knows (``-q -x``): the only place that tells the memory of MIG instances.

    Raises:
        SandboxUnavailableError: As for `query`, or what it wrote is no XML.
    """
    try:
        return ET.fromstring(run("-q", "-x"))  # noqa: S314  the driver's own program, not a stranger
    except ET.ParseError as error:
        raise SandboxUnavailableError(f"{PROGRAM} -q -x wrote no XML ({error}). {_ADVICE}") from error


def run(*arguments: str) -> str:
    """What nvidia-smi prints.

    Raises:
        SandboxUnavailableError: There is no nvidia-smi, it failed or hung; the message says what to do.
        InvalidFieldError: It does not know a field that was asked for.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise SandboxUnavailableError(f"No GPU can be lent: there is no {PROGRAM} on PATH. Install the NVIDIA driver.")
    try:
        process = subprocess.Popen(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxUnavailableError(f"{program} could not be started ({error.strerror}). {_ADVICE}") from error
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise SandboxUnavailableError(
            f"{PROGRAM} did not answer within {SECONDS:g} s: the driver or a device hangs. "
            "Look at 'sudo dmesg' for lines with NVRM or Xid; a reboot helps where nothing else does."
        ) from None
    finally:
        _end(process)
    if process.returncode != 0 or "is not a valid field" in output:
        _explain(output, process.returncode)
    return output


def _end(process: subprocess.Popen[str]) -> None:
    """End it with all that it started, without waiting for what the kernel does not let go."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
    if process.stdout is not None:
        process.stdout.close()


def _explain(output: str, code: int) -> None:
    said = " ".join(output.split())[:300]
    if "is not a valid field" in said:
        raise InvalidFieldError(said)
    if "no devices were found" in said.lower():
        return
    remedy = next((remedy for sign, remedy in _REMEDIES if sign in said.lower()), _ADVICE)
    raise SandboxUnavailableError(f"No GPU can be lent: {PROGRAM} failed ({said or f'exit code {code}'}). {remedy}")
