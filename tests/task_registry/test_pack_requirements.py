"""A pack's extra packages: for its own code and for programs, told before anything runs where they are wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from openmle_env.envs.task_env import TaskEnv
from openmle_env.errors import PackError
from openmle_env.task_registry.folder import open_pack

if TYPE_CHECKING:
    from openmle_env.types import Execution, Job

FILE = "utils/requirements.txt"
TEXT = "lifelines==0.30.0\n"


class Noting:
    """Notes the requirements of all jobs that it passes on."""

    warm = "off"

    def __init__(self, box: Any) -> None:
        self.box, self.asked = box, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.box, name)

    def run(self, job: Job, **options: Any) -> Execution:
        self.asked.append(job.requirements)
        return self.box.run(replace(job, requirements=""), **options)

    def warm_up(self, job: Job) -> None:
        self.asked.append(job.requirements)

    def end_session(self, session: str) -> None:
        pass

    async def arun(self, job: Job, **options: Any) -> Execution:
        return self.run(job, **options)

    def close(self) -> None:
        self.box.close()


def test_all_that_runs_for_a_task_may_import_them(write_pack, finished, unfinished, box, home) -> None:
    metric = finished["utils/metric.py"]
    rest = {"pack.yaml": f"description: about.md\nrequirements: {FILE}\n", FILE: TEXT, "utils/metric.py": metric}
    noting = Noting(box)
    env = TaskEnv(str(write_pack(unfinished, rest)), sandbox=noting)
    env.reset()
    prepared = len(noting.asked)
    assert prepared >= 1
    env.step("open(__import__('os').environ['OUTPUT_DIR'] + '/submission.csv', 'w').write('id,kind')")
    assert len(noting.asked) > prepared
    assert set(noting.asked) == {TEXT}


@pytest.mark.parametrize(
    ("text", "named", "said"),
    [
        (None, FILE, "requirements file is said to be utils/requirements.txt, and there is no such file"),
        ("--index-url x\n", FILE, "an option of pip"),
        ("../other.whl\n", FILE, "no package"),
        (TEXT, "data/private/requirements.txt", "nothing of data/private"),
    ],
)
def test_a_wrong_file_is_told_when_the_pack_is_opened(write_pack, unfinished, text, named, said) -> None:
    changes = {"pack.yaml": unfinished["pack.yaml"] + f"requirements: {named}\n", named: text}
    with pytest.raises(PackError, match=said):
        open_pack(write_pack(unfinished, changes))


def test_a_pack_without_them_asks_for_none(write_pack, unfinished) -> None:
    assert open_pack(write_pack(unfinished)).requirements == ""
