"""Parts combine, or are refused in one line: random combinations of all of them.

`python -m tests.training.test_combinations 100 200` tries these hundred.
"""

import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
import pytest

from hyperaction.agents.exploration import EXPLORATIONS
from hyperaction.agents.objectives import OBJECTIVES
from hyperaction.agents.presets import AGENTS
from hyperaction.agents.state_networks import ResidualNetwork
from hyperaction.api import AGENT_CLASSES
from hyperaction.errors import SettingError
from hyperaction.maximise import WAYS
from hyperaction.mixers import MIXERS
from tests.training.envs import Aiming, Counting

SMALL = {
    "total_width": 8, "batch_size": 8, "learning_starts": 16, "buffer_size": 64,
    "network": ResidualNetwork(8), "optimiser.learning_rate": 0.001, "n_step": 2,
}  # fmt: skip
CHOICES = {
    "mixer": [*MIXERS],
    "objective": [*OBJECTIVES],
    "exploration": [*EXPLORATIONS],
    "critics": [1, 2],
    "shared_state": [True, False],
    "dueling": [False, True],
    "prioritised": [False, True],
    "overlap": [False, True],
    "normalise_observations": [False, True],
    "maximise": ["", *WAYS],
    "total_width": [8, 0],
    "structure": ["fixed", "grow-edges"],
    "grow": ["none", "linear"],
    "target": ["copy", "polyak"],
}
RARE = ("maximise", "structure", "grow", "total_width", "dueling")
"""What little combines with."""


def drawn(number):
    """An environment, an agent and settings."""
    random = np.random.default_rng(number)
    settings = dict(SMALL)
    for name, choices in CHOICES.items():
        if random.random() < (0.1 if name in RARE else 0.6):
            settings[name] = choices[random.integers(len(choices))]
    agents = [name for name, config in AGENTS.items() if not config.continuous]
    agent = agents[random.integers(len(agents))] if random.random() < 0.3 else "hgqn"
    if agent in ("hgqn", "hg-rainbow"):
        settings["rank"] = int(random.integers(1, 3))
    if settings.get("structure") == "grow-edges":
        settings["structure.at"] = (30,)
    if settings.get("grow") == "linear":
        hierarchical = bool(random.random() < 0.5)
        settings |= {"bins": (3, 5), "grow.steps": 60, "hierarchical": hierarchical}
    masked = bool(random.random() < 0.3)
    env = [lambda: Counting(with_mask=masked), Aiming][random.integers(2)]
    return env, AGENT_CLASSES[agent], settings


def try_one(number, folder):
    """Why a combination was refused, or nothing: it learns, and acts as before when loaded."""
    env, agent_class, settings = drawn(number)
    try:
        agent = agent_class(env(), **settings).learn(40)
    except SettingError as error:
        return str(error)
    for leaf in jax.tree.leaves(agent.state.online):
        assert np.isfinite(leaf).all()
    file = folder / "agent.safetensors"
    agent.save(file)
    shape = agent.observation_shape
    observations = np.random.default_rng(0).normal(size=(5, *shape)).astype(np.float32)
    loaded = agent_class.load(file, network=SMALL["network"])
    np.testing.assert_array_equal(loaded.act(observations), agent.act(observations))
    assert np.isfinite([episode.total for episode in agent.evaluate(env(), 1)]).all()
    return ""


@pytest.mark.parametrize("number", range(3))
def test_any_parts_combine_or_are_refused_in_one_line(number, tmp_path):
    assert "\n" not in try_one(number, tmp_path)


if __name__ == "__main__":
    refused = 0
    for each in range(int(sys.argv[1]), int(sys.argv[2])):
        with tempfile.TemporaryDirectory() as place:
            try:
                refused += bool(try_one(each, Path(place)))
            except Exception as error:
                print(each, type(error).__name__, str(error)[:200], drawn(each)[1:])
    print(f"{refused} refused")
