"""Grids of sub-actions that become finer while an agent learns."""

from dataclasses import dataclass

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction.agents.batch import Batch
from hyperaction.agents.growth import (
    AbstractGrowth,
    AdaptiveGrowth,
    LinearGrowth,
    interpolation,
    on_grid,
    on_level,
)
from hyperaction.agents.joint_actions import JointActions
from hyperaction.agents.restructure import interpolated
from hyperaction.api import HGQN, HGRainbow
from hyperaction.envs.vector import Single
from hyperaction.envs.wrapper import Factored
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.masks import as_mask
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.training.checkpoint import TrainerCheckpoints
from hyperaction.training.config import parse_train
from hyperaction.training.trainer import Trainer
from tests.agents.test_restructure import all_values, network_for
from tests.examples import examples
from tests.modules import called, numbers_of
from tests.training.envs import TINY, Aiming, Counting

LEVELS = (2, 3, 5)


class Masked(gymnasium.Env):
    """A Box whose masks forbid one of five sub-actions of the first dimension, or all but one."""

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.Box(-1.0, 1.0, (2,))

    def _seen(self):
        self.mask = np.ones(10, bool)
        self.mask[self.count % 5] = False
        if self.count % 7 == 6:  # Nothing on the coarse grids is left.
            self.mask[:5] = np.arange(5) == 1
        return np.array([np.sin(self.count)], np.float32), {"action_mask": self.mask}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self._seen()

    def step(self, action):
        place = round(2 * (action[0] + 1))
        assert self.mask[place]
        self.count += 1
        seen, info = self._seen()
        return seen, float(-abs(action[0] - seen[0])), False, self.count % 9 == 0, info


GROWING = {"bins": (3, 5), "grow": LinearGrowth(steps=24), "rank": 2, "mixer": "mean"}


def make(**changes):
    agent = HGQN(Masked(), **(TINY | GROWING | changes))
    return Trainer(agent.agent, lambda: Single(Factored(Masked(), agent.actions)), 0)


def advance(trainer, step):
    while trainer.step < step:
        trainer.advance()
    return trainer


def test_grids_are_nested_and_the_last_is_all():
    grids = [np.flatnonzero(on_grid((3, 5, 9), level)).tolist() for level in range(3)]
    assert grids == [[0, 4, 8], [0, 2, 4, 6, 8], list(range(9))]
    matrix = interpolation(on_grid((3, 5), 0))
    np.testing.assert_allclose(matrix @ [10.0, 0, 20.0, 0, 0], [10, 15, 20, 10, 0])


@settings(max_examples=examples(4))
@given(st.sampled_from([1, 2, 3]), st.sampled_from(["sum", "mean"]), st.integers(0, 5))
def test_growth_keeps_values_on_the_grid_and_the_best_of_them(rank, mixer, seed):
    hypergraph = Hypergraph.complete((5, 5, 5), rank)
    grid = on_grid((3, 5), 0)
    network = network_for(hypergraph, mixer, seed=seed)
    before = all_values(network).reshape(-1, 5, 5, 5)
    after = all_values(interpolated(network, grid)).reshape(-1, 5, 5, 5)
    coarse = np.ix_(range(len(before)), grid, grid, grid)
    np.testing.assert_allclose(after[coarse], before[coarse], rtol=1e-4, atol=1e-3)
    best = before[coarse].reshape(len(before), -1).max(axis=1)
    np.testing.assert_allclose(after.reshape(len(before), -1).max(axis=1), best, atol=1e-3)
    between = (after[:, 0] + after[:, 2]) / 2
    np.testing.assert_allclose(after[:, 1], between, rtol=1e-4, atol=1e-3)


def test_a_growing_run_resumed_is_the_run_that_never_stopped(tmp_path):
    whole, stores = make(), []
    for step in (10, 12, 16):
        advance(whole, step)
        (tmp_path / str(step)).mkdir()
        stores.append(Checkpoints(tmp_path / str(step), "id"))
        mark = {"metrics": {"bytes": 0, "sha256": "x"}}
        TrainerCheckpoints(stores[-1]).write(whole, mark, {})
    expected = advance(whole, 24).state_dict()
    assert [change["message"] for change in whole.changes] == [
        "step 12: 5 sub-actions per dimension instead of 3",
    ]
    for store in stores:
        checkpoint, problems = store.latest()
        assert not problems
        resumed = make()
        assert TrainerCheckpoints(store).restore(resumed, checkpoint)
        found = advance(resumed, 24).state_dict()
        assert found["structure"] == expected["structure"]
        for name, array in expected["agent"].items():
            np.testing.assert_array_equal(found["agent"][name], array, err_msg=name)


def test_only_sub_actions_of_the_level_are_taken_and_bootstrapped_from():
    trainer = advance(make(), 11)
    ring = trainer.replay.ring.arrays
    assert set(np.unique(ring.action[:11, 1])) == {0, 2, 4}
    # The first dimension takes others where its mask leaves nothing else.
    assert 1 in ring.action[:11, 0]
    seen = ring.observation[:5]
    acted = trainer.compiled.act(trainer.state, seen, None)
    assert set(np.unique(acted)) <= {0, 2, 4}
    agent, state = trainer.agent, trainer.state.tree
    target, grid = state.target, np.tile(on_grid((3, 5), 0), 2)
    batch = Batch(*trainer.replay.sample(4))._replace(next_mask=None)
    found = jax.jit(lambda state, batch: agent.update(state, batch)[1].losses)(state, batch)
    values = called(jax.vmap(target.q_values), batch.next_observation)
    on_it = [grid[a] and grid[5 + b] for a in range(5) for b in range(5)]
    best = np.asarray(values)[:, np.array(on_it)].max(axis=1)
    q = np.asarray(called(jax.vmap(state.online), batch.observation, batch.action))
    expected = (batch.reward + batch.discount * best - q) ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_hierarchical_values_do_not_change_when_the_grid_grows():
    settings = TINY | {"bins": (3, 5), "grow": "linear", "grow.steps": 40, "critics": 2}
    agent = HGQN(Aiming(), rank=2, hierarchical=True, quantiles=3, **settings)
    observation = np.array([0.3, -0.4], np.float32)
    agent.learn(19)
    values_of = numbers_of(lambda network: network.q_values(observation))
    before = values_of(agent.state.online)
    assert agent.trainer.agent.structure.level == 0
    agent.trainer.advance()
    assert agent.trainer.agent.structure.level == 1
    learned = values_of(agent.state.online)
    assert np.abs(learned - before).max() < 0.2  # One update apart, and no jump.
    agent.learn(20)
    with pytest.raises(SettingError, match="hierarchical is for action spaces that grow"):
        HGQN(Aiming(), hierarchical=True, **TINY)


def test_random_actions_are_drawn_from_what_the_level_leaves():
    grid = on_grid((3, 5), 0)
    draw = JointActions(Hypergraph.complete((5, 5), 1), grid).draw
    rng = np.random.default_rng(0)
    assert set(np.unique(draw(rng, 50, None))) == {0, 2, 4}
    mask = np.ones((50, 10), bool)
    mask[:, 2] = False
    mask[:, 5:] = np.arange(5) == 3
    given = as_mask(Hypergraph.complete((5, 5), 1), mask)
    drawn = draw(rng, 50, given)
    assert set(drawn[:, 0]) == {0, 4}
    assert set(drawn[:, 1]) == {3}
    assert (on_level(given, (5, 5), np.ones(5, bool)).rows == mask).all()


@dataclass(frozen=True)
class Sudden(AbstractGrowth):
    """A growth of one's own: all levels at once."""

    levels: tuple[int, ...] = ()

    def _is_due(self, step, level, returns):
        return step >= 12


def test_the_grid_grows_when_returns_stall():
    grow = AdaptiveGrowth(episodes=3, levels=(3, 5, 9))
    assert not grow.is_due(99, 0, [1, 2, 3, 1, 2])
    assert grow.is_due(99, 0, [1, 2, 3, 1, 2, 3])
    assert not grow.is_due(99, 0, [1, 2, 3, 2, 3, 4])
    assert not grow.is_due(99, 2, [1, 2, 3, 1, 2, 3])
    own = HGQN(Aiming(), **TINY, bins=LEVELS, grow=Sudden()).learn(14)
    assert [change["step"] for change in own.structure_changes] == [12, 13]
    agent = HGQN(Aiming(), **TINY, bins=LEVELS, grow="adaptive", episodes=5).learn(60)
    steps = [change["step"] for change in agent.structure_changes]
    # Episodes have one step: at the earliest, after ten of a level.
    assert 1 <= len(steps) <= 2
    assert steps[0] >= 10


def test_a_saved_agent_acts_on_its_level(tmp_path):
    agent = HGQN(Aiming(), **TINY, bins=LEVELS, grow="linear", **{"grow.steps": 300}).learn(20)
    agent.save(tmp_path / "agent")
    loaded = HGQN.load(tmp_path / "agent")
    seen = np.random.default_rng(0).uniform(-1, 1, (20, 2)).astype(np.float32)
    assert set(np.unique(loaded.act(seen)[:, 0])) <= {-2.0, 2.0}
    np.testing.assert_array_equal(loaded.act(seen), agent.act(seen))


@pytest.mark.parametrize(
    ("make_agent", "message"),
    [
        (lambda: HGQN(Aiming(), bins=(3, 4), grow="linear"), "bins 3 4: with grow, give two level"),
        (lambda: HGQN(Aiming(), grow="linear"), "bins 5: with grow, give two levels or more"),
        (lambda: HGQN(Counting(), bins=(3, 5), grow="linear"), "grow is for Box action spaces"),
        (lambda: HGRainbow(Aiming(), bins=(3, 5), grow="linear"), "heads.dueling cannot be"),
        (lambda: HGQN(Aiming(), bins=(3, 5), grow="linear", edges="auto"), "give one of them"),
        (lambda: parse_train(["CartPole-v1", "--bins", "3", "4", "--grow", "linear"]), "bins 3 4"),
    ],
)
@pytest.mark.filterwarnings("ignore:bins changes nothing")
def test_growth_that_makes_no_sense_is_refused(make_agent, message):
    with pytest.raises(ValueError, match=message):
        make_agent()


def test_the_command_line_has_the_levels_in_the_agents_settings():
    config = parse_train(["Pendulum-v1", "--bins", "3", "5", "9", "--grow", "adaptive",
                          "--grow.margin", "0.2"])  # fmt: skip
    assert config.agent_config.grow == AdaptiveGrowth(margin=0.2, levels=(3, 5, 9))
    assert config.make_env().sizes == (9,)
    assert config.as_dict()["settings"]["grow"]["levels"] == [3, 5, 9]
