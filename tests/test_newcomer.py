"""A newcomer: a fresh environment, the wheel installed, every command of the README and guides.

Commands run as written, each once, with these differences. Training is cut short (`CUT`); `ENV`
and `DIR` are an environment and a directory; sweeps, which take hours, are read and checked but not
run; and `NOT_RUN` says which commands are left out, and why. The packages that Hyperaction depends
on are those of the environment that the tests run in, and kernels are not compiled.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md"]
for section in ("start", "guides"):
    PAGES += sorted((ROOT / "docs" / section).glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

CUT = {
    "train": shlex.split("--steps 20 --evaluation-steps 10 --max-episode-steps 10"),
    "baseline": shlex.split("--steps 20 --evaluation-steps 10 --max-episode-steps 10"),
    "evaluate": ["--episodes", "1"],
    "explain": ["--steps", "20"],
    "video": ["--episodes", "1"],
    "sweep": ["--only", "no-such-run"],
}
"""What is appended to a command, by its name."""
LEARNING = [*CUT["train"], "--steps", "520"]
"""The same for the README's run, so that it has a few updates: they begin after step 500."""
FITS_NO_RUN = "fits no run of"
"""What a sweep says when it has read the grid and all options."""
NOT_RUN = {
    r"pip install": "tests use no network; the names of the extras are checked",
    r"hyperaction (train|evaluate) .*parts:MyNetwork": "the user's own: tests/analysis, tests/api",
    r"hyperaction (tune|export)": "take long: tests/tuning, tests/hub",
    r"hf upload": "tests use no network",
    r"hyperaction watch": "serves until it is stopped: tests/report",
    r"hyperaction table": "needs what a sweep leaves behind: tests/report",
    r"hyperaction (train|baseline \S+) (jumanji|rddl|pettingzoo|dmc):": "load slowly: tests/envs",
}
NEEDS = {"Bullet": "pybullet_envs_gymnasium", "Humanoid-v5": "mujoco"}
"""Packages that commands with these words need, and that not every Python has."""
ROBOT = "HalfCheetahBulletEnv-v0" if find_spec(NEEDS["Bullet"]) else "HalfCheetah-v5"
DRIVER = """
import contextlib, gc, io, json, os, shutil, sys
from pathlib import Path
import hyperaction
from hyperaction.cli import main

assert Path(hyperaction.__file__).is_relative_to(sys.prefix), hyperaction.__file__
done = {}
for folder, *arguments in json.load(sys.stdin):
    os.chdir(folder)
    before = done.setdefault(tuple(arguments), folder)
    if before != folder and arguments[0] == "train" and Path(before, "results").is_dir():
        shutil.copytree(Path(before, "results"), "results", dirs_exist_ok=True)
        print(json.dumps([0, "as before"]), file=sys.__stdout__, flush=True)
        continue
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code or 0
    gc.collect()  # An old simulator of PyBullet that is collected later would close a new one.
    gc.freeze()  # So that the next collection is quick.
    print(json.dumps([code, printed.getvalue()]), file=sys.__stdout__, flush=True)
"""
"""Runs commands by the entry point of `hyperaction`, in one process: JAX is loaded once."""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of an environment that has nothing of its own but the wheel."""
    project, fresh = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("fresh")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, project)
    ignored = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "src", project / "src", ignore=ignored)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", "."]
    no_compiler = {"CC": "/bin/false", "CXX": "/bin/false"}
    run(build, cwd=project, env=os.environ | no_compiler)
    (wheel,) = (project / "dist").glob("*.whl")
    run([sys.executable, "-m", "venv", "--without-pip", str(fresh)])
    python = fresh / "bin" / "python"
    run([*pip, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)])
    # The dependencies: a path, so that the editable installation beside them is not followed.
    home = Path(sysconfig.get_path("purelib", vars={"base": str(fresh)}))
    (home / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def blocks():
    """The commands of each block of each page, with the blocks of that page."""
    for page in PAGES:
        fences = FENCE.findall(page.read_text())
        for number, (language, body) in enumerate(fences):
            if language == "sh":
                lines = body.replace("\\\n", " ").splitlines()
                commands = [shlex.split(line, comments=True) for line in lines]
                yield page, fences[:number], [each for each in commands if each]


def reason_not_to_run(command):
    text = shlex.join(command)
    found = [why for pattern, why in NOT_RUN.items() if re.match(pattern, text)]
    missing = [name for word, name in NEEDS.items() if word in text and not find_spec(name)]
    return [*found, *missing]


def write_files(folder, before):
    """The files that commands name, from the blocks of the page before them."""
    for language, body in before:
        if language == "toml":
            (folder / "trial.toml").write_text(body)
            (folder / "GRID.toml").write_text(body)
        if found := re.search(r"^class (Depot|Farm)\(.*?(?=^\w|\Z)", body, re.M | re.S):
            name = found[1]
            source = body[: found.end()]
            register = f'gymnasium.register("{name}-v0", {name}, max_episode_steps=20)\n'
            (folder / f"{name.lower()}.py").write_text(source + register)
    (folder / "rules.json").write_text('{"power,fire": [[1, 1], [1, 0]]}')


def as_run(page, command):
    """A command of the pages, with what stands for something else filled in, and cut short."""
    filled = {"ENV": ROBOT, "DIR": "results/given", "/shared/study": "study"}
    arguments = [filled.get(each, each) for each in command[1:] if each != "..."]
    learns = page.name == "README.md" and arguments[0] == "train"
    cut = LEARNING if learns else CUT.get(arguments[0], [])
    return [*arguments, *cut]


GIVEN = ["train", ROBOT, "--rank", "2", "--out", "results/given"]
"""The run of blocks that begin with one."""


def test_every_command_of_the_pages_runs(python, tmp_path):
    plan, written = [], []
    for number, (page, before, commands) in enumerate(blocks()):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_files(folder, before)
        left_out = [each for each in commands if reason_not_to_run(each)]
        absent = {out for each in left_out for flag, out in pairwise(each) if flag == "--out"}
        to_run = [each for each in commands if each not in left_out and not absent & set(each)]
        words = {word for each in to_run for word in each}
        if words & {"DIR", "results"} and to_run[0][1] != "train":
            plan.append([str(folder), *GIVEN, *CUT["train"]])
            written.append(f"{page.name}: a run to begin with")
        for command in to_run:
            assert command[0] == "hyperaction", f"{page.name}: {shlex.join(command)}"
            plan.append([str(folder), *as_run(page, command)])
            written.append(f"{page.name}: {shlex.join(command)}")
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", DRIVER],
        input=json.dumps(plan),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    for command, (_, *arguments), (code, printed) in zip(written, plan, results, strict=False):
        ended = FITS_NO_RUN in printed if arguments[0] == "sweep" else code == 0
        assert ended, f"{command}\n{printed}"
        assert "Traceback" not in printed
    assert len(results) == len(plan), done.stderr
    assert len(plan) > 20


def test_the_command_is_on_the_path_of_the_environment(python):
    printed = run([str(python.with_name("hyperaction")), "--version"])
    assert printed.startswith("hyperaction ")


def test_pages_install_extras_that_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = set()
    for page in ROOT.glob("docs/**/*.md"):
        for names in re.findall(r"pip install '?[\w.]*\[([\w,]+)\]", page.read_text()):
            named |= set(names.split(","))
    assert named <= set(extras)
    assert {"physical", "report", "ray"} <= named


def test_what_is_not_run_is_still_in_the_pages():
    commands = [shlex.join(each) for _, _, several in blocks() for each in several]
    for pattern in NOT_RUN:
        assert any(re.match(pattern, each) for each in commands), pattern
