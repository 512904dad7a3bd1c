"""Agents in Python: callbacks, files, messages."""

import json
import warnings

import numpy as np
import pytest
from gymnasium import spaces

from hyperaction.agents.exploration import EpsilonGreedy
from hyperaction.agents.parts import to_dict
from hyperaction.agents.state_networks import MLPNetwork
from hyperaction.api import BDQN, DDPG, DQN, HGQN
from hyperaction.cli import main
from hyperaction.errors import SettingError
from hyperaction.training.callbacks import Callback
from tests.training.envs import TINY, Aiming, Climbing, Counting


def test_callbacks_are_called_and_can_stop():
    class Seen(Callback):
        def __init__(self):
            self.steps, self.episodes = 0, []

        def on_step(self, trainer):
            self.steps += 1

        def on_episode(self, trainer, episode):
            self.episodes.append(episode)
            return len(self.episodes) < 3

    seen, every = Seen(), []
    agent = HGQN(Counting(), **TINY).learn(100, [seen, lambda trainer: every.append(trainer)])
    assert agent.step == seen.steps == len(every) == 12
    assert [tuple(episode) for episode in seen.episodes] == [(4.0, 4)] * 3
    assert agent.learn(5).step == 17


@pytest.mark.parametrize("kind", [HGQN, BDQN, DDPG])
def test_a_saved_agent_acts_the_same(kind, tmp_path):
    small = {"hidden": (8, 8), "batch_size": 4, "learning_starts": 20}
    agent = kind(Aiming(), **small).learn(60)
    file = tmp_path / "new" / "agent.safetensors"
    agent.save(file)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    loaded, resumed = kind.load(file), kind.load(file, Aiming())
    observations = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    expected = agent.act(observations)
    assert expected.shape == (5, 2)
    np.testing.assert_array_equal(loaded.act(observations), expected)
    np.testing.assert_array_equal(resumed.act(observations[0]), expected[0])
    assert Aiming.action_space.contains(loaded.act(observations[0]))
    assert loaded.step == 60
    assert resumed.learn(30).step == 90
    with pytest.raises(ValueError, match="without an environment cannot learn"):
        loaded.learn(1)
    other = DQN if kind is not DQN else HGQN
    with pytest.raises(ValueError, match=f"holds the agent {kind.name}, not dqn"):
        other.load(file)
    with pytest.raises(ValueError, match=r"observation: it has shape \(3,\); expected is \(2,\)"):
        loaded.act(np.zeros(3))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ValueError, match="holds no agent"):
        kind.load(file)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: HGQN(Aiming(), learning_rat=1.0),  # type: ignore[call-arg]
            "unknown setting 'learning_rat'; did you mean 'learning_rate'",
        ),
        (lambda: DQN(Aiming(), rank=2), "dqn has only the hyperedge of all vertices"),
        (lambda: DDPG(Aiming(), rank=2), "ddpg has no hyperedges"),
        (lambda: HGQN(Aiming(), rank=2, edges=[(0, 1)]), "rank 2 and edges 0,1: give one"),
        (lambda: HGQN(Aiming(), preset="fast"), "unknown preset 'fast'; choose from physical"),  # type: ignore[arg-type]
        (lambda: HGQN(Blocked(), **TINY).learn(9), "leaves no joint action"),
        (lambda: DDPG(Masked()).learn(1), "ddpg cannot obey an action mask"),
        (lambda: HGQN(Counting(), **TINY).act([0.0], np.zeros(4)), "leaves no joint action"),
        (lambda: HGQN(Counting(), **TINY).evaluate(Aiming()), "takes observations of shape"),
        (lambda: HGQN(Counting(), **TINY).evaluate(Climbing()), "actions are not those of the"),
        (lambda: DDPG(Counting()), "ddpg acts in a Box of real numbers"),
        (lambda: HGQN(Aiming(), rank=3), "order 3 on 2 vertices"),
        (lambda: HGQN.load("nowhere"), "there is no file nowhere"),
    ],
)
def test_mistakes_in_python_name_the_argument(make, message):
    with pytest.raises(ValueError, match=message):
        make()


INTEGERS = {
    "rank": 2, "seed": 3, "bins": 3, "hidden": (8,), "batch_size": 4, "learning_starts": 6,
    "buffer_size": 50, "n_step": 2, "train_frequency": 2, "total_width": 4, "orders": (1,),
}  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (500, "to step 500 makes no updates, as learning starts after step 500"),
        (540, "to step 540 makes only 40 updates"),
    ],
)
def test_learning_warns_where_it_makes_few_updates_or_none(steps, message):
    agent = HGQN(Counting(), learning_starts=500, hidden=(8,))
    with pytest.warns(UserWarning, match=message):
        agent.learn(steps)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.learn(100)


def test_the_best_action_has_the_largest_value():
    agent = HGQN(Climbing(), **TINY, rank=2).learn(40)
    every = np.indices((3, 3)).reshape(2, -1).T
    for context in (np.float32([1.0]), np.float32([-1.0])):
        values = agent.q_value(np.tile(context, (9, 1)), every)
        np.testing.assert_array_equal(every[values.argmax()], agent.act(context))
        np.testing.assert_allclose(agent.q_value(context, every[4]), values[4], rtol=1e-5)
    with pytest.raises(ValueError, match="sub-action 3 of vertex 1 is out of range"):
        agent.q_value(context, [0, 3])
    with pytest.raises(SettingError, match="action has 9 rows for 1 observations"):
        agent.q_value(context, every)


def test_an_agent_learns_on_in_another_environment(tmp_path):
    agent = HGQN(Counting(), **TINY).learn(20)
    before = agent.act([3.0])
    agent.set_env(Counting(length=7))
    assert (agent.act([3.0]) == before).all()
    assert agent.learn(20).step == 40
    agent.save(tmp_path / "agent.safetensors")
    loaded = HGQN.load(tmp_path / "agent.safetensors").set_env(Counting())
    assert loaded.learn(5).step == 45
    with pytest.raises(ValueError, match="actions are not those of the environment"):
        agent.set_env(Climbing())


def test_an_agent_says_what_it_is():
    text = repr(HGQN(Counting(), **TINY, rank=2))
    assert text.startswith("HGQN(observations (1,), sub-actions 2 x 2, rank 2, 3 hyperedges, ")
    assert text.endswith(" weights, step 0)")
    assert "2 real actions" in repr(DDPG(Aiming(), hidden=(8, 8)))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("gamma", "discount"), ("lr", "learning_rate"), ("net_arch", "hidden"),
     ("train_freq", "train_frequency"), ("exploration_final_eps", "exploration.final")],
)  # fmt: skip
def test_names_of_other_libraries_are_understood_with_a_hint(theirs, ours, capsys):
    with pytest.raises(SettingError, match=f"'{theirs}'; it is called '{ours}' here"):
        HGQN(Counting(), **{theirs: 1})
    flag = f"--{theirs.replace('_', '-')}"
    assert main(["train", "CartPole-v1", flag, "1"]) != 0
    assert f"it is called --{ours.replace('_', '-')} here" in capsys.readouterr().err


def test_numbers_of_numpy_are_settings():
    one = {name: value for name, value in INTEGERS.items() if name != "orders"}
    numpy_s = {name: np.array(value, np.int64)[()] for name, value in one.items()}
    plain = HGQN(Aiming(), **one)
    given = HGQN(Aiming(), **numpy_s, learning_rate=np.float64(5e-4))
    assert to_dict(given.config) == to_dict(plain.config)
    json.dumps(to_dict(given.config))
    given.learn(np.int64(3), log_interval=np.int32(2))
    assert len(given.evaluate(Aiming(), np.int64(1), np.uint8(0))) == 1
    assert MLPNetwork(hidden=[np.int64(8)]) == MLPNetwork((8,))
    assert EpsilonGreedy(final=np.float32(0.5)) == EpsilonGreedy(final=0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HGQN(Aiming(), bins=2.5), "bins must be whole numbers, not 2.5"),  # type: ignore[arg-type]
        (lambda: HGQN(Aiming(), bins=10**8), "bins 100000000 of 2 dimensions make 200,000,000"),
        (lambda: HGQN(Aiming(), seed=0.5), "seed must be a whole number, at least 0, not"),  # type: ignore[arg-type]
        (lambda: HGQN(Aiming(), hidden=(10**6,) * 2), r"takes about [\d.]+ GB of memory .* hidden"),
        (lambda: HGQN(Aiming(), hidden=(2**63,)), "network.hidden must be below 2,147,483,648"),
        (lambda: HGQN(Aiming(), batch_size=np.float64(4)), "batch_size must be an integer"),  # type: ignore[arg-type]
    ],
)
def test_sizes_that_cannot_be_are_refused_at_once(call, message):
    with pytest.raises(SettingError, match=message):
        call()


def test_an_empty_batch_of_observations_needs_no_action():
    for agent in (HGQN(Aiming(), **TINY), DDPG(Aiming(), hidden=(4, 4))):
        for actions in (agent.act(np.zeros((0, 2))), agent.predict(np.zeros((0, 2)), None)[0]):
            assert actions.shape == (0, 2)
            assert actions.dtype == Aiming.action_space.dtype
    assert agent.predict(np.zeros((0, 2)), deterministic=False)[0].shape == (0, 2)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.array(True), "mask True: the mask has shape"),
        ("abcd", "mask abcd: the mask must hold zeros and ones"),
        ({"a": 1}, "unknown vertex 'a'"),
        (np.ones((2, 2)), "a row for each vertex; give a tuple of rows"),
        ([[1], [1, 0]], "the mask of vertex 0 has shape"),
    ],
)
def test_what_is_no_mask_is_refused(mask, message):
    agent = HGQN(Counting(), **TINY)
    with pytest.raises(SettingError, match=message) as error:
        agent.act([0.0], mask)
    assert "\n" not in str(error.value)
    with pytest.raises(SettingError, match=r"a row for each|1 rows for 2 observations"):
        agent.act([[0.0], [1.0]], [mask])
    with pytest.raises(ValueError, match="observation: it must be numbers"):
        agent.act(["a"])


class Blocked(Counting):
    """Allows nothing from the third step on."""

    @property
    def info(self):
        return {"action_mask": np.full(4, self.count % 100 < 2)}


class Masked(Aiming):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0], {"action_mask": np.ones(2, bool)}


@pytest.mark.parametrize("space", [spaces.Discrete(5), spaces.Dict({"a": spaces.Discrete(3)})])
def test_agents_act_on_observations_as_the_environment_gives_them(space):
    class Odd(Counting):
        observation_space = space

        def reset(self, *, seed=None, options=None):
            _, info = super().reset(seed=seed)
            return space.sample(), info

        def step(self, action):
            _, *others = super().step(action)
            return space.sample(), *others

    env = Odd()
    agent = HGQN(env, **TINY).learn(10)
    assert env.action_space.contains(agent.act(space.sample()))
