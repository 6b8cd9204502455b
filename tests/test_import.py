"""What `import openmle_env` costs and does, each time in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import openmle_env

if TYPE_CHECKING:
    from pathlib import Path

ID = "OpenMLE/titanic-v0"


def fresh(code: str) -> Any:
    """Run ``code`` in a new interpreter, warnings being errors; it leaves its answer in ``answer``."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{code}\nimport json\nprint(json.dumps(answer))"],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith(("OPENMLE_", "PYTHON", "COV"))},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_nothing_heavy_is_imported() -> None:
    loaded = set(fresh("import openmle_env, sys\nanswer = sorted(sys.modules)"))
    heavy = {"gymnasium", "numpy", "pandas", "sklearn", "torch", "docker", "litellm", "pydantic", "yaml", "rich"}
    assert not heavy & loaded
    # What costs an import is mostly the number of modules; these were 40 beyond the interpreter's own.
    assert len(loaded - set(fresh("import sys\nanswer = sorted(sys.modules)"))) < 90


@pytest.mark.parametrize(
    "imports",
    [
        "import openmle_env\nimport gymnasium",
        "import gymnasium\nimport openmle_env",
        "import openmle_env\nimport gymnasium.spaces as spaces\nimport gymnasium",
        "import openmle_env\nfrom gymnasium.envs.registration import registry\nimport gymnasium",
        "import openmle_env, importlib\nimportlib.reload(openmle_env)\nimport gymnasium\nimportlib.reload(openmle_env)",
    ],
)
def test_tasks_are_registered_in_any_order(imports: str) -> None:
    code = f"{imports}\nspec = gymnasium.spec({ID!r})\nanswer = [spec.to_json(), 'CartPole-v1' in gymnasium.registry]"
    text, builtin = fresh(code)
    spec = json.loads(text)
    assert builtin
    assert spec["id"] == ID
    assert spec["kwargs"]["task"] == "titanic"
    assert len(spec["kwargs"]["pack_hash"]) == 64


def test_the_hook_leaves_no_trace() -> None:
    code = """
import sys
before = len(sys.meta_path)
import openmle_env
during = len(sys.meta_path)
import gymnasium
loader = gymnasium.envs.__spec__.loader
answer = [during - before, len(sys.meta_path) - before, type(loader).__module__, loader is gymnasium.envs.__loader__]
"""
    assert fresh(code)[0:2] == [1, 0]
    assert fresh(code)[2] != "openmle_env.envs.registration"
    assert fresh(code)[3] is True


@pytest.mark.parametrize("first", [True, False])
def test_another_hook_that_asks_all_finders_makes_no_endless_circle(first: bool) -> None:
    code = f"""
import sys

class Other:
    def find_spec(self, name, path=None, target=None):
        if name != "gymnasium.envs":
            return None
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec and finder is not self else None
            if spec is not None:
                return spec
        return None

if {first}:
    sys.meta_path.insert(0, Other())
import openmle_env
if not {first}:
    sys.meta_path.insert(0, Other())
import gymnasium
answer = [{ID!r} in gymnasium.registry, [type(finder).__name__ for finder in sys.meta_path].count("_AfterGymnasium")]
"""
    assert fresh(code) == [True, 0]


def test_the_module_can_be_named_in_the_id() -> None:
    code = f"""
import gymnasium
env = gymnasium.make("openmle_env:{ID}", sandbox="scripted")
answer = [env.spec.to_json(), env.unwrapped.task_spec.slug]
env.close()
"""
    text, slug = fresh(code)
    assert json.loads(text)["id"] == ID
    assert slug == "titanic"


def test_an_unknown_id_has_a_suggestion() -> None:
    code = """
import gymnasium, openmle_env
try:
    gymnasium.make("OpenMLE/titanc-v0")
except gymnasium.error.NameNotFound as error:
    answer = str(error)
"""
    assert "Did you mean: `titanic`?" in fresh(code)


def test_spawned_workers_can_make_tasks(tmp_path: Path) -> None:
    code = """
import multiprocessing

def work(name):
    import gymnasium
    env = gymnasium.make(name, sandbox="scripted")
    env.close()
    return env.spec.id

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(work, ["openmle_env:OpenMLE/titanic-v0"]))
"""
    # A file, since spawn imports the main module again.
    (tmp_path / "main.py").write_text(code)
    done = subprocess.run([sys.executable, str(tmp_path / "main.py")], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == ID, done.stderr


def test_the_face_is_listed_and_lazy() -> None:
    assert set(openmle_env.__all__) <= set(dir(openmle_env))
    for name in openmle_env.__all__:
        assert getattr(openmle_env, name)
    assert openmle_env.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        openmle_env.nothing  # noqa: B018  the access is the test
