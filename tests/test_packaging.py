"""What a wheel holds, without building one: `make wheel` does that."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOT_PACKED = (".so", ".pyc")
CODE = """
import json
import setuptools
from distutils.core import run_setup

dist = run_setup("setup.py", stop_after="commandline")
build, wheel = (dist.get_command_obj(name) for name in ("build_py", "bdist_wheel"))
build.ensure_finalized()
wheel.ensure_finalized()
print(json.dumps({
    "files": [file.removeprefix(build.build_lib + "/") for file in build.get_outputs(False)],
    "extensions": [extension.name for extension in dist.ext_modules],
    "tag": wheel.get_tag(),
}))
"""


@pytest.fixture(scope="module")
def wheel():
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_wheel_has_every_file_of_the_package(wheel):
    source = ROOT / "src"
    files = [path for path in (source / "hyperaction").rglob("*") if path.is_file()]
    here = {str(path.relative_to(source)) for path in files if path.suffix not in NOT_PACKED}
    assert set(wheel["files"]) == here
    assert {"hyperaction/py.typed", "hyperaction/report/page/page.js"} <= here


def test_a_wheel_is_for_one_platform_and_any_python(wheel):
    python, abi, platform = wheel["tag"]
    assert (python, abi) == ("py3", "none")
    assert platform != "any"
    assert "hyperaction.kernels._baseline" in wheel["extensions"]
    assert "hyperaction.kernels.conv._baseline" in wheel["extensions"]
