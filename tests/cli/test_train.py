"""The command train, from its first line to its last."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from hyperaction import HGQN
from hyperaction.cli import main
from hyperaction.runs import read_arrays
from hyperaction.training import memory, runner, speed
from tests.killing import metrics

CARTPOLE = [
    "train", "CartPole-v1", "--agent", "hgqn", "--steps", "300", "--hidden", "16",
    "--learning-starts", "64", "--batch-size", "16", "--phase-steps", "150",
    "--evaluation-steps", "100",
]  # fmt: skip


def run_alone(*args):
    """A command in a process of its own."""
    command = [sys.executable, "-m", "hyperaction", *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_the_same_seed_gives_the_same_metrics_and_another_does_not(tmp_path, capsys):
    one, again, other = (str(tmp_path / name) for name in "abc")
    run_alone(*CARTPOLE, "--seed", "1", "--out", one)
    assert main([*CARTPOLE, "--seed", "1", "--out", again]) == 0
    assert main([*CARTPOLE, "--seed", "2", "--out", other]) == 0
    first = metrics(tmp_path / "a")
    assert first == metrics(tmp_path / "b")
    assert first != metrics(tmp_path / "c")
    assert [row["kind"] for row in first] == ["train", "eval"] * (len(first) // 2)
    assert first[-1]["step"] >= 300
    assert first[0]["step"] >= 150
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    assert config["settings"]["network"] == {"name": "mlp", "hidden": [16], "layer_norm": True}
    assert config["seed"] == 1
    names = sorted(path.name.split(".")[0] for path in (tmp_path / "a").iterdir())
    assert names == ["agent", "checkpoints", "config", "events", "lock", "metrics", "progress"]

    capsys.readouterr()
    assert main(["evaluate", one, "--episodes", "3", "--greedy"]) == 0
    greedy = HGQN.load(one).evaluate("CartPole-v1", episodes=3, greedy=True)
    played = capsys.readouterr().out
    lengths = [int(line.split()[2]) for line in played.splitlines()[1:4]]
    assert lengths == [episode.length for episode in greedy]
    assert [line.split()[0] for line in played.splitlines()] == ["episode", "1", "2", "3", "mean"]
    drawing = tmp_path / "compare.png"
    assert main(["compare", one, "--out", str(drawing)]) == 0
    assert "CartPole-v1" in capsys.readouterr().out
    assert drawing.stat().st_size > 5_000
    assert main(["compare", str(tmp_path)]) != 0
    refused = f"no run to compare: {tmp_path} holds no run: there is no config.json in it\n"
    assert capsys.readouterr().err == f"hyperaction: {refused}"


@pytest.mark.parametrize("phase_steps", ["30", "10000"])
def test_a_run_has_as_many_steps_as_were_asked_for_and_ends_in_an_evaluation(tmp_path, phase_steps):
    out = tmp_path / "run"  # Its episodes have ten steps.
    args = [
        "train", "tests.faulty:Faulty-v0", "--steps", "55", "--phase-steps", phase_steps,
        "--hidden", "8", "--evaluation-steps", "10", "--loggers", "--out", str(out),
    ]  # fmt: skip
    assert main(args) == 0
    rows = metrics(out)
    assert [(row["kind"], row["step"]) for row in rows[-2:]] == [("train", 60), ("eval", 60)]
    assert [row["step"] for row in rows if row["kind"] == "eval"] in ([60], [30, 60])


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="there is one core",
)
def test_results_do_not_depend_on_the_number_of_cores(tmp_path):
    there = sorted(os.sched_getaffinity(0))
    ours = {name: value for name, value in os.environ.items() if name != "PJRT_NPROC"}
    rows, agents = [], []
    for cores in (there[:1], there[:2]):
        out = tmp_path / str(len(cores))
        # The paper's network: sums of smaller ones are not split.
        args = [
            "train", "CartPole-v1", "--steps", "120", "--learning-starts", "64", "--phase-steps",
            "120", "--evaluation-steps", "20", "--loggers", "--out", str(out),
        ]  # fmt: skip
        program = f"import os; os.sched_setaffinity(0, {cores}); " + (
            f"from hyperaction.cli import main; raise SystemExit(main({args}))"
        )
        subprocess.run([sys.executable, "-c", program], env=ours, check=True, capture_output=True)
        rows.append(metrics(out))
        agents.append(read_arrays(out / "agent.safetensors")[0])
    assert rows[0] == rows[1]
    for name, array in agents[0].items():
        np.testing.assert_array_equal(array, agents[1][name], err_msg=name)


def test_a_run_without_an_end_of_episodes_says_what_to_do(tmp_path, monkeypatch, capsys):
    (tmp_path / "endless.py").write_text(
        "import gymnasium, numpy as np\n"
        "class Endless(gymnasium.Env):\n"
        "    observation_space = gymnasium.spaces.Box(0, 1, (1,))\n"
        "    action_space = gymnasium.spaces.MultiDiscrete([2, 2])\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        return np.zeros(1, np.float32), {}\n"
        "    def step(self, action):\n"
        "        return np.zeros(1, np.float32), 1.0, False, False, {}\n"
        "gymnasium.register('Endless-v0', Endless)\n"
    )
    monkeypatch.chdir(tmp_path)
    args = [
        "train", "endless:Endless-v0", "--steps", "100", "--phase-steps", "20", "--hidden", "8",
        "--evaluation-steps", "20", "--loggers", "--out", "run",
    ]  # fmt: skip
    assert main(args) == 1
    message = "no episode ended in 200 steps; limit them with --max-episode-steps"
    assert message in capsys.readouterr().err
    assert main([*args, "--fresh", "--max-episode-steps", "15"]) == 0
    assert {row["length"] for row in metrics(tmp_path / "run")} == {15.0}


@pytest.mark.parametrize("agent", ["hgqn", "ddpg"])
def test_pybullet_runs_beside_what_was_published(agent, tmp_path, capsys):
    pytest.importorskip("pybullet_envs_gymnasium")
    args = [
        "train", "ReacherBulletEnv-v0", "--agent", agent, "--preset", "physical",
        "--steps", "300", "--hidden", "16", "16",
        "--learning-starts", "100", "--phase-steps", "150", "--evaluation-steps", "1",
        "--out", str(tmp_path / "run"), "--loggers",
    ]  # fmt: skip
    if agent == "ddpg":
        assert main(args) == 0
        return
    done = run_alone(*args)
    assert not [line for line in done.stdout.splitlines() if "argv" in line or "build" in line]
    assert done.stderr == ""
    assert main(["compare", str(tmp_path / "run"), "--out", str(tmp_path / "c.png")]) == 0
    compared = " ".join(capsys.readouterr().out.split())
    assert "hgqn-r1-sum" in compared
    assert "no result at the published steps, 10,000 to 3,000,000" in compared


def test_a_directory_that_one_is_in_is_not_moved(tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    (out / "inner").mkdir(parents=True)
    (out / "config.json").write_text("{}")
    for here, given in ((out, "."), (out / "inner", ".."), (out, str(out))):
        monkeypatch.chdir(here)
        assert main([*CARTPOLE, "--fresh", "--out", given]) == 1
        error = capsys.readouterr().err
        assert (
            error == f"hyperaction: --fresh would move {out}, where you are; choose another --out\n"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--bins", "100000000"], "--bins 100000000 of 1 dimensions make 100,000,000 sub-actions"),
        (["--hidden", "1000000", "1000000"], "the agent takes about"),
        (["--hidden", "9" * 30], "must be below 2,147,483,648"),
        (["--total-width", "1000000000"], "the agent takes about"),
    ],
)
def test_sizes_that_cannot_be_are_refused_in_one_line(tmp_path, capsys, args, message):
    out = tmp_path / "run"
    assert main(["train", "Pendulum-v1", *args, "--out", str(out)]) != 0
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_what_takes_long_to_prepare_is_announced_before(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "MANY_EDGES", 2)
    monkeypatch.setattr(memory, "available", lambda: 0)
    monkeypatch.setattr(memory, "SMALL", 0)
    args = ["--action-shape", "2", "1", "--rank", "2", "--out", str(tmp_path / "run")]
    assert main(["train", "CartPole-v1", *args]) == 1
    assert capsys.readouterr().out.startswith("preparing 3 hyperedges with 5 outputs, which may")


def test_a_run_says_how_best_actions_are_found_and_how_fast_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(speed, "FIRST_STEPS", 2)
    monkeypatch.setattr(speed, "MIN_STEPS", 10)
    monkeypatch.setattr(speed, "MIN_SECONDS", 0.0)
    out = tmp_path / "run"
    assert main([*CARTPOLE, "--budget", "2", "--out", str(out)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    way = "best actions: decentralised (exact, about 1 us per state): at rank 1"
    assert way in printed
    estimate = re.search(r"about [\d,]+ steps per second: the (\d+) that are left", printed)
    assert estimate is not None
    assert printed.count("steps per second") == 1
    assert printed.index(way) < estimate.start()
    assert json.loads((out / "config.json").read_text())["settings"]["budget"] == 2
