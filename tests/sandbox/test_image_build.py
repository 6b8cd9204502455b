"""The built image, as the engine has it."""

from __future__ import annotations

import tarfile
import tempfile
from importlib import metadata

import pytest

from openmle_env.errors import SandboxUnavailableError
from openmle_env.sandbox import engine, image, image_build, image_parts, reaper
from openmle_env.types import Job

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def files(docker_image) -> list[tarfile.TarInfo]:
    """All members of the image's file system."""
    with engine.connect() as client, tempfile.TemporaryFile() as file:
        container = client.containers.create(docker_image, labels=reaper.labels(600))
        try:
            file.writelines(container.export())
        finally:
            container.remove(v=True, force=True)
        file.seek(0)
        with tarfile.open(fileobj=file) as tar:
            return list(tar)


def test_no_answers_tests_or_bundled_data_are_in_it(files):
    assert len(files) > 3000
    names = [info.name for info in files]
    assert not [name for name in names if "40945" in name or "titanic" in name.lower()]
    libraries = [name for name in names if "/site-packages/" in name]
    assert not [name for name in libraries if "/tests/" in name or "/test/" in name]
    assert not [
        name for name in libraries if "/sklearn/datasets/" in name and name.endswith((".csv", ".gz", ".jpg", ".rst"))
    ]


def test_no_privilege_key_or_cache_is_in_it(files):
    assert not [info.name for info in files if info.mode & 0o6000]
    assert not [info.name for info in files if info.isreg() and info.name.endswith((".pem", ".crt", ".key"))]
    assert not [info.name for info in files if "/pip/" in info.name or "/.cache/" in info.name]


def test_it_is_one_layer_with_the_runner_as_its_user(docker_image):
    with engine.connect() as client:
        attrs = client.images.get(docker_image).attrs
    assert len(attrs["RootFS"]["Layers"]) == 1
    assert attrs["Config"]["User"] == "10001:10001"
    assert attrs["Config"]["Labels"][reaper.RECIPE_LABEL] == image.recipe()
    assert reaper.EXPIRES_LABEL not in attrs["Config"]["Labels"]


def test_its_libraries_are_those_of_this_environment_and_work(docker_sandbox):
    program = """
import numpy, pandas, pathlib, scipy, sklearn, sys
from sklearn.ensemble import HistGradientBoostingClassifier
x = numpy.random.default_rng(0).normal(size=(200, 3))
assert HistGradientBoostingClassifier().fit(x, x[:, 0] > 0).score(x, x[:, 0] > 0) > 0.9
print(*sys.version_info[:2], numpy.__version__, pandas.__version__, scipy.__version__, sklearn.__version__)
print(all(pathlib.Path(module.__spec__.cached).exists() for module in (numpy, sklearn)))
"""
    execution = docker_sandbox.run(Job(program=program, collect=()))
    versions = [metadata.version(name) for name in ("numpy", "pandas", "scipy", "scikit-learn")]
    python = image_parts.PYTHON.removeprefix("python").split(".")
    assert execution.stdout.split() == [*python, *versions, "True"], execution.stderr


def test_an_image_that_is_up_to_date_is_not_built_again(docker_image, monkeypatch):
    monkeypatch.setattr(image_build, "build", lambda *_args, **_options: pytest.fail("built again"))
    with engine.connect() as client:
        assert image_build.ensure(docker_image) == client.images.get(docker_image).id
    assert image.exists(docker_image)
    assert not image.exists("openmle-env-no-such-image:1")


def test_an_image_that_does_not_work_gets_no_name_and_leaves_nothing(docker_engine, monkeypatch):
    monkeypatch.setattr(image_build, "_TRIAL", "import no_such_module")
    with pytest.raises(SandboxUnavailableError, match="no_such_module"):
        image_build.build("openmle-env-test-broken:1", base="host")
    assert not image.exists("openmle-env-test-broken:1")
    own = reaper.labels(0)[reaper.OWNER_LABEL]
    with engine.connect() as client:
        left = client.api.containers(all=True) + client.api.images()
    assert not [item for item in left if (item["Labels"] or {}).get(reaper.OWNER_LABEL) == own]


def test_an_engine_may_take_long_for_one_step_of_a_build(monkeypatch):
    connect, seconds = engine.connect, []
    monkeypatch.setattr(engine, "connect", lambda given=engine.CALL_SECONDS: seconds.append(given) or connect(given))
    with pytest.raises(SandboxUnavailableError):
        image_build.build("openmle-env-test-broken:1", base="127.0.0.1:1/no-such-base:1")
    assert seconds[0] >= 600


def test_a_base_that_cannot_be_had_is_an_error_with_a_way_out(docker_engine):
    with pytest.raises(SandboxUnavailableError, match="--base host"):
        image_build.build("openmle-env-test-broken:1", base="127.0.0.1:1/no-such-base:1")
