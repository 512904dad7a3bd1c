"""Parts of one's own, written outside of the package: trained, saved, loaded and trained on."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from gymnasium import spaces

from hyperaction import HGQN, AbstractMixer, AbstractObjective, Hypergraph, Losses, maximiser
from hyperaction.agents.exploration import AbstractExploration
from hyperaction.agents.parts import CUSTOM, to_dict
from hyperaction.agents.structure import AbstractStructure, Change
from hyperaction.maximise.base import AbstractWay, Solution
from hyperaction.maximise.planner import WAYS
from tests.strategies import outputs_for, slow_values


class Matching(gymnasium.Env):
    """Two sub-actions that should both be what is observed; episodes have four steps."""

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.length = 0
        return self._observation(), {}

    def step(self, action):
        reward = float((action == (self.sign > 0)).mean())
        self.length += 1
        return self._observation(), reward, False, self.length == 4, {}

    def _observation(self):
        self.sign = self.np_random.choice([-1.0, 1.0])
        return np.array([self.sign], np.float32)


SMALL: dict[str, Any] = {
    "total_width": 16, "batch_size": 16, "learning_starts": 50, "discount": 0.0,
    "buffer_size": 1_000,
}  # fmt: skip
FAST: dict[str, Any] = {"learning_rate": 1e-2, "optimiser.epsilon": 1e-8}
MLP: dict[str, Any] = {"hidden": (16,)}


class Weighted(AbstractMixer):
    """A weighted sum, whose weights are learned."""

    monotonic: ClassVar[bool] = True
    affine: ClassVar[bool] = True
    raw: jax.Array

    def __call__(self, representation, state=None):
        return representation @ self.weights(len(representation))

    def weights(self, num_edges):
        return jax.nn.softplus(self.raw)


def make_weighted(hypergraph, features, key):
    return Weighted(jax.random.normal(key, (hypergraph.num_edges,)))


@dataclass(frozen=True)
class Sticky(AbstractExploration):
    """Random actions that are repeated for some steps, in every third stretch."""

    stretch: int = 5

    def init(self, explorer):
        return {"count": np.zeros(1, np.int64), "last": np.zeros((explorer.num_envs, 2), np.int32)}

    def explore(self, explorer):
        count = explorer.memory["count"]
        if count[0] % self.stretch == 0:
            explorer.memory["last"] = explorer.random_actions()
        count += 1
        at_random = count[0] // self.stretch % 3 == 0 or explorer.step < explorer.learning_starts
        return explorer.memory["last"] if at_random else explorer.greedy()

    def metrics(self, explorer):
        return {"count": float(explorer.memory["count"][0])}


class Linear(eqx.Module):
    """A state network without hidden layers."""

    layer: eqx.nn.Linear
    features: int = eqx.field(static=True)

    def __call__(self, observation):
        return self.layer(observation)


def make_linear(observation_shape, *, key):
    return Linear(eqx.nn.Linear(observation_shape[0], 8, key=key), 8)


@dataclass(frozen=True)
class Absolute(AbstractObjective):
    """The absolute temporal-difference error."""

    scale: float = 1.0

    def losses(self, online, target, transition, memory):
        following = target.max(transition.next_observation, mask=transition.next_mask)
        wanted = transition.reward + transition.discount * following
        value = online(transition.observation, transition.action)
        return Losses(self.scale * jnp.abs(jax.lax.stop_gradient(wanted) - value)[None])


@dataclass(frozen=True)
class DropPairs(AbstractStructure):
    """Pairs for a while, then none."""

    until: int = 200

    def is_due(self, step, stage):
        return stage == 0 and step >= self.until

    def next(self, now, hypergraph, variances):
        assert set(variances()) == {(0,), (1,), (0, 1)}
        return Change(((0,), (1,)), "without pairs", [])


def score(agent):
    return np.mean([episode.total for episode in agent.evaluate(Matching(), 20)]) / 4


@pytest.mark.parametrize(
    ("name", "given", "others"),
    [
        ("mixer", Weighted(jnp.array([0.5, 0.1])), MLP | FAST),
        ("mixer", make_weighted, MLP | FAST),
        ("exploration", Sticky(stretch=3), MLP | FAST),
        ("optimiser", optax.adamw(1e-2, weight_decay=1e-4), MLP),
        ("network", make_linear, FAST),
        ("objective", Absolute(scale=2.0), MLP | FAST),
        ("structure", DropPairs(), MLP | FAST | {"rank": 2}),
    ],
    ids=["mixer", "mixer factory", "exploration", "optimiser", "network", "objective", "structure"],
)
def test_a_part_of_ones_own_learns_is_saved_and_learns_on(name, given, others, tmp_path):
    part = {name: given}
    agent = HGQN(Matching(), **SMALL, **others, **part).learn(400)
    assert score(agent) == pytest.approx(1.0, abs=0.02)
    file = tmp_path / "agent.safetensors"
    agent.save(file)
    with pytest.raises(ValueError, match=f"{name} was an object of your own .*pass {name} again"):
        HGQN.load(file)
    loaded, resumed = HGQN.load(file, **part), HGQN.load(file, Matching(), **part)
    observations = np.array([[-1.0], [0.3], [1.0]])
    np.testing.assert_array_equal(loaded.act(observations), agent.act(observations))
    for one, other in zip(jax.tree.leaves(agent.state), jax.tree.leaves(loaded.state), strict=True):
        np.testing.assert_array_equal(one, other)
    assert getattr(resumed.config, name) is given
    resumed.learn(200)
    assert resumed.step == 600
    assert score(resumed) == pytest.approx(1.0, abs=0.02)


def test_a_mixers_own_parameters_are_learned():
    before = Weighted(jnp.array([0.5, 0.1]))
    agent = HGQN(Matching(), **SMALL, **MLP, **FAST, mixer=before).learn(100)
    assert not np.allclose(agent.state.online.mixer.raw, before.raw)
    assert agent.state.online.mixer.weights(2).shape == (2,)


def test_what_an_exploration_remembers_is_part_of_the_trainers_state():
    made = partial(HGQN, Matching(), **SMALL, **MLP, exploration=Sticky(stretch=3))
    agent, other = made().learn(20), made(seed=1)
    memory = agent.trainer.explorer.memory
    assert memory["count"] == 20
    other.trainer.explorer.load_state_dict(agent.trainer.explorer.state_dict())
    np.testing.assert_array_equal(other.trainer.explorer.memory["last"], memory["last"])
    assert other.trainer.metrics()["count"] == 20


def test_a_configuration_with_parts_of_ones_own_can_be_written_as_json():
    agent = HGQN(Matching(), **SMALL, **MLP, mixer=make_weighted, exploration=Sticky())
    stored = to_dict(agent.config)
    assert stored["mixer"]["name"] == stored["exploration"]["name"] == CUSTOM
    assert "Sticky(stretch=5)" in stored["exploration"]["is"]


class Remembering:
    """A logger."""

    def __init__(self):
        self.rows = []

    def log(self, metrics, step):
        self.rows.append((step, metrics))

    def close(self):
        raise AssertionError("a logger is closed by whoever made it")


def test_a_logger_of_ones_own_gets_the_metrics():
    logger = Remembering()
    agent = HGQN(Matching(), **SMALL, **MLP, **FAST)
    agent.learn(250, logger=logger, log_interval=100).learn(50, logger=logger)
    assert [step for step, _ in logger.rows] == [100, 200, 250, 300]
    assert all(metrics["train/length"] == 4.0 for _, metrics in logger.rows)
    assert np.isfinite(logger.rows[1][1]["train/loss"])
    assert logger.rows[0][1]["train/epsilon"] < 1.0


class Failing(Remembering):
    """A logger that fails the second time."""

    def log(self, metrics, step):
        super().log(metrics, step)
        if len(self.rows) == 2:
            raise OSError("no space left")


def test_a_logger_of_ones_own_that_fails_is_given_up_with_a_warning():
    logger = Failing()
    agent = HGQN(Matching(), hidden=(8,), learning_starts=100)
    given_up = r"the logger Failing is given up: it failed \(OSError: no space left\)"
    with pytest.warns(RuntimeWarning, match=given_up):
        agent.learn(40, logger=logger, log_interval=10)
    assert agent.step == 40
    assert [step for step, _ in logger.rows] == [10, 20]


class Sweeping(AbstractWay):
    """Goes through all joint actions, one after the other."""

    name: ClassVar[str] = "sweeping"

    @property
    def exact(self):
        return True

    def solve(self, problem):
        graph, states = problem.hypergraph, len(problem.outputs)
        best = jnp.zeros((states, graph.num_vertices), jnp.int32)
        value = jnp.full(states, -jnp.inf)
        for action in np.ndindex(*graph.sizes):
            actions = jnp.broadcast_to(jnp.array(action, jnp.int32), best.shape)
            found = problem.values(actions)
            better = found > value
            best = jnp.where(better[:, None], actions, best)
            value = jnp.where(better, found, value)
        return Solution(best)


def test_a_way_of_ones_own_maximises():
    graph = Hypergraph((2, 3, 2), [(0, 1), (1, 2), (2,)])
    outputs = outputs_for(graph, (4,), seed=2)
    ours = maximiser(graph, way=Sweeping(cost=1.0))
    assert "sweeping" not in WAYS
    assert ours.explain().startswith("sweeping (exact, about 1 us per state): ")
    found = ours.bounded(outputs)
    for state in range(4):
        slow = slow_values(graph, outputs[state])
        np.testing.assert_allclose(found.value[state], max(slow.values()), rtol=1e-5)
        best = max(slow, key=slow.__getitem__)
        np.testing.assert_array_equal(found.action[state], best)
    mask = np.ones((4, 7), bool)
    mask[:, 0] = False  # The first vertex has one sub-action left.
    masked = jax.jit(lambda outputs: ours.argmax(outputs, mask=mask))(outputs)
    np.testing.assert_array_equal(masked, maximiser(graph).argmax(outputs, mask=mask))
    assert (masked[:, 0] == 1).all()
    vmapped = jax.vmap(ours.max)(outputs[:, None])[:, 0]
    np.testing.assert_allclose(vmapped, found.value, rtol=1e-6)
