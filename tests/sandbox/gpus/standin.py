"""A stand-in for nvidia-smi: a script that answers from a JSON file, so that tests say what lies on a device."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openmle_env.sandbox.gpus.devices import Device

if TYPE_CHECKING:
    from pathlib import Path

# What each call prints was written after the real program's output, MIG instances in its -q -x among it.
_SCRIPT = """#!{python} -IS
import json, sys, time
state = json.load(open({state!r}))
if state.get("sleep"):
    time.sleep(state["sleep"])
if "fail" in state:
    print(state["fail"])
    sys.exit(state.get("code", 9))
gpus = state["gpus"]
arguments = sys.argv[1:]
if arguments[0].startswith("--query-gpu="):
    assert arguments[1:] == ["--format=csv,noheader,nounits"], arguments
    for field in arguments[0].partition("=")[2].split(","):
        if field in state.get("unknown_fields", ()):
            print(f'Field "{{field}}" is not a valid field to query.\\n')
            sys.exit(2)
    if not gpus:
        print("No devices were found")
        sys.exit(6)
    for index, gpu in enumerate(gpus):
        cells = {{"index": index, "uuid": gpu["uuid"], "name": gpu["name"], "memory.total": gpu["total"],
                 "memory.used": gpu["used"], "mig.mode.current": "Enabled" if "parts" in gpu else "[N/A]"}}
        print(", ".join(str(cells[field]) for field in arguments[0].partition("=")[2].split(",")))
elif arguments[0].startswith("--query-compute-apps="):
    for gpu in gpus:
        for pid, name in gpu.get("processes", ()):
            print(f"{{gpu['uuid']}}, {{pid}}, {{name}}")
elif arguments == ["-L"]:
    for index, gpu in enumerate(gpus):
        print(f"GPU {{index}}: {{gpu['name']}} (UUID: {{gpu['uuid']}})")
        for number, part in enumerate(gpu.get("parts", ())):
            print(f"  MIG {{part['profile']}}     Device  {{number}}: (UUID: {{part['uuid']}})")
elif arguments == ["-q", "-x"]:
    print('<?xml version="1.0" ?>\\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\\n<nvidia_smi_log>')
    for gpu in gpus:
        print(f"<gpu id='00000000:07:00.0'><uuid>{{gpu['uuid']}}</uuid><fb_memory_usage><total>{{gpu['total']}} MiB"
              f"</total><used>N/A</used></fb_memory_usage><mig_devices>")
        for number, part in enumerate(gpu.get("parts", ())):
            print(f"<mig_device><index>{{number}}</index><gpu_instance_id>{{number + 7}}</gpu_instance_id>"
                  f"<compute_instance_id>0</compute_instance_id><fb_memory_usage><total>{{part['total']}} MiB</total>"
                  f"<used>{{part['used']}} MiB</used></fb_memory_usage></mig_device>")
        print("</mig_devices><processes>")
        for number, part in enumerate(gpu.get("parts", ())):
            for pid, name in part.get("processes", ()):
                print(f"<process_info><gpu_instance_id>{{number + 7}}</gpu_instance_id><compute_instance_id>0"
                      f"</compute_instance_id><pid>{{pid}}</pid><type>C</type><process_name>{{name}}</process_name>"
                      "</process_info>")
        print("</processes></gpu>")
    print("</nvidia_smi_log>")
else:
    sys.exit(f"unknown arguments {{arguments}}")
"""


def gpu(number: int, **more: Any) -> dict[str, Any]:
    """The state of one GPU."""
    return {"uuid": f"GPU-{number:08x}-0000", "name": "NVIDIA H200", "total": 143771, "used": 4, **more}


def devices(count: int) -> list[Device]:
    """The first devices of the stand-in, as `devices.find` would tell them."""
    return [
        Device(uuid=item["uuid"], name=item["name"], memory_mb=item["total"], kind="gpu", index=str(number))
        for number, item in enumerate(map(gpu, range(count)))
    ]


@dataclass
class StandIn:
    """The script and its state."""

    folder: Path
    """To be the first of PATH."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state_path = self.folder / "state.json"
        script = self.folder / "nvidia-smi"
        script.write_text(_SCRIPT.format(python=sys.executable, state=str(self.state_path)))
        script.chmod(0o755)
        self.set(gpus=[gpu(0), gpu(1)])

    def set(self, **state: Any) -> None:
        """Replace the whole state, at once."""
        new = self.state_path.with_suffix(".new")
        new.write_text(json.dumps(state))
        new.replace(self.state_path)

    def change(self, number: int, **more: Any) -> None:
        """Change one GPU."""
        state = json.loads(self.state_path.read_text())
        state["gpus"][number].update(more)
        self.set(**state)
