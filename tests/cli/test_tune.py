"""The command tune: real runs, stopped and resumed, then a table, a figure and a command."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from hyperaction.arguments import flags_of, options_of
from hyperaction.cli import main
from hyperaction.cli.tune import TuneOptions, split
from hyperaction.training.config import parse_train

pytest.importorskip("optuna")

ARGS = [
    "tests.faulty:Faulty-v0", "--steps", "400", "--learning-starts", "80", "--hidden", "8",
    "--loggers", "--batch-size", "16", "--search", "learning-rate", "discount",
]  # fmt: skip


def test_options_of_tune_and_of_train_are_told_apart_in_any_order():
    flags = flags_of(list(options_of(TuneOptions)))
    given = ["--trials", "3", "Env-v0", "--no-prune", "--hidden", "8", "8", "--search", "a", "b"]
    own, rest = split(flags, [*given, "--out=x", "--steps", "5"])
    assert own == ["--trials", "3", "--no-prune", "--search", "a", "b", "--out=x"]
    assert rest == ["Env-v0", "--hidden", "8", "8", "--steps", "5"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["Env-v0", "--trails", "3"], "unknown option --trails"),
        (["CartPole-v1", "--trials", "0"], "--trials must be at least 1, not 0"),
        (["CartPole-v1", "--fresh"], "--fresh is for single runs; choose another --out"),
        (["CartPole-v1", "--search", "x"], "--search: unknown setting 'x'"),
        (["NoSuch-v0"], "NoSuch"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing_behind(tmp_path, capsys, args, message):
    out = tmp_path / "out"
    assert main(["tune", *args, "--out", str(out)]) != 0
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_search_is_stopped_resumed_and_summarised(tmp_path, capsys):
    out = tmp_path / "tune"
    command = [*ARGS, "--trials", "2", "--workers", "1", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "hyperaction", "tune", *command],
        env=os.environ | {"FAULT": ""}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 120
    while not list(out.rglob("metrics.jsonl")) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert stderr == "hyperaction: stopped, all trials saved; rerun the same command to resume\n"
    assert main(["tune", *command]) == 0
    printed = capsys.readouterr().out
    assert "the preset unchanged" in printed
    assert (out / "trials.csv").read_text().count("done") == 2
    assert (out / "tune.png").stat().st_size > 1_000
    last = printed.strip().splitlines()[-1].removeprefix("Train with the best settings: ")
    parse_train(shlex.split(last)[2:])
    runs = sorted(path.parent for path in out.rglob("config.json"))
    assert [run.parent.name for run in runs] == ["trial-000", "trial-001"]
    rows = [json.loads(line) for line in (runs[0] / "metrics.jsonl").read_text().splitlines()]
    assert sum(row["kind"] == "eval" for row in rows) == 10
    assert main(["table", str(out), "--format", "csv"]) == 0
    assert "trial-001" in capsys.readouterr().out
