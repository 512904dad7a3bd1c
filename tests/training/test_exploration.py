"""Explorations in training: what the network computes for them, resuming, and refusals."""

from dataclasses import dataclass
from functools import partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from scipy.stats import chisquare

from hyperaction import DDPG, HGQN, AbstractExploration, Boltzmann, Disagreement, Ordinal
from hyperaction.agents.schedules import Linear
from hyperaction.cli import main
from hyperaction.errors import SettingError
from hyperaction.maximise.masks import as_mask
from hyperaction.runs import read_arrays
from hyperaction.training.config import parse_train
from tests.agents.samples import agent_for, init
from tests.killing import KilledError, Killer, metrics, train_in
from tests.modules import called
from tests.training.envs import TINY, Aiming, Climbing, Counting


def test_joint_actions_come_as_often_as_the_exponentials_of_their_values():
    count, temperature = 4000, 0.05
    agent = agent_for(exploration=Boltzmann(temperature), dueling=True, learning_starts=64)
    network, explorer = init(agent).online, agent.explorer(count, np.random.default_rng(0))
    observation = np.array([1.0, -2.0, 0.5, 3.0], np.float32)
    values = np.asarray(called(network.q_values, observation), np.float64)
    act = jax.jit(
        jax.vmap(
            lambda mask, inputs: agent.config.exploration.act(network, observation, mask, inputs)
        )
    )
    for allowed in (np.ones((3, 2), bool), np.array([[1, 0], [0, 1], [1, 1]], bool)):
        masks = np.ones((count, agent.hypergraph.num_outputs), bool)
        masks[:, -6:] = allowed.ravel()  # The last hyperedge is the pair.
        exponentials = np.where(allowed.ravel(), np.exp((values - values.max()) / temperature), 0.0)
        chances = exponentials / exponentials.sum()
        assert chances.max() > 2 * chances[chances > 0].min()
        actions = np.asarray(act(as_mask(agent.hypergraph, masks), explorer.inputs(100)))
        frequencies = np.bincount(actions @ [2, 1], minlength=6)
        assert not frequencies[chances == 0].any()
        seen = chances > 0
        assert chisquare(frequencies[seen], count * chances[seen]).pvalue > 0.001


def test_a_temperature_follows_its_schedule_and_zero_is_greedy():
    agent = HGQN(Climbing(), exploration=Boltzmann(Linear(2.0, 0.0, 10)), **TINY)
    explorer = agent.agent.explorer(3, np.random.default_rng(0))
    found = [explorer.metrics(step)["exploration_temperature"] for step in (0, 8, 13, 99)]
    np.testing.assert_allclose(found, [2.0, 2.0, 1.0, 0.0])
    assert explorer.inputs(13)["temperature"].tolist() == [1.0] * 3
    observations = np.linspace(-1.0, 1.0, 300, dtype=np.float32)[:, None]
    greedy = agent.act(observations)
    for step, expected in ((0, 1 / 9), (10, 1 / 9), (99, 1.0)):
        agent.trainer.step = step
        actions, _ = agent.predict(observations, deterministic=False)
        assert (actions == greedy).all(axis=1).mean() == pytest.approx(expected, abs=0.1)


@dataclass(frozen=True)
class Scripted(AbstractExploration):
    """Takes the actions of the inputs: those of the step's number."""

    def inputs(self, explorer):
        return {"action": np.array([[explorer.step % 2, explorer.step // 2 % 2]], np.int32)}

    def act(self, network, observation, mask, inputs):
        return inputs["action"]

    def explore(self, explorer):
        return explorer.greedy()


@pytest.mark.parametrize("overlap", [False, True])
def test_actions_are_computed_from_the_inputs_of_their_step(overlap):
    agent = HGQN(Counting(), exploration=Scripted(), overlap=overlap, **TINY).learn(20)
    steps = np.arange(20)
    actions = agent.trainer.replay.ring.arrays.action[:20]
    np.testing.assert_array_equal(actions, np.stack([steps % 2, steps // 2 % 2], axis=1))


@pytest.mark.parametrize("by", ["bound", "critic"])
def test_critics_that_disagree_are_followed(by):
    agent = agent_for(critics=3, exploration=Disagreement(by=by, bonus=2.0), mixer="mean")
    network = init(agent).online
    explorer = agent.explorer(40, np.random.default_rng(0))
    observation, inputs = np.array([1.0, -2.0, 0.5, 3.0], np.float32), explorer.inputs(99_999)
    rows = np.asarray(network.critics_outputs(observation))
    act = jax.jit(jax.vmap(partial(agent.config.exploration.act, network, observation, None)))
    for number, action in enumerate(np.asarray(act(inputs))):
        table = rows.mean(axis=0) + 2.0 * rows.std(axis=0)
        if by == "critic":
            table = rows[explorer.memory["critic"][number] % 3]
        every = agent.hypergraph.all_actions()
        values = agent.hypergraph.representation(table, every).sum(axis=-1)
        np.testing.assert_array_equal(action, every[values.argmax()])
    before = explorer.memory["critic"].copy()
    explorer.begin_episode(7)
    assert np.flatnonzero(before != explorer.memory["critic"]).tolist() == [7]


def test_the_policy_of_the_objective_is_what_it_draws_from():
    settings = {"objective": "soft", "target_entropy": 0.4, "temperature_rate": 0.05}
    agent = agent_for(exploration="policy", **settings)
    state = init(agent)
    count = 4000
    state = state._replace(memory=state.memory | {"log_temperature": jnp.log(0.07)})
    observation = np.array([1.0, -2.0, 0.5, 3.0], np.float32)
    inputs = agent.explorer(count, np.random.default_rng(0)).inputs(99_999)
    act = jax.jit(jax.vmap(partial(agent.act, state, observation, None)))
    frequencies = np.bincount(np.asarray(act(inputs)) @ [2, 1], minlength=6)
    values = np.asarray(called(state.online.q_values, observation), np.float64)
    exponentials = np.exp((values - values.max()) / 0.07)
    chances = exponentials / exponentials.sum()
    assert chisquare(frequencies, count * chances).pvalue > 0.001
    with pytest.raises(SettingError, match="exploration policy draws actions at the temperature"):
        agent_for(exploration="policy")


def test_soft_values_that_are_not_known_exactly_are_refused_at_the_start():
    with pytest.raises(SettingError, match=r"objective soft: .* gives no exact soft values"):
        HGQN(Wide(), rank=2, objective="soft", **TINY)


def test_one_critic_disagrees_with_nobody():
    with pytest.raises(SettingError, match="exploration disagreement needs critics of at least 2"):
        HGQN(Counting(), exploration="disagreement", **TINY)


def test_evaluations_are_greedy():
    agent = HGQN(Counting(), exploration=Scripted(), **TINY)
    taken = []

    class Watched(Counting):
        def step(self, action):
            taken.append(action)
            return super().step(action)

    agent.evaluate(Watched(), 1)
    observations = np.arange(4, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(taken, agent.act(observations))


RUN = [
    "--steps", "90", "--hidden", "8", "--total-width", "8", "--batch-size", "8",
    "--learning-starts", "16", "--buffer-size", "64", "--phase-steps", "60",
    "--evaluation-steps", "0", "--checkpoint-steps", "20", "--max-episode-steps", "15", "--loggers",
]  # fmt: skip
SWITCHES, PENDULUM = "tests.faulty:Faulty-v0", "Pendulum-v1"


@pytest.mark.parametrize(
    ("env", "options"),
    [
        (SWITCHES, ["extended", "--rank", "2", "--exploration.per-vertex"]),
        (PENDULUM, ["ordinal"]),
        (SWITCHES, ["boltzmann", "--rank", "2", "--temperature", "linear:1:0.1:50"]),
        (SWITCHES, ["boltzmann", "--rank", "2", "--overlap"]),
        (SWITCHES, ["policy", "--objective", "soft", "--target-entropy", "0.5"]),
        (SWITCHES, ["disagreement", "--by", "critic", "--critics", "2", "--quantiles", "3"]),
        (SWITCHES, ["extended", "--train-frequency", "2", "--gradient-steps", "3"]),
    ],
    ids=[
        "extended",
        "ordinal",
        "boltzmann",
        "boltzmann with overlap",
        "policy",
        "critics",
        "updates",
    ],
)
def test_a_run_that_is_killed_is_the_run_that_never_stopped(env, options, tmp_path, monkeypatch):
    config = parse_train([env, *RUN, "--exploration", *options])
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    killer = Killer(monkeypatch)
    train_in(whole, config)
    steps = [moment for moment, name in enumerate(killer.seen) if name == "step"]
    killer.left = steps[50]
    with pytest.raises(KilledError):
        train_in(killed, config)
    killer.left = None
    train_in(killed, config)
    assert metrics(killed) == metrics(whole)
    learned, expected = (read_arrays(out / "agent.safetensors")[0] for out in (killed, whole))
    for name, array in expected.items():
        np.testing.assert_array_equal(learned[name], array, err_msg=name)


class Wide(gymnasium.Env):
    """Twelve vertices of five sub-actions."""

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.MultiDiscrete([5] * 12)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            lambda: HGQN(Climbing(), exploration="ordinal"),
            "ordinal adds noise to a Box .* choose e",
        ),
        (
            lambda: DDPG(Aiming(), exploration=Ordinal()),
            "ordinal adds noise .*; choose ou or gauss",
        ),
        (lambda: DDPG(Aiming(), exploration=Boltzmann()), "boltzmann draws .*; choose another"),
        (
            lambda: HGQN(Wide(), exploration="boltzmann", mixer="universal"),
            "boltzmann needs a mixer that is a weighted sum, .* or choose epsilon-greedy",
        ),
        (
            lambda: HGQN(Wide(), rank=2, exploration="boltzmann"),
            "boltzmann cannot draw from so many overlapping hyperedges exactly; choose a",
        ),
    ],
    ids=["ordinal", "ordinal ddpg", "boltzmann ddpg", "boltzmann mixer", "boltzmann rank"],
)
def test_explorations_that_do_not_fit_are_refused_at_the_start(made, message):
    with pytest.raises(SettingError, match=f"^exploration {message}") as error:
        made()
    assert "\n" not in str(error.value)


def test_the_command_refuses_them_in_one_line(tmp_path, capsys):
    out = tmp_path / "run"
    code = main(["train", "CartPole-v1", "--exploration", "ordinal", "--out", str(out)])
    refused = capsys.readouterr().err
    assert code == 1
    assert refused.startswith("hyperaction: --exploration ordinal adds noise to a Box action space")
    assert refused.count("\n") == 1
    assert not out.exists()
