"""Epsilon-greedy, in each vertex by itself and over several steps."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from hyperaction.agents.exploration import EpsilonGreedy, Extended, Ordinal
from hyperaction.agents.exploration.base import Explorer
from hyperaction.agents.joint_actions import JointActions
from hyperaction.agents.schedules import Linear
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from tests.agents.exploration.masks import (
    ALL,
    GRAPH,
    entries_of,
    given_to_explorer,
    random_mask,
    slowly_allowed,
)


def explorer_of(exploration, num_envs, graph=GRAPH, learning_starts=0, seed=0):
    rng = np.random.default_rng(seed)
    return Explorer(exploration, num_envs, JointActions(graph), learning_starts, rng)


def constant(epsilon):
    return {"epsilon": Linear(epsilon, epsilon, 1)}


def unavailable():
    raise AssertionError("greedy actions are not needed here")


SUB_ACTIONS = np.array([True, False, True, True, True, False, True])
MASKS = {
    "none": None,
    "joint": random_mask(np.random.default_rng(0), 0.15)[0],
    "sub-actions": SUB_ACTIONS,
}


@pytest.mark.parametrize("kind", MASKS)
def test_each_vertex_explores_by_itself_given_the_others(kind):
    epsilon, mask = 0.4, MASKS[kind]
    entries = entries_of(mask) if kind == "sub-actions" else mask
    allowed = ALL if mask is None else slowly_allowed(entries)
    assert mask is None or 3 <= len(allowed) < len(ALL)
    greedy = allowed[0]
    expected = dict.fromkeys(allowed, 0.0)
    for free in itertools.product([False, True], repeat=3):
        chance = np.prod([epsilon if each else 1.0 - epsilon for each in free])
        fitting = [
            action
            for action in allowed
            if all(may or a == b for may, a, b in zip(free, action, greedy, strict=True))
        ]
        for action in fitting:
            expected[action] += chance / len(fitting)
    explorer = explorer_of(EpsilonGreedy(per_vertex=True, **constant(epsilon)), 8)
    masks = None if mask is None else np.tile(mask, (8, 1))
    rows = np.tile(np.int32(greedy), (8, 1))
    steps = [explorer.explore(0, given_to_explorer(masks), lambda: rows) for _ in range(500)]
    seen = [tuple(map(int, action)) for action in np.concatenate(steps)]
    assert set(seen) <= set(allowed)
    frequencies = [seen.count(action) for action in allowed]
    assert chisquare(frequencies, 4000 * np.array(list(expected.values()))).pvalue > 0.001


def test_all_vertices_explore_until_learning_starts():
    explorer = explorer_of(EpsilonGreedy(per_vertex=True), 500, learning_starts=9)
    actions = explorer.explore(0, None, unavailable)
    assert {tuple(action) for action in actions} == set(ALL)


EXPLORATIONS = [
    EpsilonGreedy(per_vertex=True, **constant(0.5)),
    Extended(**constant(0.3)),
    Extended(per_vertex=True, **constant(0.3)),
    Ordinal(scale=1.0),
]


@given(st.integers(0, 10**9), st.sampled_from(EXPLORATIONS))
@settings(max_examples=25, deadline=None)
def test_no_action_is_ever_one_that_a_joint_mask_forbids(seed, exploration):
    rng = np.random.default_rng(seed)
    explorer = explorer_of(exploration, 8, seed=seed)
    for step in range(5):
        drawn = [random_mask(rng) for _ in range(8)]
        masks = np.stack([mask for mask, _ in drawn])
        greedy = np.array([action for _, action in drawn], np.int32)
        actions = explorer.explore(step, given_to_explorer(masks), lambda greedy=greedy: greedy)
        for mask, action in zip(masks, actions, strict=True):
            assert tuple(action) in slowly_allowed(mask)


def test_a_greedy_action_that_is_none_is_not_hidden():
    nothing = np.full((8, 3), -1, np.int32)
    masks = np.ones((8, GRAPH.num_outputs), bool)
    for exploration in EXPLORATIONS[0], EXPLORATIONS[3]:
        for mask in None, masks:
            actions = explorer_of(exploration, 8).explore(
                0, given_to_explorer(mask), lambda: nothing
            )
            assert (actions < 0).any()


LARGE = Hypergraph.of_orders((10**6, 10**6), (1,))


def lengths_of_first_runs(actions):
    """For how many steps each series stays what it is at first."""
    stays = (actions == actions[0]).cumprod(axis=0)
    return stays.sum(axis=0)


@pytest.mark.parametrize("per_vertex", [False, True])
def test_durations_have_a_zeta_distribution(per_vertex):
    count, most = 3000, 9
    explorer = explorer_of(Extended(per_vertex=per_vertex, **constant(1.0)), count, LARGE)
    actions = np.stack([explorer.explore(step, None, unavailable) for step in range(most)])
    lengths = lengths_of_first_runs(actions)
    same = lengths[:, 0] == lengths[:, 1]
    assert same.all() if not per_vertex else 0.3 < same.mean() < 0.6
    n = np.arange(1.0, 10**6)
    chances = n**-2 / (n**-2).sum()
    expected = np.append(chances[: most - 1], chances[most - 1 :].sum())
    frequencies = np.bincount(lengths[:, 0], minlength=most + 1)[1:]
    assert chisquare(frequencies, count * expected).pvalue > 0.001


@pytest.mark.parametrize("per_vertex", [False, True])
def test_actions_begin_with_probability_epsilon_and_greedy_ones_come_between(per_vertex):
    explorer = explorer_of(Extended(per_vertex=per_vertex, **constant(0.2)), 4000, LARGE)
    greedy = np.full((4000, 2), 7, np.int32)
    first = explorer.explore(0, None, lambda: greedy) != 7
    np.testing.assert_allclose(first.mean(axis=0), 0.2, atol=0.03)
    np.testing.assert_allclose(first.all(axis=1).mean(), 0.04 if per_vertex else 0.2, atol=0.02)
    left = explorer.memory["left"] == 0
    ended = first & left
    after = explorer.explore(1, None, lambda: greedy) != 7
    np.testing.assert_allclose(after[ended].mean(), 0.2, atol=0.05)
    assert after[first & ~left].all()


def held(per_vertex, num_envs=2):
    """An explorer that holds actions for long and begins no others, and the actions."""
    exploration = Extended(exponent=1.01, per_vertex=per_vertex, epsilon=Linear(1.0, 0.0, 1))
    explorer = explorer_of(exploration, num_envs, seed=3)
    actions = explorer.explore(0, None, unavailable)
    assert (explorer.memory["left"] > 5).all()
    assert explorer.memory["left"].max() < 10_000
    return explorer, actions


@pytest.mark.parametrize("per_vertex", [False, True])
def test_what_is_held_ends_with_the_episode(per_vertex):
    explorer, actions = held(per_vertex)
    np.testing.assert_array_equal(explorer.explore(1, None, unavailable), actions)
    explorer.begin_episode(0)
    greedy = (actions + 1) % np.array(GRAPH.sizes)
    after = explorer.explore(2, None, lambda: greedy)
    np.testing.assert_array_equal(after, [greedy[0], actions[1]])


@pytest.mark.parametrize("per_vertex", [False, True])
def test_what_is_held_ends_when_a_mask_forbids_it(per_vertex):
    explorer, actions = held(per_vertex)
    masks = np.ones((2, GRAPH.num_outputs), bool)
    masks[1, GRAPH.indices(actions[1])[-1]] = False
    greedy = (actions + 1) % np.array(GRAPH.sizes)
    for step in (1, 2):
        after = explorer.explore(step, given_to_explorer(masks), lambda: greedy)
        np.testing.assert_array_equal(after, [actions[0], greedy[1]])
        masks[:] = True  # What has ended does not come back.


def test_wrong_settings_are_refused():
    with pytest.raises(SettingError, match="exponent must be above 1, not 1"):
        Extended(exponent=1.0)
    with pytest.raises(SettingError, match="per_vertex must be a boolean, not 1"):
        EpsilonGreedy(per_vertex=1)
