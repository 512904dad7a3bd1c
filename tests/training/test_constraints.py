"""Every agent in one environment under constraints: no action that is forbidden is ever taken."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from hyperaction import DDPG, Cardinality
from hyperaction.api import AGENT_CLASSES
from hyperaction.cli import main
from hyperaction.errors import SettingError
from tests.training.envs import Aiming

NAMES = ("power", "harvest", "fire", "water")
SIZES = (2, 3, 2, 2)
SMALL = {
    "hidden": (8,), "total_width": 8, "batch_size": 8, "learning_starts": 20, "buffer_size": 100,
}  # fmt: skip


class Farmed(gymnasium.Env):
    """Four decisions by name. Fire and water exclude each other in changing ways, harvest depends
    on the state, and no more than two things are done at once.
    """

    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Dict(
        {name: spaces.Discrete(size) for name, size in zip(NAMES, SIZES, strict=True)}
    )
    action_constraints = Cardinality(at_most=2)

    def _given(self):
        self.allowed = self.np_random.random((2, 2)) < 0.6
        self.allowed[0, 0] = True
        self.harvest = np.array([True, *(self.np_random.random(2) < 0.5)])
        observation = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        mask = {("water", "fire"): self.allowed, "harvest": self.harvest}
        return observation, {"action_mask": mask}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self._given()

    def step(self, action):
        assert self.allowed[action["water"], action["fire"]]
        assert self.harvest[action["harvest"]]
        assert sum(int(value) > 0 for value in action.values()) <= 2
        self.count += 1
        observation, info = self._given()
        return observation, float(action["fire"]), False, self.count == 5, info


gymnasium.register("Farmed-v0", lambda **options: Farmed(**options))

AGENTS = {
    "hgqn": {"rank": 1},
    "hgqn, rank 2": {"rank": 2},
    "hgqn, by names": {"edges": ["power", "harvest", "water,fire"]},
    "dqn": {},
    "rainbow": {},
    "hg-rainbow": {"rank": 2},
    "bdqn": {},
    "action-in": {},
}


@pytest.mark.parametrize("name", AGENTS)
def test_no_agent_ever_takes_a_forbidden_action(name, tmp_path):
    kind = AGENT_CLASSES[name.split(",")[0]]
    settings = SMALL | AGENTS[name] | {"exploration.final": 0.3}
    agent = kind(Farmed(), **settings).learn(60)
    agent.evaluate(Farmed(), episodes=3)
    agent.save(tmp_path / "agent.safetensors")
    loaded = kind.load(tmp_path / "agent.safetensors")
    env = Farmed()
    observation, info = env.reset(seed=1)
    for _ in range(4):
        action = loaded.act(observation, info["action_mask"])
        observation, *_, info = env.step(action)


@pytest.mark.parametrize("exploration", ["extended", "boltzmann", "policy"])
def test_no_exploration_ever_takes_a_forbidden_action(exploration):
    objective = "soft" if exploration == "policy" else "td"
    hgqn = AGENT_CLASSES["hgqn"]
    hgqn(Farmed(), **SMALL, rank=2, exploration=exploration, objective=objective).learn(60)


def test_constraints_may_be_the_users(tmp_path):
    class Unlimited(Farmed):
        action_constraints = ()

    kind = AGENT_CLASSES["hgqn"]
    agent = kind(Unlimited(), **SMALL, constraints=Cardinality(at_most=2)).learn(40)
    nothing = [Cardinality(at_most=1), Cardinality(at_least=2)]
    kind(Unlimited(), **SMALL, constraints="at most 2").learn(30)
    for constraints in ("at mots 2", {("power", "gun"): np.ones((2, 2))}, nothing):
        with pytest.raises(SettingError, match="constraints"):
            kind(Unlimited(), **SMALL, constraints=constraints)
    agent.save(tmp_path / "agent.safetensors")
    assert kind.load(tmp_path / "agent.safetensors").constraints == agent.constraints


class Named(gymnasium.Env):
    """Two vertices alike, by names."""

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.MultiDiscrete([2, 2])

    def __init__(self, *names):
        self.action_names = names

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, True, False, {}


def test_the_same_names_in_another_order_are_refused():
    agent = AGENT_CLASSES["hgqn"](Named("a", "b"), **SMALL)
    assert len(agent.evaluate(Named("c", "d"), episodes=1)) == 1
    for use in (agent.evaluate, agent.set_env):
        with pytest.raises(ValueError, match=r"vertices are a, b, and .* in the order b, a"):
            use(Named("b", "a"))


def test_where_nothing_is_allowed_acting_does_as_was_chosen():
    for choice, expected in (("default", [0]), ("ignore", [0, 1])):
        agent = AGENT_CLASSES["hgqn"](Named("a", "b"), **SMALL, no_action=choice)
        assert agent.act([0.0], {"a": [0, 0]})[0] in expected


def test_constraints_on_the_command_line_survive_a_resume(tmp_path, capsys):
    (tmp_path / "tables.json").write_text('{"power,fire": [[1, 1], [1, 0]]}')
    out = tmp_path / "run"
    args = [
        "train", "Farmed-v0", "--hidden", "8", "--total-width", "8", "--batch-size", "8",
        "--learning-starts", "20", "--phase-steps", "20", "--evaluation-steps", "10",
        "--constraints", "exactly 1 of power,harvest", str(tmp_path / "tables.json"),
        "--out", str(out),
    ]  # fmt: skip
    assert main([*args, "--steps", "20"]) == 0
    assert main([*args, "--steps", "40"]) == 0
    assert main(["evaluate", str(out), "--episodes", "2"]) == 0
    assert "exactly 1 of power,harvest" in (out / "config.json").read_text()
    assert main([*args, "--steps", "40", "--constraints", "at most 1"]) != 0
    capsys.readouterr()


def test_agents_of_real_actions_refuse_constraints():
    with pytest.raises(SettingError, match="constraints are for agents of sub-actions"):
        DDPG(Aiming(), constraints=Cardinality(at_most=1))
