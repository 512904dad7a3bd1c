import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperaction import Hypergraph, native
from hyperaction.agents.ddpg import DDPGAgent
from hyperaction.agents.exploration import EpsilonGreedy, Noise, random_share
from hyperaction.agents.minibatch import Minibatch
from hyperaction.agents.optimisers import OPTIMISERS
from hyperaction.agents.presets import AGENTS, preset
from hyperaction.agents.settings import DDPGSettings, ValueSettings, _check_kind
from hyperaction.agents.value import ValueAgent
from hyperaction.losses import huber, squared, td_target


def agent_for(sizes=(3, 2), **changes):
    small = {"hidden": (16,), "total_width": 20, "orders": (1, 2)}
    settings = ValueSettings(**{**small, **changes})
    return ValueAgent(settings, settings.hypergraph(sizes), (4,))


def minibatch(agent, count=6, seed=0, weight=None):
    random = np.random.default_rng(seed)
    discount = np.where(np.arange(count) % 3 == 0, 0.0, 0.9).astype(np.float32)
    return Minibatch(
        jnp.asarray(random.normal(size=(count, 4)).astype(np.float32)),
        jnp.asarray(random.integers(agent.hypergraph.sizes, size=(count, 2)).astype(np.int32)),
        jnp.asarray(random.normal(size=count).astype(np.float32)),
        jnp.asarray(discount),
        jnp.asarray(random.normal(size=(count, 4)).astype(np.float32)),
        None,
        weight,
    )


@pytest.mark.parametrize(
    ("double", "mixer", "dueling"),
    [(False, "sum", False), (True, "sum", True), (True, "universal", False), (False, "qmix", True)],
)
def test_losses_equal_a_slow_reference(double, mixer, dueling):
    agent = agent_for(double=double, mixer=mixer, dueling=dueling)
    state = agent.start(jax.random.key(0))
    other = agent.start(jax.random.key(1)).online
    state = state._replace(target=other)
    batch = minibatch(agent)
    _, learned = jax.jit(agent.learn)(state, batch)
    every = [np.asarray(jax.jit(jax.vmap(n.q_values))(batch.next_observation)) for n in state[:2]]
    taken = jax.jit(jax.vmap(state.online))(batch.observation, batch.action)
    for row in range(6):
        values = [table[row] for table in every]
        best = values[1][values[0].argmax()] if double else values[1].max()
        target = batch.reward[row] + batch.discount[row] * best
        expected = (target - taken[row]) ** 2
        np.testing.assert_allclose(learned.losses[row], expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(learned.loss, learned.losses.mean(), rtol=1e-5)


@pytest.mark.parametrize("aim", ["mean", "max", "independent"])
@pytest.mark.parametrize(("double", "dueling"), [(False, False), (True, True)])
def test_branching_losses_equal_a_slow_reference(aim, double, dueling):
    agent = agent_for(orders=(1,), branching=aim, double=double, dueling=dueling)
    state = agent.start(jax.random.key(0))
    state = state._replace(target=agent.start(jax.random.key(1)).online)
    batch = minibatch(agent)
    _, learned = jax.jit(agent.learn)(state, batch)

    def vertices(network, observation):
        outputs = np.asarray(network.outputs(observation))
        tables = [outputs[part] for part in agent.hypergraph.slices]
        if not dueling:
            return tables
        hidden, value = network.value_stream
        base = value(jax.nn.relu(hidden(network.state_network(observation))))[0]
        return [table - table.mean() + base for table in tables]

    for row in range(6):
        chooser = state.online if double else state.target
        best = [table.argmax() for table in vertices(chooser, batch.next_observation[row])]
        judged = vertices(state.target, batch.next_observation[row])
        following = np.array([table[b] for table, b in zip(judged, best, strict=True)])
        next_values = {
            "mean": np.full(2, following.mean()),
            "max": np.full(2, following.max()),
            "independent": following,
        }[aim]
        targets = batch.reward[row] + batch.discount[row] * next_values
        tables = vertices(state.online, batch.observation[row])
        taken = np.array([t[a] for t, a in zip(tables, batch.action[row], strict=True)])
        expected = ((targets - taken) ** 2).mean()
        np.testing.assert_allclose(learned.losses[row], expected, rtol=1e-3, atol=1e-5)


def test_branching_needs_every_vertex_in_one_hyperedge():
    with pytest.raises(ValueError, match="every vertex must be in exactly one of them"):
        ValueSettings(orders=(1, 2), branching="mean").hypergraph((3, 2))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["adam", "rmsprop"])
def test_optimisers_step_as_in_tensorflow(name, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(native, "available", lambda: False)
    gradients = np.random.default_rng(0).normal(size=(5, 40, 3)) * 0.01
    ours = OPTIMISERS[name](0.1, 0.003)
    parameters = {"x": jnp.ones((40, 3)), "y": jnp.ones(())}
    state, update = ours.start(parameters), jax.jit(ours.update)
    by_hand, mean, square = np.ones((40, 3)), 0.0, 0.0 if name == "adam" else 1.0
    for count, gradient in enumerate(gradients, start=1):
        both = {"x": jnp.asarray(gradient, jnp.float32), "y": jnp.zeros(())}
        parameters, state = update(parameters, both, state)
        if name == "adam":  # Epsilon is added to the root of the uncorrected mean.
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.999 * square + 0.001 * gradient**2
            rate = 0.1 * np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
            by_hand = by_hand - rate * mean / (np.sqrt(square) + 0.003)
        else:  # The squares are centred and start at one, and epsilon is inside the root.
            mean = 0.95 * mean + 0.05 * gradient
            square = 0.95 * square + 0.05 * gradient**2
            by_hand = by_hand - 0.1 * gradient / np.sqrt(square - mean**2 + 0.003)
        np.testing.assert_allclose(parameters["x"], by_hand, rtol=1e-5)
    assert parameters["y"] == 1.0


@pytest.mark.parametrize("compiled", [True, False])
def test_rmsprop_survives_gradients_that_never_change(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(native, "available", lambda: False)
    ours = OPTIMISERS["rmsprop"](0.1, 1e-5)
    parameters = jnp.zeros(300)
    gradient = jnp.linspace(100.0, 1000.0, 300)
    state, update = ours.start(parameters), jax.jit(ours.update)
    for _ in range(600):
        parameters, state = update(parameters, gradient, state)
    assert np.isfinite(parameters).all()


def test_gradients_are_clipped_by_their_norm():
    ours = OPTIMISERS["rmsprop"](0.1, 0.003, gradient_clip=1.0)
    parameters = jnp.zeros(4)
    long, _ = ours.update(parameters, jnp.full(4, 100.0), ours.start(parameters))
    short, _ = ours.update(parameters, jnp.full(4, 0.5), ours.start(parameters))
    np.testing.assert_allclose(long, short, rtol=1e-6)


def test_ddpg_learns_by_its_two_gradients():
    settings = DDPGSettings(hidden=(8, 6), minibatch=6, polyak=0.25)
    agent = DDPGAgent(settings, 2, (4,))
    state = agent.start(jax.random.key(0))
    actions = np.random.default_rng(1).uniform(-1, 1, (6, 2)).astype(np.float32)
    batch = minibatch(agent_for())._replace(action=jnp.asarray(actions))
    new, learned = jax.jit(agent.learn)(state, batch)
    target = state.target
    for row in range(6):
        following = target.critic(
            batch.next_observation[row], target.actor(batch.next_observation[row])
        )
        aim = batch.reward[row] + batch.discount[row] * following
        value = state.online.critic(batch.observation[row], batch.action[row])
        np.testing.assert_allclose(learned.losses[row], (aim - value) ** 2, rtol=1e-3, atol=1e-6)

    def worth(actor):
        return sum(state.online.critic(o, actor(o)) for o in batch.observation)

    assert worth(new.online.actor) > worth(state.online.actor)
    old, online = (s.online.actor.layers[0].weight for s in (state, new))
    mixed = 0.75 * old + 0.25 * online
    np.testing.assert_allclose(new.target.actor.layers[0].weight, mixed, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="cannot obey an action mask"):
        agent.act(state, batch.observation[0], np.ones(2, bool))


def test_noise_wanders_or_is_drawn_anew():
    zeros = np.zeros((2, 3), np.float32)
    walks = {}
    for kind in ("ou", "gaussian"):
        settings = DDPGSettings(noise_kind=kind, noise=0.1, replay_start=64)
        noise = Noise(settings, 3, 2, np.random.default_rng(0))
        assert np.abs(noise.explore(0, None, lambda: zeros)).max() > 0.3  # Random at first.
        walks[kind] = np.stack([noise.explore(99, None, lambda: zeros) for _ in range(2000)])
        noise.restart(0)
        assert not noise.noise[0].any()
        assert noise.noise[1].any()
        np.testing.assert_array_equal(noise.evaluate(None, lambda: zeros), zeros)
    together = {kind: np.mean(walk[1:] * walk[:-1]) for kind, walk in walks.items()}
    assert together["ou"] / np.mean(walks["ou"] ** 2) == pytest.approx(0.85, abs=0.05)
    assert together["gaussian"] / np.mean(walks["gaussian"] ** 2) == pytest.approx(0.0, abs=0.05)


def test_each_environment_explores_by_itself():
    settings = ValueSettings(epsilon=0.5, epsilon_steps=1, replay_start=64)
    explorer = EpsilonGreedy(settings, settings.hypergraph((9, 9)), 4, np.random.default_rng(0))
    greedy = np.full((4, 2), -1, np.int32)
    chosen = np.stack([explorer.explore(1000, None, lambda: greedy) for _ in range(1000)])
    share = (chosen >= 0).all(axis=2).mean(axis=0)
    np.testing.assert_allclose(share, 0.5, atol=0.06)
    masks = np.zeros((4, 18), bool)
    masks[np.arange(4), np.arange(4)] = masks[:, 9:] = True
    allowed = explorer.explore(0, masks, lambda: greedy)
    np.testing.assert_array_equal(allowed[:, 0], np.arange(4))


def test_weights_scale_each_transitions_loss():
    agent = agent_for()
    state = agent.start(jax.random.key(0))
    weight = jnp.asarray([0.1, 0.2, 0.3, 0.4, 0.5, 1.0])
    _, learned = agent.learn(state, minibatch(agent, weight=weight))
    np.testing.assert_allclose(learned.loss, (weight * learned.losses).mean(), rtol=1e-5)


def test_targets_obey_masks():
    agent = agent_for(orders=(1,))
    state = agent.start(jax.random.key(0))
    batch = minibatch(agent)
    mask = jnp.asarray(np.random.default_rng(1).random((6, 5)) < 0.5).at[:, [0, 3]].set(True)
    _, learned = agent.learn(state, batch._replace(next_mask=mask))
    for row in range(6):
        values = np.asarray(state.target.q_values(batch.next_observation[row])).reshape(3, 2)
        legal = np.asarray(mask[row, :3])[:, None] & np.asarray(mask[row, 3:])[None]
        target = batch.reward[row] + batch.discount[row] * values[legal].max()
        value = state.online(batch.observation[row], batch.action[row])
        np.testing.assert_allclose(learned.losses[row], (target - value) ** 2, rtol=1e-3, atol=1e-5)
        assert legal[tuple(agent.act(state, batch.observation[row], mask[row]))]


def test_the_target_is_copied_or_mixed_in():
    agent = agent_for(learning_rate=0.1)
    state, _ = agent.learn(agent.start(jax.random.key(0)), minibatch(agent))
    old, new = state.target.blocks.biases, state.online.blocks.biases
    assert not np.allclose(old, new)
    np.testing.assert_array_equal(agent.copy_target(state).target.blocks.biases, new)
    mixing = agent_for(learning_rate=0.1, polyak=0.25)
    start = mixing.start(jax.random.key(0))
    mixed, _ = mixing.learn(start, minibatch(mixing))
    expected = 0.75 * start.target.blocks.biases + 0.25 * mixed.online.blocks.biases
    np.testing.assert_allclose(mixed.target.blocks.biases, expected, rtol=1e-5, atol=1e-7)


def test_losses_by_hand():
    assert td_target(jnp.float32(1.0), jnp.float32(0.5), jnp.float32(4.0)) == 3.0
    assert td_target(jnp.float32(1.0), jnp.float32(0.0), jnp.float32(-jnp.inf)) == 1.0
    assert squared(jnp.float32(-3.0)) == 9.0
    np.testing.assert_allclose([huber(jnp.float32(x)) for x in (0.5, -1, 3)], [0.125, 0.5, 2.5])


def test_exploration_falls_from_one_after_learning_starts():
    settings = AGENTS["hgqn"]
    shares = [random_share(settings, step) for step in (0, 10_000, 35_000, 60_000, 10**6)]
    np.testing.assert_allclose(shares, [1.0, 1.0, 0.525, 0.05, 0.05])


def test_presets_are_data():
    assert AGENTS["rainbow"].double
    assert AGENTS["dqn"].hypergraph((3, 2)) == Hypergraph((3, 2), [(0, 1)])
    modern = preset("hgqn", "modern")
    assert isinstance(modern, ValueSettings)
    assert isinstance(preset("bdqn", "modern"), ValueSettings)
    with pytest.raises(ValueError, match="--preset modern is for Q-learning agents"):
        preset("ddpg", "modern")
    changed = {
        f.name
        for f in dataclasses.fields(modern)
        if getattr(modern, f.name) != getattr(AGENTS["hgqn"], f.name)
    }
    assert changed == {
        "mixer", "layer_norm", "n_step", "loss", "learning_rate", "optimiser_epsilon",
        "gradient_clip", "polyak", "minibatch", "replay_size", "replay_start", "epsilon_steps",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"discount": 1.5}, "--discount 1.5 is not in 0 to 1"),
        ({"minibatch": 0}, "--minibatch 0 is below 1"),
        ({"replay_size": 3}, "--replay-size 3 is below --minibatch 64"),
        ({"replay_start": 3}, "--replay-start 3 is below --minibatch 64"),
        ({"learning_rate": -1.0}, "--learning-rate -1.0 is not above 0"),
        ({"polyak": 2.0}, "--polyak 2.0 is not in 0 to 1"),
        (
            {"branching": "mean", "mixer": "universal"},
            "mixes nothing, so --mixer stays sum or mean",
        ),
        ({"network": "cnn", "layer_norm": True}, "--layer-norm is for --network mlp"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ValueSettings(**changes)


@pytest.mark.parametrize(
    ("option", "value", "kind", "message"),
    [
        ("loss", "l1", Literal["mse", "huber"], "--loss 'l1' is not one of mse, huber"),
        ("hidden", 64, tuple[int, ...], "--hidden 64 is not a list of int"),
        ("hidden", (64, "a"), tuple[int, ...], "is not a list of int"),
        ("minibatch", 4.0, int, "--minibatch 4.0 is not of the kind int"),
        ("discount", "x", float, "--discount 'x' is not of the kind float"),
    ],
)
def test_settings_of_the_wrong_kind_are_refused(option, value, kind, message):
    with pytest.raises(ValueError, match=message):
        _check_kind(option, value, kind)


def test_hyperedges_can_be_given_by_hand():
    settings = ValueSettings(edges=("0", "1", "2", "0,2"))
    assert settings.hypergraph((3, 3, 2)) == Hypergraph((3, 3, 2), [(0,), (1,), (2,), (0, 2)])
    with pytest.raises(ValueError, match="vertices joined by commas, such as 0,3"):
        ValueSettings(edges=("0-1",)).hypergraph((3, 3))
