"""What the trainer stores and when it learns, in single environments and vectors."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hyperaction.api import HGQN, HGRainbow
from tests.training.envs import TINY, Counting


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


def test_several_updates_follow_a_step():
    env = Counting()
    agent = HGQN(env, train_frequency=2, gradient_steps=3, **TINY).learn(90)
    assert int(agent.state.optimiser.updates) == 3 * 41
    assert agent.trainer.updates_until(90) == 0
    assert agent.trainer.updates_until(100) == 3 * 5


def test_time_limits_bootstrap_and_terminations_do_not():
    ring = HGQN(Counting(), **TINY).learn(16).trainer.replay.ring
    last = ring.arrays.next_observation[:16, 0] % 100 == 4
    episode = ring.arrays.observation[:16, 0] // 100
    terminated = last & (episode % 2 == 1)
    np.testing.assert_allclose(ring.arrays.discount[:16], np.where(terminated, 0.0, 0.99))
    assert last.sum() == 4


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


def test_learning_waits_for_transitions_after_a_loss():
    agent = HGQN(Counting(), **TINY).learn(30)  # Learning starts after 8 transitions.
    for kept, waits in ((20, 0), (5, 3), (0, 8)):
        before = int(agent.state.optimiser.updates)
        agent.trainer.drop_replay_before({"replay": agent.step - kept})
        agent.learn(10)
        assert int(agent.state.optimiser.updates) == before + 10 - waits


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
