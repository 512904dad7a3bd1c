"""Agents in Python: what they learn, in which environments, and what they report."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hyperaction.agents.targets import Polyak
from hyperaction.api import BDQN, DDPG, DQN, HGQN, HGRainbow, Rainbow
from hyperaction.training.callbacks import Callback

pytestmark = pytest.mark.usefixtures("shared_programs")


class Climbing(gymnasium.Env):
    """A contextual bandit whose best joint action needs its pair: one slip of it is punished.

    On average over the other vertex, the third sub-action of each is best, and so it is for any
    sum over single vertices; in the other context, sub-actions count backwards.
    """

    PAYOFF = np.array([[1.1, -3.0, 0.0], [-3.0, 0.7, 0.6], [0.0, 0.0, 0.5]])

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.MultiDiscrete([3, 3])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.context = self.np_random.choice([-1.0, 1.0])
        return np.array([self.context], np.float32), {}

    def step(self, action):
        payoff = self.PAYOFF if self.context > 0 else self.PAYOFF[::-1, ::-1]
        reward = float(payoff[tuple(action)])
        return np.array([self.context], np.float32), reward, True, False, {}


SMALL: dict[str, Any] = {
    "hidden": (32,), "total_width": 64, "learning_rate": 5e-3, "optimiser.epsilon": 1e-8,
    "learning_starts": 100, "interval": 50, "final": 1.0,
}  # fmt: skip


def without_interval(settings):
    """Targets that follow at every update are not copied at intervals."""
    copied = settings.get("target", "copy") == "copy"
    return settings if copied else {k: v for k, v in settings.items() if k != "interval"}


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        (HGQN, {"rank": 1}, 0.5),
        (HGQN, {"rank": 2}, 1.1),
        (DQN, {}, 1.1),
        (HGQN, {"rank": 2, "mixer": "universal"}, 1.1),
        (Rainbow, {}, 1.1),
        (HGRainbow, {"rank": 2}, 1.1),
        (HGQN, {"rank": 2, "layer_norm": True, "target": Polyak(0.05), "loss": "huber"}, 1.1),
        (BDQN, {"towards": "independent", "dueling": True, "double": True}, 0.5),
    ],
    ids=str,
)
def test_only_agents_that_see_pairs_climb(kind, changes, expected):
    agent = kind(Climbing(), **without_interval({**SMALL, **changes})).learn(1500)
    returns = [episode.total for episode in agent.evaluate(Climbing(), 200)]
    assert np.mean(returns) == pytest.approx(expected, abs=0.05)


class Aiming(gymnasium.Env):
    """The reward is how near each number of the action is to the observation's."""

    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 1.0]), dtype=np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.aim = self.np_random.uniform(-0.8, 0.8, 2)
        return self.aim.astype(np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        scaled = np.array([action[0] / 2.0, 2.0 * action[1] - 1.0])
        miss = float(((scaled - self.aim) ** 2).sum())
        return self.aim.astype(np.float32), -miss, True, False, {}


def test_ddpg_finds_the_aim():
    agent = DDPG(
        Aiming(), hidden=(64, 64), learning_starts=200, actor_learning_rate=1e-3, weight_decay=0.0,
        buffer_size=5000,
    )  # fmt: skip
    before = np.mean([episode.total for episode in agent.evaluate(Aiming(), 100)])
    agent.learn(2500)
    after = np.mean([episode.total for episode in agent.evaluate(Aiming(), 100)])
    assert before < -0.2
    assert after > -0.03


class Counting(gymnasium.Env):
    """Observations count the steps of an episode; it ends itself or is cut short in turns."""

    observation_space = spaces.Box(0, 1000, (1,))
    action_space = spaces.MultiDiscrete([2, 2])

    def __init__(self, length=4, with_mask=False):
        self.length, self.with_mask, self.episode = length, with_mask, 0

    @property
    def info(self):
        mask = np.ones(4, bool)
        mask[self.count % 2] = False
        return {"action_mask": mask} if self.with_mask else {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 100 * self.episode
        self.episode += 1
        return np.array([self.count], np.float32), self.info

    def step(self, action):
        if self.with_mask:
            assert action[0] != self.count % 2
        self.count += 1
        over = self.count % 100 == self.length
        terminated = over and self.episode % 2 == 0
        observation = np.array([self.count], np.float32)
        return observation, 1.0, terminated, over and not terminated, self.info


TINY: dict[str, Any] = {
    "hidden": (8,),
    "total_width": 8,
    "batch_size": 4,
    "learning_starts": 8,
    "buffer_size": 999,
}


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("with_mask", [False, True])
def test_vectors_store_what_single_environments_store(mode, with_mask):
    def stored(env, steps):
        agent = HGQN(env, n_step=2, **{**TINY, "learning_starts": 500}).learn(steps)
        ring = agent.trainer.replay.ring
        rows = zip(*(np.asarray(a[: len(ring)]).tolist() for a in ring.arrays if a is not None))  # noqa: B905
        # Actions are random, the rest is not.
        return sorted(str([row[0], *row[2:]]) for row in rows), agent.step

    single, _ = stored(Counting(with_mask=with_mask), 40)
    vector = SyncVectorEnv([lambda: Counting(with_mask=with_mask)] * 3, autoreset_mode=mode)
    several, steps = stored(vector, 120)
    assert steps in (120, 121, 122)
    assert set(several) == set(single)
    assert len(several) >= 3 * len(single) - 3


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_masks_hold_where_environments_end_at_different_times(mode):
    # Counting itself checks that no action is forbidden.
    lengths = [lambda: Counting(3, True), lambda: Counting(5, True), lambda: Counting(7, True)]
    agent = HGQN(SyncVectorEnv(lengths, autoreset_mode=mode), **TINY).learn(150)
    ring = agent.trainer.replay.ring
    forbidden = ring.arrays.next_observation[: len(ring), 0].astype(int) % 2
    expected = np.ones((len(ring), 4), bool)
    expected[np.arange(len(ring)), forbidden] = False
    np.testing.assert_array_equal(ring.arrays.next_mask[: len(ring)], expected)


def test_the_replay_ratio_does_not_depend_on_the_number_of_environments():
    updates = {}
    for count in (1, 3):
        env = SyncVectorEnv([Counting] * count, autoreset_mode=AutoresetMode.SAME_STEP)
        agent = HGQN(env, train_frequency=2, **TINY).learn(90)
        updates[count] = int(agent.state.optimiser.updates)
    assert updates == {1: 41, 3: 41}


def test_time_limits_bootstrap_and_terminations_do_not():
    ring = HGQN(Counting(), **TINY).learn(16).trainer.replay.ring
    last = ring.arrays.next_observation[:16, 0] % 100 == 4
    episode = ring.arrays.observation[:16, 0] // 100
    terminated = last & (episode % 2 == 1)
    np.testing.assert_allclose(ring.arrays.discount[:16], np.where(terminated, 0.0, 0.99))
    assert last.sum() == 4


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
    with pytest.raises(ValueError, match=r"shape \(2,\), this one has \(3,\)"):
        loaded.act(np.zeros(3))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ValueError, match="holds no agent"):
        kind.load(file)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: HGQN(Aiming(), learning_rat=1.0),
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


class Blocked(Counting):
    """Allows nothing from the third step on."""

    @property
    def info(self):
        return {"action_mask": np.full(4, self.count % 100 < 2)}


class Masked(Aiming):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0], {"action_mask": np.ones(2, bool)}


class Reused(Counting):
    """Gives the same array again and again, with other numbers in it."""

    def reset(self, *, seed=None, options=None):
        self.shared = super().reset(seed=seed)[0]
        return self.shared, {}

    def step(self, action):
        observation, *others = super().step(action)
        self.shared[:] = observation
        return self.shared, *others


def test_environments_may_use_one_array_for_all_observations():
    ring = HGQN(Reused(), **TINY).learn(12).trainer.replay.ring
    seen, following = ring.arrays.observation[:12, 0], ring.arrays.next_observation[:12, 0]
    np.testing.assert_array_equal(following, seen + 1)


def test_learning_waits_for_transitions_over_many_steps():
    agent = HGQN(Counting(length=99), n_step=30, **TINY).learn(40)
    assert int(agent.state.optimiser.updates) == 40 - 32


class TwoSteps(gymnasium.Env):
    """The first action leads to one of two rooms; only there is a reward."""

    observation_space = spaces.Box(0, 2, (1,))
    action_space = spaces.MultiDiscrete([2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.room = 0
        return np.array([0.0], np.float32), {}

    def step(self, action):
        reward, over = (0.0, False) if self.room == 0 else (float(self.room == 2), True)
        self.room = 1 + int(action[0])
        return np.array([self.room % 3], np.float32), reward, over, False, {}


@pytest.mark.parametrize(
    "changes",
    [
        {"interval": 50},
        {"target": "polyak", "rate": 0.05},
        {"n_step": 2, "optimiser": "rmsprop", "optimiser.epsilon": 1e-5},
    ],
)
def test_values_travel_back_through_the_target_network(changes):
    agent = HGQN(TwoSteps(), **without_interval({**SMALL, "discount": 0.5, **changes})).learn(1500)
    online = agent.state.online
    values = [float(online(np.array([0.0], np.float32), np.array([a]))) for a in (0, 1)]
    np.testing.assert_allclose(values, [0.0, 0.5], atol=0.07)


def test_priorities_are_the_roots_of_the_losses(monkeypatch):
    agent = HGRainbow(Counting(), **TINY).learn(40)
    trainer = agent.trainer
    updates = []
    update_and_act = trainer.compiled.update_and_act

    def noted(*args):
        found = update_and_act(*args)
        updates.append((args[1], found[1]))
        return found

    monkeypatch.setattr(trainer.compiled, "update_and_act", noted)
    before = trainer.replay.priorities.priorities.copy()
    new = trainer.replay.ring.added % trainer.replay.ring.capacity
    agent.learn(1)
    ((batch, info),) = updates
    after = trainer.replay.priorities.priorities
    changed = np.flatnonzero(after != before)
    roots = np.sqrt(np.asarray(info.losses) + 1e-10)
    for slot in changed:
        assert slot == new or np.isclose(after[slot], roots, rtol=1e-6).any()
    assert 0 < len(changed) <= TINY["batch_size"] + 1
    slots = [int(np.flatnonzero(trainer.replay.ring.arrays.observation[:, 0] == o)[0])
              for o in batch.observation[:, 0]]  # fmt: skip
    before[new] = before.max()  # What is new is as important as anything.
    slow = 1 / np.sqrt(before[slots] / before.sum())
    np.testing.assert_allclose(batch.weight, slow / slow.max(), rtol=1e-5)


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
