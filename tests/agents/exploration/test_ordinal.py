"""Noise on the sub-actions of a `Box` in bins."""

import numpy as np
import pytest

from hyperaction.agents.exploration import Ordinal
from hyperaction.agents.exploration.ordinal import PERIOD, nearest, pink_noise, positions
from hyperaction.agents.schedules import Linear
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.masks import as_mask
from tests.agents.exploration.test_epsilon import explorer_of, unavailable

FINE = Hypergraph.of_orders((200_001, 200_001), (1,))
MIDDLE = np.full((2, 2), 100_000, np.int32)


def test_actions_are_the_nearest_to_numbers():
    sizes = (2, 5, 9, 1)
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (300, 4))
    for point, action in zip(points, nearest(points, sizes), strict=True):
        for x, size, chosen in zip(point, sizes, action, strict=True):
            levels = np.linspace(-1.0, 1.0, size)
            assert chosen == np.argmin(np.abs(levels - x))
    for actions in ([0, 0, 0, 0], [1, 4, 8, 0], [1, 2, 3, 0]):
        np.testing.assert_array_equal(nearest(positions(np.array(actions), sizes), sizes), actions)
    np.testing.assert_allclose(positions(np.array([1, 3]), (2, 5)), [1.0, 0.5])


def test_the_power_of_pink_noise_falls_as_one_over_the_frequency():
    series = pink_noise(np.random.default_rng(0), 1000, 512)
    assert series.var() == pytest.approx(1.0, abs=0.05)
    powers = (np.abs(np.fft.rfft(series)) ** 2).mean(axis=0)[1:-1]
    slope = np.polyfit(np.log(np.arange(1, 256)), np.log(powers), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.03)
    np.testing.assert_allclose(np.corrcoef(series[:50]).mean(), 1 / 50, atol=0.05)


def noise_of(explorer, steps):
    """The noise that moved the middle of finely spaced actions, in units of its scale."""
    actions = [explorer.explore(step, None, lambda: MIDDLE) for step in range(steps)]
    return positions(np.stack(actions), FINE.sizes) / 0.1


def test_pink_noise_is_made_for_each_episode_and_when_it_is_used_up():
    explorer = explorer_of(Ordinal(noise="pink", scale=0.1), 2, FINE)
    found = noise_of(explorer, 3)
    series = explorer.memory["noise"].copy()
    np.testing.assert_allclose(found, np.moveaxis(series[..., :3], 2, 0), atol=1e-3)
    explorer.begin_episode(0)
    after = noise_of(explorer, 1)[0]
    assert (explorer.memory["noise"][0] != series[0]).all()
    np.testing.assert_allclose(after[0], explorer.memory["noise"][0, :, 0], atol=1e-3)
    np.testing.assert_allclose(after[1], series[1, :, 3], atol=1e-3)
    noise_of(explorer, PERIOD - 3)
    np.testing.assert_array_equal(explorer.memory["used"], [PERIOD - 2, 1])
    assert (explorer.memory["noise"][1] != series[1]).all()


def test_an_ornstein_uhlenbeck_process_has_its_scale_and_memory():
    explorer = explorer_of(Ordinal(noise="ou", scale=0.1, pull=0.3), 2, FINE)
    noise = noise_of(explorer, 4000)
    assert noise.std() == pytest.approx(1.0, abs=0.05)
    assert (noise[1:] * noise[:-1]).mean() / noise.var() == pytest.approx(0.7, abs=0.03)
    explorer.begin_episode(1)
    assert explorer.memory["noise"][0].all()
    assert not explorer.memory["noise"][1].any()


@pytest.mark.parametrize("noise", ["ou", "pink"])
def test_noise_begins_with_learning_and_follows_its_schedule(noise):
    exploration = Ordinal(noise=noise, scale=Linear(0.4, 0.0, 10))
    explorer = explorer_of(exploration, 2, FINE, learning_starts=100)
    drawn = explorer.explore(0, None, unavailable)
    assert np.abs(positions(drawn, FINE.sizes)).max() > 0.3
    assert (explorer.explore(105, None, lambda: MIDDLE) != MIDDLE).all()
    np.testing.assert_array_equal(explorer.explore(110, None, lambda: MIDDLE), MIDDLE)
    np.testing.assert_array_equal(explorer.evaluate(None, lambda: MIDDLE), MIDDLE)
    scales = [explorer.metrics(step)["noise_scale"] for step in (0, 100, 105, 999)]
    np.testing.assert_allclose(scales, [0.4, 0.4, 0.2, 0.0])


def test_a_forbidden_action_gives_way_to_the_greedy_one():
    explorer = explorer_of(Ordinal(scale=3.0), 2, FINE)
    masks = np.ones((2, sum(FINE.sizes)), bool)
    masks[0] = False
    masks[0, [100_000, 200_001 + 100_000]] = True
    actions = explorer.explore(0, as_mask(FINE, masks), lambda: MIDDLE)
    np.testing.assert_array_equal(actions[0], MIDDLE[0])
    assert (actions[1] != MIDDLE[1]).all()


def test_wrong_settings_are_refused():
    with pytest.raises(SettingError, match="scale must be at least 0, not linear:1:-1:9"):
        Ordinal(scale=Linear(1.0, -1.0, 9))
    with pytest.raises(SettingError, match="pull must be above 0 and at most 1, not 0"):
        Ordinal(pull=0.0)
    with pytest.raises(SettingError, match="noise: unknown name 'brown'; choose from ou, pink"):
        Ordinal(noise="brown")
