"""Sweeps: grids of ordinary runs that are resumed, retried and summarised."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hyperaction.arguments import ArgumentError
from hyperaction.cli import main
from hyperaction.runs.progress import RESULTS, Progress, read_progress, write_progress
from hyperaction.sweeps import grid as grids
from hyperaction.sweeps.display import live_table
from hyperaction.sweeps.scheduler import Sweep
from tests.killing import metrics

GRID = """
environments = ["tests.faulty:Faulty-v0"]
seeds = 2
[options]
steps = 400
phase-steps = 200
train-frequency = 4
evaluation-steps = 20
learning-starts = 80
hidden = [8]
loggers = []
[agents.one]
agent = "hgqn"
"""


TRAIN = [
    "train", "tests.faulty:Faulty-v0", "--steps", "900", "--train-frequency", "4",
    "--evaluation-steps", "20", "--learning-starts", "80", "--hidden", "8", "--loggers",
]  # fmt: skip
"""The first cell of the grid as a run of its own."""


def sweep_args(out, *more, grid=GRID):
    file = out.parent / "grid.toml"
    file.write_text(grid)
    return ["sweep", str(file), "--out", str(out), *more]


def start(args, fault=""):
    """A command in a process of its own, which can be killed."""
    command = [sys.executable, "-m", "hyperaction", *args]
    environ = os.environ | {"FAULT": fault}
    return subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    stdout, stderr = process.communicate(timeout=240)
    return process.returncode, stdout, stderr


def wait_for(condition, process, seconds=120):
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def sweep_here(monkeypatch, capsys):
    """Sweeps from this process, whose cells are processes of their own."""

    def run(out, *more, fault="", grid=GRID):
        monkeypatch.setenv("FAULT", fault)
        code = main(sweep_args(out, *more, grid=grid))
        monkeypatch.setenv("FAULT", "")
        return code, *capsys.readouterr()

    return run


def test_a_sweep_survives_dying_cells_and_being_stopped_and_killed(tmp_path, capsys, sweep_here):
    out = tmp_path / "sweep"
    cell = out / "tests.faulty-Faulty-v0" / "one" / "seed-0"
    # A cell that dies is taken up again, unless that is too often.
    code, stdout, stderr = sweep_here(out, "--only", "*/one/seed-1", fault="raises")
    assert (code, stderr) == (0, ""), stdout
    assert "one/seed-1: running from step 0, attempt 1" in stdout
    assert "will be retried: the environment raised ZeroDivisionError" in stdout
    assert re.search(r"one/seed-1: running from step 2\d\d, attempt 2", stdout)
    assert "1 of 1 runs are done" in stdout
    once = ("--only", "*/one/seed-0", "--retries", "0")
    code, stdout, stderr = sweep_here(out, *once, fault="dies")
    assert code == 1
    assert "0 of 1 runs are done, 1 failed:" in stdout
    assert "the run ended suddenly in the environment's step" in stdout
    assert stderr == "hyperaction: 1 runs failed, see above\n"
    # Repaired, it resumes; stopped in the middle, all cells save.
    long = ("--steps", "900")
    process = start(sweep_args(out, *long), fault="slow")
    wait_for(lambda: read_progress(cell).step > 300, process)
    process.send_signal(signal.SIGINT)
    code, stdout, stderr = finish(process)
    assert code == 130
    assert stderr == "hyperaction: stopped, all runs saved; rerun the same command to resume\n"
    assert "stopped at step" in (cell / "output.txt").read_text()
    # Killed, it takes its cells with it.
    process = start(sweep_args(out, *long, "--only", "*/one/seed-0"), fault="slow")
    wait_for(lambda: "running" in process.stdout.readline(), process)
    time.sleep(2)
    process.kill()
    finish(process)
    (cell / "progress.json").unlink()  # Which nothing depends on.
    code, stdout, stderr = sweep_here(out, *long)
    assert (code, stderr) == (0, ""), stdout
    assert "2 of 2 runs are done" in stdout
    code, _, stderr = sweep_here(out, *long, grid=GRID.replace("200", "300"))
    assert code == 1
    assert "holds a run of other settings: phase_steps was 200, now 300" in stderr
    whole = tmp_path / "whole"
    assert main([*TRAIN, "--phase-steps", "200", "--out", str(whole)]) == 0
    assert metrics(cell) == metrics(whole)
    capsys.readouterr()
    assert main(["table", str(out), "--format", "csv"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.startswith("environment,agent,seeds,steps,evaluations,mean,mean_low,mean_high")
    assert row.split(",")[:4] == ["tests.faulty:Faulty-v0", "one", "2", "900"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"environment": ["A"]}, "unknown name 'environment'; did you mean"),
        ({"environments": []}, "environments is [], not a list of str"),
        ({"environments": ["A", "A"]}, "environments names A twice"),
        ({"agents": {}}, "agents are tables such as"),
        ({"agents": {"a/b": {}}}, "the agent 'a/b' names a directory"),
        ({"agents": {"a": {"rnk": 2}}}, "agent a: unknown option --rnk; did you mean"),
        ({"agents": {"a": {"rank": "x"}}}, "agent a: --rank 'x' is not a whole number"),
        (
            {"agents": {"a": {"agent": "dqn", "rank": 2}}},
            "dqn has only the hyperedge of all vertices",
        ),
        ({"agents": {"a": {"seed": 2}}}, "--seed 2 is not for a grid"),
        ({"options": {"help": True}}, "--help True is not for a grid"),
        ({"options": {"hidden": ["8", "--steps", "7"]}}, "is not for a grid"),
        ({"environments": ["a:B-v0", "a/B-v0"]}, "a:B-v0 and a/B-v0 would share the directory"),
        ({"environments": ["--help"]}, "'--help' is not an environment"),
        ({"seeds": [10**20]}, "is below 0 or too large"),
        ({"seeds": 10**9}, "seeds is 1000000000, not a list of int"),
        ({"skip": [{"environment": "A", "agents": "a"}]}, "agents is 'a', not a list of str"),
        ({"agents": {"a": {"rank": {"b": 1}}}}, "an option is a number, text or list"),
        ({"seeds": [0, -1]}, "the seed -1 is below 0"),
        ({"seeds": "three"}, "seeds is 'three', not a list of int"),
        ({"skip": [{"environment": "B", "agents": ["a"]}]}, "unknown name 'B'"),
        ({"skip": [{"environment": "A", "agents": ["a"]}]}, "everything is skipped"),
    ],
)
def test_mistakes_in_a_grid_are_reported(change, message):
    table = {"environments": ["A"], "agents": {"a": {"rank": 1}}, "seeds": 2}
    with pytest.raises(ArgumentError) as error:
        grids.read("grid.toml", table | change)
    assert message in str(error.value)
    assert str(error.value).startswith("grid.toml")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(grids.KEYS) | st.text(max_size=5), JSON, max_size=5))
def test_any_table_is_a_grid_or_a_mistake_reported_in_one_line(table):
    with contextlib.suppress(ArgumentError):
        assert grids.read("grid.toml", table).cells


def test_the_ready_made_grids_can_be_run():
    pytest.importorskip("pybullet_envs_gymnasium")
    for name in grids.ready_made():
        grid = grids.load(name)
        cells = grids.chosen(grid, seeds=1, steps=100)
        grids.check_fits(name, cells)
        assert len(cells) * len(grid.seeds) == len(grid.cells)
        assert len({cell.name for cell in grid.cells}) == len(grid.cells)
        assert all(cell.config.steps == 100 for cell in cells)
        assert all(cell.args[-2:] == ("--steps", "100") for cell in cells)


class Clockwork:
    """Workers that do a hundred steps at every look; cells named here die that often."""

    queues = False
    count = 2

    def __init__(self, deaths):
        self.deaths, self.running, self.most = dict(deaths), [], 0

    def is_free(self):
        return len(self.running) < self.count

    def start(self, cell, out):
        out.mkdir(parents=True, exist_ok=True)
        self.running.append((cell, out))
        self.most = max(self.most, len(self.running))

    def ended(self):
        for cell, out in list(self.running):
            step = read_progress(out).step + 100
            if step >= 300 and self.deaths.get(cell.name, 0):
                self.deaths[cell.name] -= 1
                self.running.remove((cell, out))
                yield cell, "it died"
                continue
            for name in RESULTS:
                (out / name).write_text("results")
            write_progress(out, Progress(step, 50.0, 1.0, step >= cell.steps))
            if step >= cell.steps:
                self.running.remove((cell, out))
                yield cell, ""

    def stop(self):
        pass

    kill = stop


def test_cells_are_retried_a_bounded_number_of_times(tmp_path, monkeypatch):
    monkeypatch.setattr("hyperaction.sweeps.scheduler.POLL_INTERVAL_S", 0.0)
    agents = {"a": {}, "b": {}, "c": {}}
    grid = grids.read("grid.toml", {"environments": ["E"], "agents": agents, "seeds": 1})
    cells = grids.chosen(grid, steps=500)
    workers = Clockwork({cells[0].name: 2, cells[1].name: 9})
    running, left = Sweep(cells, tmp_path, workers, retries=2), []
    running.run(lambda of: left.append(of.seconds_left()), lambda: False)
    assert [job.state for job in running.jobs] == ["done", "failed", "done"]
    assert [job.attempts for job in running.jobs] == [3, 3, 1]
    assert running.jobs[1].reason == "it died"
    assert workers.most == 2
    # At 50 steps a second on two workers, when the first two have done a hundred.
    assert next(seconds for seconds in left if seconds) == (400 + 400 + 500) / 50 / 2
    again = Sweep(cells, tmp_path, Clockwork({}), retries=0)
    assert [job.state for job in again.jobs] == ["done", "waiting", "done"]
    (tmp_path / cells[2].name / "metrics.jsonl").unlink()
    assert Sweep(cells, tmp_path, Clockwork({}), retries=0).jobs[2].state == "waiting"
    (tmp_path / cells[0].name / "progress.json").unlink()
    assert Sweep(cells, tmp_path, Clockwork({}), retries=0).jobs[0].state == "waiting"


def test_a_damaged_run_fails_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("hyperaction.sweeps.scheduler.POLL_INTERVAL_S", 0.0)
    monkeypatch.setattr("hyperaction.cli.sweep.make_workers", lambda *given: Clockwork({}))
    grid = tmp_path / "grid.toml"
    grid.write_text(
        'environments = ["CartPole-v1"]\nseeds = 2\n[agents.a]\n[options]\nsteps = 300\n'
    )
    out = tmp_path / "out"
    damaged = out / "CartPole-v1" / "a" / "seed-0"
    damaged.mkdir(parents=True)
    (damaged / "config.json").write_text('{"steps": Infinity}')
    (damaged / "progress.json").write_text('{"step": "many", "complete": true}')
    assert main(["sweep", str(grid), "--out", str(out)]) == 1
    printed, error = capsys.readouterr()
    assert error == "hyperaction: 1 runs failed, see above\n"
    assert "1 of 2 runs are done, 1 failed:" in printed
    assert f"seed-0, step 0: {damaged / 'config.json'} is damaged" in printed.replace("\n", "")
    assert (damaged / "config.json").read_text() == '{"steps": Infinity}'


def test_a_run_elsewhere_is_the_run_here(tmp_path, monkeypatch, capsys):
    pytest.importorskip("fsspec")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    there = tmp_path / "there" / "run"
    args = [*TRAIN, "--phase-steps", "200", "--out"]
    process = start([*args, f"file://{there}"])
    wait_for(lambda: (there / "checkpoints" / "checkpoint-000002.json").exists(), process)
    process.kill()
    finish(process)
    shutil.rmtree(tmp_path / "cache")
    assert main([*args, f"file://{there}"]) == 0
    assert "resuming from step" in capsys.readouterr().out
    assert main([*args, str(tmp_path / "plain")]) == 0
    assert metrics(there) == metrics(tmp_path / "plain")
    names = {file.name for file in (tmp_path / "plain" / "checkpoints").iterdir()}
    assert {file.name for file in (there / "checkpoints").iterdir()} == names
    assert json.loads((there / "progress.json").read_text())["complete"]


def test_the_live_table_fits_the_terminal(tmp_path):
    table = {"environments": ["A-Very-Long-Environment-Name-v0"], "agents": {"an-agent": {}}}
    cells = grids.chosen(grids.read("grid.toml", table | {"seeds": 40}), steps=100)
    jobs = Sweep(cells, tmp_path, Clockwork({}), retries=0).jobs
    for number, job in enumerate(jobs):
        job.state = "running" if number < 2 else "waiting"
        job.progress, job.attempts = Progress(50, 12.0, 3.25), 1
        job.reason = "bad [/red] news"
    for width, height in ((40, 24), (80, 12), (120, 50)):
        console = Console(width=width, height=height, file=StringIO(), markup=False)
        console.print(live_table(jobs, 3725.0, width, height))
        lines = console.file.getvalue().splitlines()
        assert len(lines) <= height
        assert max(map(len, lines)) <= width
        assert lines[-1].startswith("2 running, 38 waiting; left 1:02:05")
        assert any("seed-0" in line and "50%" in line for line in lines)
