from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperaction import Hypergraph, kernels
from hyperaction.agents.batch import Batch
from hyperaction.agents.config import DDPGConfig, QLearningConfig
from hyperaction.agents.optimisers import OPTIMISERS
from hyperaction.agents.parts import to_dict, with_changes
from hyperaction.agents.presets import AGENTS, config_for
from hyperaction.agents.schedules import Linear
from hyperaction.errors import SettingError
from hyperaction.losses import huber, squared, td_target
from hyperaction.runs.directory import flat_settings


@cache
def compiled(agent):
    return jax.jit(agent.init), jax.jit(agent.update)


def init(agent, seed=0):
    return compiled(agent)[0](jax.random.key(seed))


def update(agent, state, batch):
    return compiled(agent)[1](state, batch)


@jax.jit
def outputs_of(network, observation):
    return network.outputs(observation)


@jax.jit
def value_of(network, observation):
    hidden, value = network.value_stream
    return value(jax.nn.relu(hidden(network.state_network(observation))))[0]


@jax.jit
def criticised(networks, observation, action=None):
    """The value of an action, by default that of the policy."""
    action = networks.actor(observation) if action is None else action
    return networks.critic(observation, action)


def agent_for(sizes=(3, 2), **changes):
    small = {"hidden": (16,), "total_width": 20, "orders": (1, 2)}
    return with_changes(QLearningConfig(), {**small, **changes}).build(sizes, (4,))


def batch_for(agent, count=6, seed=0, weight=None):
    random = np.random.default_rng(seed)
    discount = np.where(np.arange(count) % 3 == 0, 0.0, 0.9).astype(np.float32)
    return Batch(
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
    state = init(agent)
    other = init(agent, 1).online
    state = state._replace(target=other)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)
    every = [np.asarray(jax.jit(jax.vmap(n.q_values))(batch.next_observation)) for n in state[:2]]
    taken = jax.jit(jax.vmap(state.online))(batch.observation, batch.action)
    for row in range(6):
        values = [table[row] for table in every]
        best = values[1][values[0].argmax()] if double else values[1].max()
        target = batch.reward[row] + batch.discount[row] * best
        expected = (target - taken[row]) ** 2
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(info.loss, info.losses.mean(), rtol=1e-5)


@pytest.mark.parametrize("towards", ["mean", "max", "independent"])
@pytest.mark.parametrize(("double", "dueling"), [(False, False), (True, True)])
def test_branching_losses_equal_a_slow_reference(towards, double, dueling):
    agent = agent_for(
        orders=(1,), objective="branching", towards=towards, double=double, dueling=dueling
    )
    state = init(agent)
    state = state._replace(target=init(agent, 1).online)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)

    def vertices(network, observation):
        outputs = np.asarray(outputs_of(network, observation))
        tables = [outputs[part] for part in agent.hypergraph.slices]
        if not dueling:
            return tables
        base = value_of(network, observation)
        return [table - table.mean() + base for table in tables]

    for row in range(6):
        chooser = state.online if double else state.target
        best = [table.argmax() for table in vertices(chooser, batch.next_observation[row])]
        evaluated = vertices(state.target, batch.next_observation[row])
        following = np.array([table[b] for table, b in zip(evaluated, best, strict=True)])
        next_values = {
            "mean": np.full(2, following.mean()),
            "max": np.full(2, following.max()),
            "independent": following,
        }[towards]
        targets = batch.reward[row] + batch.discount[row] * next_values
        tables = vertices(state.online, batch.observation[row])
        taken = np.array([t[a] for t, a in zip(tables, batch.action[row], strict=True)])
        expected = ((targets - taken) ** 2).mean()
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)


def test_branching_needs_every_vertex_in_one_hyperedge():
    with pytest.raises(ValueError, match="every vertex must be in exactly one of them"):
        agent_for(orders=(1, 2), objective="branching")


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["adam", "rmsprop"])
def test_optimisers_step_as_in_tensorflow(name, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(kernels, "available", lambda: False)
    gradients = np.random.default_rng(0).normal(size=(5, 40, 3)) * 0.01
    ours = OPTIMISERS[name](0.1, 0.003)
    parameters = {"x": jnp.ones((40, 3)), "y": jnp.ones(())}
    state, update = ours.init(parameters), jax.jit(ours.update)
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
        monkeypatch.setattr(kernels, "available", lambda: False)
    ours = OPTIMISERS["rmsprop"](0.1, 1e-5)
    parameters = jnp.zeros(300)
    gradient = jnp.linspace(100.0, 1000.0, 300)
    state, update = ours.init(parameters), jax.jit(ours.update)
    for _ in range(600):
        parameters, state = update(parameters, gradient, state)
    assert np.isfinite(parameters).all()


def test_gradients_are_clipped_by_their_norm():
    ours = OPTIMISERS["rmsprop"](0.1, 0.003, gradient_clip=1.0)
    parameters = jnp.zeros(4)
    long, _ = ours.update(parameters, jnp.full(4, 100.0), ours.init(parameters))
    short, _ = ours.update(parameters, jnp.full(4, 0.5), ours.init(parameters))
    np.testing.assert_allclose(long, short, rtol=1e-6)


def test_ddpg_learns_by_its_two_gradients():
    config = with_changes(DDPGConfig(hidden=(8, 6), batch_size=6), {"target.rate": 0.25})
    agent = config.build((1, 1), (4,))
    state = init(agent)
    actions = np.random.default_rng(1).uniform(-1, 1, (6, 2)).astype(np.float32)
    batch = batch_for(agent_for())._replace(action=jnp.asarray(actions))
    new, info = update(agent, state, batch)
    for row in range(6):
        following = criticised(state.target, batch.next_observation[row])
        target_value = batch.reward[row] + batch.discount[row] * following
        value = criticised(state.online, batch.observation[row], batch.action[row])
        np.testing.assert_allclose(
            info.losses[row], (target_value - value) ** 2, rtol=1e-3, atol=1e-6
        )

    def worth(actor):
        return sum(criticised(state.online._replace(actor=actor), o) for o in batch.observation)

    assert worth(new.online.actor) > worth(state.online.actor)
    old, online = (s.online.actor.layers[0].weight for s in (state, new))
    mixed = 0.75 * old + 0.25 * online
    np.testing.assert_allclose(new.target.actor.layers[0].weight, mixed, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="cannot obey an action mask"):
        agent.act(state, batch.observation[0], np.ones(2, bool))


def test_noise_wanders_or_is_drawn_anew():
    zeros = np.zeros((2, 3), np.float32)
    walks = {}
    for name in ("ou", "gaussian"):
        config = with_changes(
            DDPGConfig(learning_starts=64), {"exploration": name, "exploration.scale": 0.1}
        )
        explorer = config.build((1, 1, 1), (4,)).explorer(2, np.random.default_rng(0))
        assert np.abs(explorer.explore(0, None, lambda: zeros)).max() > 0.3  # Random at first.
        walks[name] = np.stack([explorer.explore(99, None, lambda: zeros) for _ in range(2000)])
        explorer.begin_episode(0)
        assert not explorer.memory["noise"][0].any()
        assert explorer.memory["noise"][1].any()
        np.testing.assert_array_equal(explorer.evaluate(None, lambda: zeros), zeros)
    products = {name: np.mean(walk[1:] * walk[:-1]) for name, walk in walks.items()}
    assert products["ou"] / np.mean(walks["ou"] ** 2) == pytest.approx(0.85, abs=0.05)
    assert products["gaussian"] / np.mean(walks["gaussian"] ** 2) == pytest.approx(0.0, abs=0.05)


def test_an_explorer_that_is_restored_explores_as_the_first_does():
    greedy = np.zeros((2, 2), np.float32)
    agent = DDPGConfig(learning_starts=64).build((1, 1), (4,))
    one, other = (agent.explorer(2, np.random.default_rng(seed)) for seed in (0, 1))
    one.explore(99, None, lambda: greedy)
    other.load_state_dict(one.state_dict())
    chosen = [each.explore(100, None, lambda: greedy) for each in (one, other)]
    np.testing.assert_array_equal(*chosen)


def test_each_environment_explores_by_itself():
    agent = agent_for((9, 9), final=0.5, decay_steps=1, learning_starts=64, orders=(1,))
    explorer = agent.explorer(4, np.random.default_rng(0))
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
    state = init(agent)
    weight = jnp.asarray([0.1, 0.2, 0.3, 0.4, 0.5, 1.0])
    _, info = update(agent, state, batch_for(agent, weight=weight))
    np.testing.assert_allclose(info.loss, (weight * info.losses).mean(), rtol=1e-5)


def test_targets_obey_masks():
    agent = agent_for(orders=(1,))
    state = init(agent)
    batch = batch_for(agent)
    mask = jnp.asarray(np.random.default_rng(1).random((6, 5)) < 0.5).at[:, [0, 3]].set(True)
    _, info = update(agent, state, batch._replace(next_mask=mask))
    every = np.asarray(jax.jit(jax.vmap(state.target.q_values))(batch.next_observation))
    taken = jax.jit(jax.vmap(state.online))(batch.observation, batch.action)
    chosen = jax.jit(jax.vmap(partial(agent.act, state)))(batch.observation, mask)
    for row in range(6):
        values = every[row].reshape(3, 2)
        legal = np.asarray(mask[row, :3])[:, None] & np.asarray(mask[row, 3:])[None]
        target = batch.reward[row] + batch.discount[row] * values[legal].max()
        expected = (target - taken[row]) ** 2
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)
        assert legal[tuple(np.asarray(chosen[row]))]


def test_the_target_is_copied_or_mixed_in():
    agent = agent_for(learning_rate=0.1)
    state, _ = update(agent, init(agent), batch_for(agent))
    old, new = state.target.blocks.biases, state.online.blocks.biases
    assert not np.allclose(old, new)
    np.testing.assert_array_equal(agent.update_target(state).target.blocks.biases, new)
    mixing = agent_for(learning_rate=0.1, target="polyak", rate=0.25)
    start = init(mixing)
    mixed, _ = update(mixing, start, batch_for(mixing))
    expected = 0.75 * start.target.blocks.biases + 0.25 * mixed.online.blocks.biases
    np.testing.assert_allclose(mixed.target.blocks.biases, expected, rtol=1e-5, atol=1e-7)


def test_losses_by_hand():
    assert td_target(jnp.float32(1.0), jnp.float32(0.5), jnp.float32(4.0)) == 3.0
    assert td_target(jnp.float32(1.0), jnp.float32(0.0), jnp.float32(-jnp.inf)) == 1.0
    assert squared(jnp.float32(-3.0)) == 9.0
    np.testing.assert_allclose([huber(jnp.float32(x)) for x in (0.5, -1, 3)], [0.125, 0.5, 2.5])


def epsilons(config, *steps):
    explorer = config.build((3, 2), (4,)).explorer(1, np.random.default_rng(0))
    return [explorer.metrics(step)["epsilon"] for step in steps]


def test_epsilon_falls_from_one_after_learning_starts():
    config = AGENTS["hgqn"]
    found = epsilons(config, 0, 10_000, 35_000, 60_000, 10**6)
    np.testing.assert_allclose(found, [1.0, 1.0, 0.525, 0.05, 0.05])
    schedule = Linear.parse("linear:0.5:0.1:100")
    found = epsilons(with_changes(config, {"exploration.epsilon": schedule}), 0, 10_050, 10**6)
    np.testing.assert_allclose(found, [0.5, 0.3, 0.1])


def test_the_learning_rate_can_be_a_schedule_over_updates():
    gradient, steps = jnp.ones(4), {}
    for rate in (0.1, Linear(0.1, 0.0, 2)):
        ours, parameters = OPTIMISERS["adam"](rate), jnp.zeros(4)
        state, before = ours.init(parameters), 0.0
        steps[rate] = []
        for _ in range(4):
            parameters, state = jax.jit(ours.update)(parameters, gradient, state)
            steps[rate].append(float(parameters[0]) - before)
            before = float(parameters[0])
    constant, falling = steps.values()
    share = np.array([1.0, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(falling, share * constant, rtol=1e-4, atol=1e-7)


def test_presets_are_data():
    assert AGENTS["rainbow"].objective.double
    assert AGENTS["dqn"].hypergraph((3, 2)) == Hypergraph((3, 2), [(0, 1)])
    modern = config_for("hgqn", "modern")
    assert isinstance(modern, QLearningConfig)
    assert isinstance(config_for("bdqn", "modern"), QLearningConfig)
    with pytest.raises(ValueError, match="preset modern is for Q-learning agents"):
        config_for("ddpg", "modern")
    before, now = (flat_settings(to_dict(config)) for config in (AGENTS["hgqn"], modern))
    assert {name for name in now if now[name] != before.get(name)} == {
        "mixer", "network.layer_norm", "n_step", "objective.loss", "optimiser.learning_rate",
        "optimiser.epsilon", "optimiser.gradient_clip", "target", "target.rate", "batch_size",
        "buffer_size", "learning_starts", "exploration.decay_steps",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"discount": 1.5}, "`discount` must be from 0 to 1, not 1.5"),
        ({"batch_size": 0}, "`batch_size` must be at least 1, not 0"),
        ({"buffer_size": 3}, "`buffer_size` 3 must be at least `batch_size`, 64"),
        ({"learning_starts": 3}, "`learning_starts` 3 must be at least `batch_size`, 64"),
        ({"learning_rate": -1.0}, "`optimiser.learning_rate` must be above 0, not -1.0"),
        ({"target": "polyak", "rate": 2.0}, "`target.rate` must be above 0 and at most 1, not 2.0"),
        ({"interval": 0}, "`target.interval` must be at least 1, not 0"),
        ({"objective": "branching", "mixer": "universal"}, "`mixer` must stay sum or mean"),
        ({"network": "cnn", "layer_norm": True}, "unknown setting 'layer_norm'"),
        ({"objective.loss": "l1"}, "`objective.loss`: unknown name 'l1'; choose from mse, huber"),
        ({"hidden": 64}, "`network.hidden` must be a list of integers, not 64"),
        ({"hidden": (64, "a")}, "`network.hidden` must be a list of integers"),
        ({"hidden": (0,)}, "`network.hidden` must be at least 1, not 0"),
        ({"batch_size": 4.0}, "`batch_size` must be an integer, not 4.0"),
        ({"discount": "x"}, "`discount` must be a number, not 'x'"),
        ({"discount": float("nan")}, "`discount` must be finite, not nan"),
        ({"prioritised": 1}, "`prioritised` must be a boolean, not 1"),
        ({"learning_rate": "fast"}, "`optimiser.learning_rate` must be number or Linear, not 'f"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(SettingError) as error:
        with_changes(QLearningConfig(), changes)
    assert message in error.value.template
    assert str(error.value) == error.value.template.replace("`", "")


def test_ddpg_refuses_what_it_has_no_use_for():
    with pytest.raises(ValueError, match="prioritised is not for ddpg"):
        DDPGConfig(prioritised=True)
    with pytest.raises(ValueError, match="hidden needs at least two layers"):
        DDPGConfig(hidden=(8,))


def test_hyperedges_can_be_given_by_hand():
    config = QLearningConfig(edges=("0", "1", "2", "0,2"))
    assert config.hypergraph((3, 3, 2)) == Hypergraph((3, 3, 2), [(0,), (1,), (2,), (0, 2)])
    with pytest.raises(ValueError, match="vertices joined by commas, such as 0,3"):
        QLearningConfig(edges=("0-1",)).hypergraph((3, 3))
