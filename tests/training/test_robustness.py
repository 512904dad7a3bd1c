"""Whatever interrupts learning, the agent can act, be saved and learn on; divergence is named."""

import signal
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from hyperaction.agents.exploration import EpsilonGreedy, OrnsteinUhlenbeck
from hyperaction.agents.schedules import Linear
from hyperaction.api import BDQN, DDPG, DQN, HGQN, HGRainbow
from hyperaction.training import backup
from hyperaction.training.callbacks import Callback
from hyperaction.training.compiled import DivergedError, FlatState
from tests.training.envs import TINY, Aiming, Counting


def is_well(agent, tmp_path):
    """The agent acts, is saved as it is, and learns on."""
    observation = np.zeros(agent.observation_shape, np.float32)
    agent.save(tmp_path / "agent.safetensors")
    loaded = type(agent).load(tmp_path / "agent.safetensors")
    np.testing.assert_array_equal(loaded.act(observation), agent.act(observation))
    step, updates = agent.step, int(agent.state.optimiser.updates)
    agent.learn(12)
    assert agent.step == step + 12
    assert int(agent.state.optimiser.updates) > updates


def make(env):
    """An agent with many updates and target copies, and transitions over several steps."""
    return HGRainbow(env, interval=2, train_frequency=2, **TINY)


class InterruptedAt:
    """Sends Ctrl-C twice at the n-th line that is run inside `learn`."""

    def __init__(self, line):
        self.left = line

    def trace(self, frame, event, argument):
        if "hyperaction" not in frame.f_code.co_filename or "api" in frame.f_code.co_filename:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
        return self.trace


@pytest.mark.parametrize("part", range(4))
def test_ctrl_c_at_any_moment_leaves_a_whole_agent(tmp_path, part):
    agent = make(Counting()).learn(12)
    for line in range(1 + part, 600, 40):
        interrupt = InterruptedAt(line)
        sys.settrace(interrupt.trace)
        try:
            with pytest.raises(KeyboardInterrupt):
                agent.learn(12)
        finally:
            sys.settrace(None)
        assert interrupt.left <= 0
        check_transitions(agent)
    is_well(agent, tmp_path)


def check_transitions(agent):
    """Every transition that is stored leads from a count to the next, over as many steps as n."""
    ring, n = agent.trainer.replay.ring, agent.config.n_step
    seen = ring.arrays.observation[ring.slots, 0]
    following = ring.arrays.next_observation[ring.slots, 0]
    assert (following > seen).all()
    assert (following - seen <= n).all()
    assert (seen // 100 == following // 100).all()


class Failing(Counting):
    """Raises in a call of its own, once."""

    def __init__(self, call, after, error):
        super().__init__()
        self.call, self.left, self.error, self.log = call, after, error, []

    def _count(self, call):
        self.log.append(call)
        if call == self.call:
            self.left -= 1
            if self.left == 0:
                raise self.error("no simulator")

    def reset(self, *, seed=None, options=None):
        self._count("reset")
        return super().reset(seed=seed)

    def step(self, action):
        self._count("step")
        return super().step(action)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize(("call", "after"), [("step", 15), ("step", 16), ("reset", 5)])
def test_an_environment_that_raises_leaves_a_whole_agent_and_a_new_episode(
    tmp_path, call, after, error
):
    env = Failing(call, after, error)
    agent = make(env)
    with pytest.raises(error, match="no simulator"):
        agent.learn(40)
    raised = len(env.log)
    assert env.log[-1] == call
    is_well(agent, tmp_path)
    assert env.log[raised] == "reset"
    check_transitions(agent)


@pytest.mark.parametrize("event", ["on_start", "on_step", "on_episode", "on_phase"])
def test_a_callback_that_raises_leaves_a_whole_agent(tmp_path, event):
    calls = []

    def fail(self, *args):
        calls.append(event)
        if len(calls) == (1 if event in ("on_start", "on_phase") else 4):
            raise ZeroDivisionError

    agent = make(Counting()).learn(12)
    with pytest.raises(ZeroDivisionError):
        agent.learn(40, type("Failing", (Callback,), {event: fail})(), log_interval=20)
    is_well(agent, tmp_path)
    check_transitions(agent)


class Breaking:
    """An optimiser whose updates fail when they run, once it is broken."""

    def __init__(self):
        self.is_broken = False

    def _check(self, count):
        if self.is_broken:
            raise MemoryError
        return count

    def make(self):
        inner = optax.sgd(0.1)

        def update(gradient, state, parameters=None):
            updates, inner_state = inner.update(gradient, state[1], parameters)
            return updates, (jax.pure_callback(self._check, state[0], state[0]) + 1, inner_state)

        return optax.GradientTransformation(lambda p: (jnp.zeros(()), inner.init(p)), update)


@pytest.mark.parametrize("interval", [1, 1_000])
@pytest.mark.filterwarnings("ignore")  # Of logging by JAX.
def test_an_update_that_fails_when_it_runs_leaves_the_agent_of_before(
    tmp_path, monkeypatch, interval
):
    monkeypatch.setattr(backup, "INTERVAL", interval)
    optimiser = Breaking()
    agent = HGQN(Counting(), optimiser=optimiser.make(), **TINY).learn(10).learn(10)
    before = jax.tree.map(np.array, agent.state)
    optimiser.is_broken = True
    with pytest.raises(Exception, match="callback") as error:
        agent.learn(10)
    step = 20 if interval == 1 else 0
    assert error.value.__notes__ == [f"The agent is as it was after step {step}."]
    if interval == 1:
        jax.tree.map(np.testing.assert_array_equal, agent.state, before)
    optimiser.is_broken = False
    agent.save(tmp_path / "agent.safetensors")
    updates = int(agent.state.optimiser[0])
    agent.learn(12)
    assert int(agent.state.optimiser[0]) > updates
    assert agent.act([3.0]).shape == (2,)


class Watchful(Aiming):
    """Takes finite actions only."""

    def step(self, action):
        assert np.isfinite(action).all()
        return super().step(action)


def diverged(agent, factor):
    """The agent after some steps, with its parameters multiplied."""
    agent.trainer.state = FlatState(jax.tree.map(lambda leaf: leaf * factor, agent.state))
    agent.trainer.step = 9
    return agent


GREEDY = {"learning_starts": 4, "batch_size": 4, "buffer_size": 99, "hidden": (8, 8)}
ALWAYS_GREEDY = GREEDY | {"exploration": EpsilonGreedy(epsilon=Linear(0.0, 0.0, 1), evaluation=0.0)}


@pytest.mark.parametrize("kind", [HGQN, DQN, BDQN, HGRainbow, DDPG])
def test_an_agent_that_has_diverged_says_so_and_does_not_act(kind):
    agent = diverged(kind(Watchful(), **(GREEDY if kind is DDPG else ALWAYS_GREEDY)), np.nan)
    observation = np.zeros(2, np.float32)
    for act in (
        lambda: agent.act(observation),
        lambda: agent.predict(observation, deterministic=False),
        lambda: agent.evaluate(Watchful(), 1),
        lambda: agent.learn(9),
    ):
        with pytest.raises(DivergedError, match="the agent has diverged: its values are not fini"):
            act()


def test_values_too_large_for_a_number_are_not_blamed_on_a_mask():
    agent = diverged(HGQN(Counting(with_mask=True), **TINY), 1e30)
    with pytest.raises(DivergedError):
        agent.act([3.0], np.ones(4, bool))
    with pytest.raises(ValueError, match="an action mask leaves no joint action") as error:
        agent.act([3.0], np.zeros(4, bool))
    assert not isinstance(error.value, DivergedError)


def test_noise_that_is_not_finite_reaches_no_environment():
    class Loud(OrnsteinUhlenbeck):
        def explore(self, explorer):
            return explorer.random_actions() * np.float32(np.nan)

    with pytest.raises(DivergedError):
        DDPG(Watchful(), exploration=Loud(), **GREEDY).learn(1)
