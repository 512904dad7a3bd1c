"""Every example runs, with a small budget, and learns what it says."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def example(request, monkeypatch):
    """The module of an example, imported as a script imports it."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


def test_the_single_file_example_learns_to_steer():
    done = subprocess.run(
        [sys.executable, EXAMPLES / "hgqn.py", "--steps", "2500"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # A random policy gets -51 on average.
    assert float(done.stdout.splitlines()[-1].removeprefix("greedy: ")) > -10


def test_an_own_environment_with_rules_is_learned_and_no_rule_broken(example):
    before, after = example("own_environment").main(steps=500)
    assert after > before + 30


def test_a_mixer_of_ones_own_learns_its_weights(example):
    result, singles, pairs = example("custom_mixer").main(steps=500)
    assert result > 18  # Random dials get 10.
    assert singles != pairs
    assert min(singles, pairs) > 0


def test_the_maximiser_alone_obeys_masks_and_bounds_its_soft_value(example):
    values, slower, soft, top = example("maximiser").main(machines=6, states=2)
    assert (slower <= values).all()
    assert (soft >= values).all()
    assert top[0] == pytest.approx(values[0])
    assert (np.diff(top) <= 0).all()


def test_several_environments_are_learned_at_once(example):
    result, actions = example("vector_training").main(steps=600, num_envs=4)
    assert result > 18
    assert actions.shape == (4, 4)


def test_the_pairs_of_dials_explain_most_where_locks_hang_between_them(example):
    shares = example("explain_agent").main(steps=500)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert set(sorted(shares, key=shares.get)[-3:]) == {(0, 1), (1, 2), (2, 3)}


def test_a_dqn_in_pytorch_takes_several_dimensions_with_about_twenty_changed_lines(example):
    pytest.importorskip("torch")
    module = example("pytorch_dqn")
    assert Path(module.__file__).read_text().count("# changed\n") <= 20
    assert module.main(steps=500) > 18


def test_stable_baselines3_learns_several_dimensions_which_it_refuses_by_itself(example, tmp_path):
    pytest.importorskip("stable_baselines3")
    module, locks = example("sb3_dqn"), example("locks")
    with pytest.raises(AssertionError, match="only supports"):
        module.DQN("MlpPolicy", locks.Locks())
    model, result = module.main(steps=500)
    assert result > 18
    model.save(tmp_path / "model")
    loaded = module.HypergraphDQN.load(tmp_path / "model")
    observation, _ = locks.Locks().reset(seed=0)
    wanted, _ = model.predict(observation, deterministic=True)
    np.testing.assert_array_equal(loaded.predict(observation, deterministic=True)[0], wanted)


def test_the_cells_of_the_notebook_run(example, capsys):
    notebook = json.loads((EXAMPLES / "first_steps.ipynb").read_text())
    names: dict[str, object] = {}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert "elimination (exact" in capsys.readouterr().out
    assert np.mean(names["returns"]) > 18
