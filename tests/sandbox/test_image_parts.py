"""What goes into the image and what does not. Needs no engine."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmle_env.errors import SandboxUnavailableError, UsageError
from openmle_env.sandbox import image, image_parts, packages, recipes
from openmle_env.sandbox.requirements import parse


def members(build) -> dict[str, tarfile.TarInfo]:
    file = io.BytesIO()
    layer = image_parts.Layer(file)
    build(layer)
    layer.close()
    file.seek(0)
    with tarfile.open(fileobj=file) as tar:
        return {info.name: info for info in tar}


def archive(*entries: tuple[str, bytes, int, str]) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, kind, mode, target in entries:
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.linkname = kind, mode, target
            info.uid = info.gid = 1000
            if kind == tarfile.REGTYPE:
                info.size = len(name)
            tar.addfile(info, io.BytesIO(name.encode()))
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "name",
    [
        "opt/venv/lib/python3.11/site-packages/sklearn/datasets/tests/data/openml/id_40945/x.json.gz",
        "opt/venv/lib/python3.11/site-packages/sklearn/datasets/data/iris.csv",
        "opt/venv/lib/python3.11/site-packages/sklearn/datasets/descr",
        "opt/venv/lib/python3.11/site-packages/numpy/__pycache__/x.pyc",
        "opt/python/lib/python3.11/test/test_os.py",
        "opt/venv/lib/python3.11/site-packages/stranger.pth",
        "etc/ssl/certs/ca-certificates.crt",
        "root/.cache/pip/x",
    ],
)
def test_unwanted(name):
    assert image_parts.unwanted(name)


@pytest.mark.parametrize(
    "name",
    [
        "usr/bin/test",
        "opt/venv/lib/python3.11/site-packages/torch/weights.pth",
        "opt/bin/test",
        "opt/venv/lib/python3.11/site-packages/numpy/testing/x.py",
        "etc/sslx",
        "tests.py",
        "data",
    ],
)
def test_wanted(name):
    assert not image_parts.unwanted(name)


@given(
    st.text(alphabet="ab/._-", max_size=30),
    st.sampled_from(["tests", "test", "__pycache__"]),
    st.text("ab/", max_size=9),
)
def test_nothing_below_a_test_folder_is_wanted(before, folder, after):
    assert image_parts.unwanted(f"{before}/{folder}/{after}")


def test_a_base_loses_privileges_devices_and_its_own_packages():
    stream = archive(
        ("./usr", tarfile.DIRTYPE, 0o2755, ""),
        ("usr/bin/su", tarfile.REGTYPE, 0o4755, ""),
        (f"usr/local/bin/{image_parts.PYTHON}", tarfile.REGTYPE, 0o755, ""),
        ("dev/mem", tarfile.CHRTYPE, 0o600, ""),
        ("run/pipe", tarfile.FIFOTYPE, 0o600, ""),
        ("tmp", tarfile.DIRTYPE, 0o1777, ""),
        ("etc/passwd", tarfile.REGTYPE, 0o644, ""),
        ("etc/ssl/private/key.pem", tarfile.REGTYPE, 0o600, ""),
        ("usr/local/lib/python3.11/site-packages/pip/__init__.py", tarfile.REGTYPE, 0o644, ""),
        ("usr/lib/python3/test/answers", tarfile.REGTYPE, 0o644, ""),
        ("usr/lib/answers", tarfile.LNKTYPE, 0o644, "usr/lib/python3/test/answers"),
    )
    interpreters = []
    found = members(lambda layer: interpreters.append(image_parts.add_exported(layer, stream)))
    assert set(found) == {"usr", "usr/bin/su", f"usr/local/bin/{image_parts.PYTHON}", "tmp"}
    assert [found[name].mode for name in ("usr", "usr/bin/su", "tmp")] == [0o755, 0o755, 0o1777]
    assert {(info.uid, info.gid, info.mtime) for info in found.values()} == {(0, 0, 0)}
    assert interpreters == [f"/usr/local/bin/{image_parts.PYTHON}"]


def test_a_base_of_another_python_is_refused():
    stream = archive(("usr/bin/python2.7", tarfile.REGTYPE, 0o755, ""))
    with pytest.raises(SandboxUnavailableError, match=image_parts.PYTHON):
        members(lambda layer: image_parts.add_exported(layer, stream))


def test_the_first_of_two_members_of_one_name_stays():
    def build(layer):
        layer.text("a/b", "one")
        layer.text("a/b", "three")

    assert members(build)["a/b"].size == 3


def test_of_an_image_with_extra_packages_what_is_unwanted_goes_and_what_is_compiled_stays():
    site = "opt/venv/lib/python3.11/site-packages/x"
    stream = archive(
        (f"{site}/tests/answers.csv", tarfile.REGTYPE, 0o644, ""),
        (f"{site}/__pycache__/y.pyc", tarfile.REGTYPE, 0o644, ""),
        (f"{site}/tests/__pycache__/z.pyc", tarfile.REGTYPE, 0o644, ""),
        (f"{site}/tool", tarfile.REGTYPE, 0o6755, ""),
        ("root/.cache/pip/x", tarfile.REGTYPE, 0o644, ""),
        ("etc/passwd", tarfile.REGTYPE, 0o644, ""),
    )
    file = io.BytesIO()
    layer = image_parts.Layer(file, keep_compiled=True)
    image_parts.add_filtered(layer, stream)
    layer.close()
    file.seek(0)
    with tarfile.open(fileobj=file) as tar:
        found = {info.name: info.mode for info in tar}
    assert found == {f"{site}/__pycache__/y.pyc": 0o644, f"{site}/tool": 0o755, "etc/passwd": 0o644}


def test_unwanted_folders_are_there_but_empty():
    def build(layer):
        layer.folder("site-packages/x/tests/data")
        layer.text("site-packages/x/tests/data/answers.csv", "1")

    assert set(members(build)) == {"site-packages", "site-packages/x", "site-packages/x/tests"}


def test_a_tree_is_copied_without_links_that_lead_nowhere(tmp_path):
    (tmp_path / "outside").write_text("outside")
    source = tmp_path / "source"
    (source / "tests").mkdir(parents=True)
    (source / "tests" / "answers").write_text("x")
    (source / "in").symlink_to(tmp_path / "outside")
    (source / "gone").symlink_to(tmp_path / "nowhere")
    found = members(lambda layer: layer.tree("opt/x", source))
    assert set(found) == {"opt", "opt/x", "opt/x/in"}
    assert found["opt/x/in"].isreg()


def test_the_environment_has_the_user_and_the_folders_of_a_program():
    found = members(lambda layer: image_parts.add_environment(layer, "/usr/local/bin/python9"))
    assert found["opt/venv/bin/python"].linkname == "/usr/local/bin/python9"
    assert {"work", "data", "output", "tmp", "etc/passwd", "opt/venv/pyvenv.cfg"} <= set(found)
    assert {found[name].mode for name in ("tmp", "work", "output")} == {0o1777}
    assert found["data"].mode == 0o755


def test_the_recipe_is_stable_and_changes_with_the_libraries_and_the_code(monkeypatch):
    recipe = recipes.recipe.__wrapped__
    before = recipe()
    assert recipe() == before == recipes.recipe()
    without = packages.distributions()[1:]
    with monkeypatch.context() as patch:
        patch.setattr(packages, "distributions", lambda: without)
        assert recipe() != before
    text = recipes.text
    monkeypatch.setattr(recipes, "text", lambda name: text(name) + "# changed\n" * (name == "packages.py"))
    assert recipe() != before


def test_extra_packages_are_a_recipe_of_their_own(monkeypatch):
    one, same, other = (parse(text, "x") for text in ("a==1\nb", "# the same\nb\na==1", "a==2\nb"))
    names = [image.chosen(requirements=item) for item in (one, same, other)]
    assert names[0] == names[1] != names[2]
    assert image.chosen() not in names
    assert image.chosen(requirements=image.for_gpus(one)) not in [*names, image.chosen(requirements=image.for_gpus())]
    assert "--requirements" in image.advice(names[0], one)
    monkeypatch.setenv("OPENMLE_IMAGE", "mine:1")
    assert image.chosen(requirements=one) == "mine:1"


def test_an_environments_image_is_named_by_its_recipe_unless_another_is_asked_for(monkeypatch):
    monkeypatch.delenv("OPENMLE_IMAGE", raising=False)
    own = image.chosen()
    assert own == f"openmle-env-sandbox:{image.recipe()[:12]}"
    assert "--name" not in image.advice(own)
    monkeypatch.setenv("OPENMLE_IMAGE", "registry.example:5000/mine:1.0")
    assert image.chosen() == "registry.example:5000/mine:1.0"
    assert image.chosen("given") == "given"


@pytest.mark.parametrize("name", ["Bad Name", "Upper", "a b", "x:", ":x", "-x"])
def test_names_that_no_image_can_have(name):
    with pytest.raises(UsageError, match="OPENMLE_IMAGE"):
        image.chosen(name)
