"""Files beside the user are not taken for libraries."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hyperaction
from hyperaction.sweeps.local import CHILD

NAMES = ("rich", "numpy", "gymnasium", "jax", "msgspec", "ctypes", "json", "runpy")
COMMAND = ("evaluate", "nowhere")
"""Imports all of them, then has nothing to play."""


@pytest.fixture
def hostile(tmp_path):
    """A directory of files that are called as libraries are."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("open('ran', 'w').close()\nraise SystemExit(7)\n")
    return tmp_path


def run(folder, *command):
    source = str(Path(hyperaction.__file__).parents[1])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "hyperaction: nowhere holds no run: there is no config.json in it\n"
    assert done.returncode == 1
    assert not (folder / "ran").exists()


def test_the_command_imports_nothing_that_lies_beside_the_user(hostile, tmp_path_factory):
    script = tmp_path_factory.mktemp("bin") / "hyperaction"
    script.write_text("import sys\nfrom hyperaction.cli import main\nsys.exit(main())\n")
    run(hostile, sys.executable, str(script), *COMMAND)


def test_nor_do_the_processes_of_a_sweep(hostile):
    run(hostile, *CHILD, str(os.getpid()), *COMMAND)


def test_nor_does_the_module_once_it_runs(hostile):
    for name in ("ctypes", "json", "runpy"):  # Python itself looks there before the module runs.
        (hostile / f"{name}.py").unlink()
    run(hostile, sys.executable, "-m", "hyperaction", *COMMAND)


def test_nodes_of_a_cluster_are_not_sent_where_the_user_is(tmp_path, monkeypatch):
    ray = pytest.importorskip("hyperaction.sweeps.ray")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert str(tmp_path) not in ray._python_path().split(os.pathsep)
    assert (ray.PACKAGES / "hyperaction" / "__init__.py").exists()
