"""Fifty processes that compete for three devices, some of which are killed wherever they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from openmle_env.sandbox.gpus.leases import Terms, take
from tests.sandbox.gpus.standin import devices, gpu

# Each worker tries to lock a file of each device that it was lent: that this always works is the invariant. A killed
# worker's locks are freed in the order of its descriptors, so these are opened before the lease, and a moment is left
# to the dead (linger_seconds), as for a box in earnest.
SCENE = """
import contextlib, fcntl, json, os, random, signal, sys, time
from pathlib import Path
from openmle_env.sandbox.gpus import leases
from tests.sandbox.gpus.standin import devices
folder, work, sharing, workers, kills = Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:6])
terms = leases.Terms(sharing=sharing, settle_seconds=5.0, linger_seconds=0.1)
choice = devices(3)

def worker(number):
    files = {(item.uuid, slot): open(work / f"{item.uuid}.{slot}", "w") for item in choice for slot in range(sharing)}
    log = os.open(work / "log", os.O_WRONLY | os.O_APPEND)
    draw = random.Random(number)
    for turn in range(2):
        count = draw.choice((1, 1, 1, 2, 3))
        with leases.take(count, seconds=600, wait=300, devices=choice, terms=terms, folder=folder) as taken:
            uuids = [item.uuid for item in taken.devices]
            assert len(set(uuids)) == count
            locked = []
            for uuid in uuids:
                for slot in range(sharing):
                    with contextlib.suppress(BlockingIOError):
                        fcntl.flock(files[uuid, slot], fcntl.LOCK_EX | fcntl.LOCK_NB)
                        locked.append(files[uuid, slot])
                        break
                else:
                    os.write(log, b"two on one device\\n")
            time.sleep(draw.random() * 0.02)
            if number % 5 == turn:
                os.kill(os.getpid(), signal.SIGKILL)
            for file in locked:
                fcntl.flock(file, fcntl.LOCK_UN)
        os.write(log, b"done\\n")

(work / "log").touch()
pids = []
for number in range(workers):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            worker(number)
            code = 0
        finally:
            os._exit(code)
    pids.append(pid)
draw = random.Random()
victims = draw.sample(pids, kills)  # wherever they are; others kill themselves while they have devices
for victim in victims:
    time.sleep(draw.random() * 0.1)
    os.kill(victim, signal.SIGKILL)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
print(json.dumps({"codes": codes, "log": (work / "log").read_text().split("\\n")}))
"""


@pytest.mark.parametrize("numbers", [(1, 50, 20), (3, 20, 8)])
def test_no_device_is_ever_lent_twice_and_all_who_live_finish(smi, folder, tmp_path, numbers):
    sharing, workers, kills = numbers
    smi.set(gpus=[gpu(0), gpu(1), gpu(2)])
    work = tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-c", SCENE, *map(str, (folder, work, sharing, workers, kills))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=200)
    result = json.loads(done.stdout)
    assert set(result["codes"]) <= {0, -9}
    living = result["codes"].count(0)
    assert living >= workers - workers // 5 * 2 - kills
    assert "two on one device" not in result["log"]
    assert result["log"].count("done") >= 2 * living
    # And nothing of it keeps a device: of the dead no more than their files were left.
    terms = Terms(settle_seconds=5.0, linger_seconds=0.0)
    with take(3, seconds=60, wait=30, devices=devices(3), terms=terms):
        assert [path.name.split("-")[1] for path in folder.glob("request-*")] == [str(os.getpid())]
