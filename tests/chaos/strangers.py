"""What strangers hand over: archives, modules beside the user, runs that name code, loggers."""

import json
import os
import subprocess
import sys
import time
import zipfile

import pytest

from hyperaction.runs import loggers
from tests.chaos.commands import Result, ViolationError, here

NAMES = (
    "run/../../../../escaped.txt", "run/../escaped.txt", "/escaped.txt", "run//config.json",
    "run/checkpoints/../../../../escaped.txt", "run/./config.json", "run/\x1b[2J.txt",
    "run/a\\..\\b", "run/" + "x" * 300, "run/checkpoints", "run/checkpoints/x.json",
)  # fmt: skip


def archive(trial):
    """Names in an archive stay inside the cache of this machine."""
    file = trial.beside / "stranger.zip"
    with zipfile.ZipFile(file, "w") as writer:
        for path in sorted(trial.references.whole.rglob("*")):
            if path.is_file() and trial.rng.random() < 0.9:
                name = f"run/{path.relative_to(trial.references.whole)}"
                writer.writestr(name, path.read_bytes())
        for name in trial.rng.sample(NAMES, trial.rng.randrange(1, 3)):
            trial.note(repr(name[:40]))
            writer.writestr(name, "escaped")
    trial.remember_others()
    command = trial.rng.choice((["table"], ["evaluate", "--episodes", "1"], ["compare"]))
    args = [command[0], f"zip://run::{file}", *command[1:]]
    if command == ["compare"]:
        args += ["--out", trial.written / "compare.png"]
    cache = trial.written / "cache" / "deep" / "er"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        here(*args).check()
    trial.check_others()
    if escaped := [path for path in trial.root.rglob("escaped*") if cache not in path.parents]:
        raise ViolationError(f"written outside the cache: {escaped}")


MODULES = (
    "rich", "tyro", "json", "numpy", "safetensors", "gymnasium", "fsspec", "ale_py", "torch",
    "matplotlib", "vl_convert", "sitecustomize", "hyperaction", "tests", "toml", "PIL",
)  # fmt: skip


def modules(trial):
    """Modules in the current directory do not run."""
    names = trial.rng.sample(MODULES, 4)
    trial.note(" ".join(names))
    for name in names:
        (trial.written / f"{name}.py").write_text("open('ran.txt', 'w').write(__name__)\n")
    command = trial.rng.choice((["table"], ["table"], ["report", "--out", "x.html"]))
    # As the command that pip installs: without the current directory among the modules' paths.
    program = [sys.executable, "-P", "-m", "hyperaction", command[0], str(trial.runs), *command[1:]]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        program, cwd=trial.written, env=environ, capture_output=True, text=True, timeout=120
    )
    Result(done.returncode, done.stdout, done.stderr).check()
    if (trial.written / "ran.txt").exists():
        ran = (trial.written / "ran.txt").read_text()
        raise ViolationError(f"{ran}.py in the current directory was run by {command[0]}")
    trial.check_others()


def named_module(trial):
    """A run from elsewhere does not choose what is imported."""
    trial.begin("whole")
    file = trial.run / "config.json"
    config = json.loads(file.read_text())
    name = f"stranger_{trial.rng.randrange(10**9)}"
    config["env"] = f"{name}:Thing-v0"
    file.write_text(json.dumps(config))
    marker = trial.written / "ran.txt"
    (trial.written / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').write('x')\n")
    command = trial.rng.choice(("evaluate", "explain", "video", "table", "report", "compare"))
    trial.note(command)
    out = {"explain": "explain", "video": "x.mp4", "report": "x.html", "compare": "x.png"}
    more = ["--out", trial.written / out[command]] if command in out else []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(trial.written)
        here(command, trial.run, *more).check()
    if marker.exists():
        raise ViolationError(f"{command} imported the module that a config names")
    trial.check_others()


def logger(trial):
    """A logger that fails or hangs is given up; the run and its metrics are as without it."""
    how, calls = trial.rng.choice(("raises", "hangs", "dies")), trial.rng.randrange(8)
    trial.note(f"a logger {how} at call {calls}")

    class Bad:
        def __init__(self, out, step):
            self.left = calls

        def log(self, metrics, step):
            self.left -= 1
            if self.left < 0:
                if how == "hangs":
                    time.sleep(7)
                raise OSError("gone") if how == "raises" else SystemExit(3)

        def close(self):
            self.log({}, 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(loggers.LOGGERS, "csv", Bad)
        result = trial.train("--loggers", "csv")
    if result.code:
        raise ViolationError(f"a logger stopped the run: {result.err.strip()}")
    trial.check_same()
