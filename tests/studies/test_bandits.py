import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from hyperaction import Hypergraph
from hyperaction.cli import main
from hyperaction.runs.lock import locked
from hyperaction.studies.bandits import report
from hyperaction.studies.bandits.prediction import Predictor, init, train
from hyperaction.studies.bandits.problem import ACTIVATIONS, reward_function
from hyperaction.studies.bandits.settings import MODELS

TINY = ("--sizes", "2", "3", "--trials", "3", "--iterations", "10")


def command(*args):
    return [sys.executable, "-m", "hyperaction", "bandits", *args]


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("study")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["bandits", *TINY, "--seed", "3", "--jobs", "2", "--out", str(out)]) == 0
    return out, printed.getvalue()


def test_the_study_writes_every_error_and_draws_them(study):
    out, printed = study
    lines = (out / "rms.csv").read_text().splitlines()
    assert lines[0] == "size,model,trial,iteration,rms"
    rows = [line.split(",") for line in lines[1:]]
    expected = {
        (str(size), model, str(trial), str(iteration))
        for size in (2, 3)
        for model in MODELS
        for trial in range(3)
        for iteration in range(1, 11)
    }
    assert {tuple(row[:4]) for row in rows} == expected
    assert len(rows) == len(expected)
    assert all(0 < float(row[4]) < 100 for row in rows)
    assert (out / "bandits.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "bandits.svg").read_text()
    assert "RMS error at the last iteration" in printed
    assert "the gap to the table grows" in printed
    assert not list(out.rglob("*.part*"))


def test_the_summary_is_computed_from_the_errors(study):
    out, _ = study
    summary = json.loads((out / "summary.json").read_text())
    rows = [line.split(",") for line in (out / "rms.csv").read_text().splitlines()[1:]]
    last = [float(row[4]) for row in rows if row[:2] == ["3", "sum-r2"] and row[3] == "10"]
    (entry,) = [
        entry
        for entry in summary["last_iteration"]
        if (entry["size"], entry["model"]) == (3, "sum-r2")
    ]
    assert entry["mean"] == pytest.approx(np.mean(last), rel=1e-4)
    assert summary["settings"] == {"trials": 3, "iterations": 10, "seed": 3}
    assert len(summary["findings"]) == 3
    assert sorted(summary["order"]["3"]) == sorted(MODELS)


def test_a_killed_study_continues_to_the_same_errors(study, tmp_path):
    whole, _ = study
    models = ("tabular", "sum-r2", "universal-r1")
    args = command(*TINY, "--seed", "3", "--out", str(tmp_path), "--jobs", "1")
    args += ["--sizes", "3", "--models", *models]
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL, start_new_session=True)
    while not list(tmp_path.glob("cells/*.npz")):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "rms.csv").exists()
    finished = {file: file.stat().st_mtime_ns for file in tmp_path.glob("cells/*.npz")}
    subprocess.run(args, capture_output=True, check=True)
    rows = [row for row in (whole / "rms.csv").read_text().splitlines() if row.startswith("3,")]
    expected = [row for row in rows if row.split(",")[1] in models]
    assert (tmp_path / "rms.csv").read_text().splitlines()[1:] == expected
    assert all(file.stat().st_mtime_ns == when for file, when in finished.items())


def test_another_seed_gives_other_errors(study, tmp_path, capsys):
    out, _ = study
    args = ("--models", "sum-r1", "--seed", "4", "--jobs", "1", "--out", str(tmp_path))
    assert main(["bandits", *TINY, *args]) == 0
    same = [row for row in (out / "rms.csv").read_text().splitlines() if ",sum-r1," in row]
    assert (tmp_path / "rms.csv").read_text().splitlines()[1:] != same
    assert "undecided" in capsys.readouterr().out


def test_ctrl_c_says_how_to_continue_and_leaves_no_process(tmp_path):
    args = command("--trials", "2", "--iterations", "100000", "--out", str(tmp_path))
    process = subprocess.Popen(
        args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not (tmp_path / "settings.json").exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert message == "hyperaction: stopped; rerun the same command to resume\n"
    deadline = time.monotonic() + 30
    while alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(process.pid)


def alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_directory_of_other_settings_is_refused(study, capsys):
    out, _ = study
    before = sorted((file, file.stat().st_mtime_ns) for file in out.rglob("*"))
    assert main(["bandits", *TINY, "--seed", "4", "--out", str(out)]) == 1
    error = capsys.readouterr().err
    assert "holds a study with --seed 3 (not 4)" in error
    assert error.count("\n") == 1
    assert sorted((file, file.stat().st_mtime_ns) for file in out.rglob("*")) == before


def test_two_studies_do_not_share_a_directory(tmp_path, capsys):
    with locked(tmp_path):
        assert main(["bandits", *TINY, "--out", str(tmp_path)]) == 1
    assert "another process" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["lock"]


def test_a_damaged_cell_is_named(tmp_path, capsys):
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "2-tabular.npz").write_bytes(b"PK\x03\x04 torn")
    assert main(["bandits", *TINY, "--out", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "2-tabular.npz is damaged" in error
    assert "delete it to train it again" in error


def test_training_in_pieces_equals_training_at_once():
    keys = jax.random.split(jax.random.key(0), 2)
    rewards = jnp.asarray(np.stack([reward_function(3, (0, trial)) for trial in range(2)]))
    fresh = jax.jit(jax.vmap(lambda key: init(MODELS["universal-r2"], 3, key)))
    _, whole = train(fresh(keys), rewards, keys, jnp.asarray(0), 4)
    learners, first = train(fresh(keys), rewards, keys, jnp.asarray(0), 2)
    _, second = train(learners, rewards, keys, jnp.asarray(2), 2)
    np.testing.assert_array_equal(np.concatenate([first, second], axis=1), whole)


@pytest.mark.parametrize("name", MODELS)
def test_training_equals_one_slow_update_after_the_other(name):
    """Minibatches of 32, a hundred per iteration, Adam at 0.0007 over the hyperedges."""
    key = jax.random.key(1)
    rewards = jnp.asarray(reward_function(3, (1,)))
    model = MODELS[name]
    hypergraph = model.hypergraph(3)
    edges = {"tabular": 1, "r1": 3, "r2": 6, "r3": 7}[name.split("-")[-1]]
    assert hypergraph.num_edges == edges
    actions = jnp.asarray(hypergraph.all_actions())
    optimiser = optax.adam(0.0007 / edges)

    @jax.jit
    def start(key):
        predictor = Predictor(model, 3, key)
        return predictor, optimiser.init(predictor)

    predictor, state = start(key)

    @jax.jit
    def slow_update(predictor, state, step):
        batch = jax.random.randint(jax.random.fold_in(key, step), (32,), 0, 27)
        some = actions[batch], rewards[batch]
        gradient = jax.grad(lambda p: jnp.mean((p(some[0]) - some[1]) ** 2))
        updates, state = optimiser.update(gradient(predictor), state)
        return optax.apply_updates(predictor, updates), state

    for step in range(100):
        predictor, state = slow_update(predictor, state, step)
    values = np.asarray(jax.jit(lambda predictor: predictor(actions))(predictor))
    expected = np.sqrt(np.mean((values - np.asarray(rewards)) ** 2))
    learners = jax.jit(jax.vmap(lambda key: init(model, 3, key)))(key[None])
    _, errors = train(learners, rewards[None], key[None], jnp.asarray(0), 1)
    np.testing.assert_allclose(errors, [[expected]], rtol=1e-4)


def test_rewards_are_a_mixed_hypergraph_of_the_papers_ranges():
    rewards = np.stack([reward_function(4, (0, trial)) for trial in range(200)])
    assert rewards.shape == (200, 64)
    assert len({row.tobytes() for row in rewards}) == 200
    # At most five hidden units of weight one; a linear one sums 3 x 10 + 3 x 5 + 2.5, plus biases.
    assert np.abs(rewards).max() < 5 * (3 * 10 + 3 * 5 + 2.5 + 1) + 1
    # Trials whose hidden units are bounded by one stay within five and the last bias.
    bounded = (np.abs(rewards).max(axis=1) <= 6).mean()
    assert 0.4 < bounded < 0.95


def test_the_sigmoid_is_the_sigmoid():
    x = np.linspace(-30, 30, 101)
    np.testing.assert_allclose(ACTIVATIONS[2](x), 1 / (1 + np.exp(-x)), atol=1e-12)


def errors_of(**finals):
    """Made-up errors: one trial, one iteration, by size and model."""
    return {
        (int(size[1:]), model.replace("_", "-")): np.full((2, 1), value, np.float32)
        for size, models in finals.items()
        for model, value in models.items()
    }


@pytest.mark.parametrize(
    ("large", "expected"),
    [
        ({"tabular": 4.0, "sum_r3": 2.0, "universal_r3": 1.0}, [True, True, True]),
        ({"tabular": 4.0, "sum_r3": 5.0, "universal_r3": 1.0}, [False, True, False]),
        ({"tabular": 4.0, "sum_r3": 2.0, "universal_r3": 3.0}, [True, False, False]),
        ({"tabular": 3.0, "sum_r3": 2.0, "universal_r3": 1.5}, [True, True, False]),
    ],
)
def test_findings_follow_the_errors_wherever_they_lead(large, expected):
    small = {"tabular": 3.0, "sum_r3": 2.0, "universal_r3": 1.5}
    errors = errors_of(s5=small, s10=large)
    scales = {5: np.ones(2, np.float32), 10: np.ones(2, np.float32)}
    found = [finding.holds for finding in report.findings(errors, scales)]
    assert found == expected
    assert report.order(errors, 10)[0] == min(large, key=lambda m: large[m]).replace("_", "-")


def test_the_table_is_a_hypergraph_of_one_hyperedge():
    assert MODELS["tabular"].hypergraph(4) == Hypergraph((4, 4, 4), [(0, 1, 2)])
