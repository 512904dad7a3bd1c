"""Agents on observations of several parts, and on those that wrappers normalise."""

import json
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import NormalizeObservation
from hypothesis import example, given, settings

from hyperaction import DDPG, HGQN
from hyperaction.envs.statistics import frozen, merged, not_carried, statistics_of
from hyperaction.runs.files import read_arrays, write_arrays
from hyperaction.training.agent_file import STATISTICS
from hyperaction.training.config import parse_train
from hyperaction.training.runner import run
from tests.envs.samples import Any
from tests.envs.test_observations import batched, nested_spaces
from tests.killing import KilledError, Killer, metrics, train_in
from tests.training.envs import TINY, Counting
from tests.training.observing import Drifting, Looking, normalised

IMAGE = spaces.Box(0, 255, (8, 8, 1), np.uint8)
NESTED = spaces.Dict(
    image=IMAGE, more=spaces.Tuple([spaces.Discrete(10**9), spaces.Box(-1, 1, (2,))])
)


@given(space=nested_spaces())
@example(space=NESTED)
@example(space=spaces.Discrete(5, start=2))
@settings(max_examples=2)
def test_an_agent_loaded_without_an_environment_takes_what_that_gives(space, tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("agents")
    env = Any(space, spaces.MultiDiscrete([2, 3]))
    agent = HGQN(env, **TINY)
    space.seed(0)
    observations = [space.sample() for _ in range(4)]
    actions = np.stack([agent.act(one) for one in observations])
    agent.save(tmp_path / "agent")
    loaded = HGQN.load(tmp_path / "agent")
    several = SyncVectorEnv([lambda: env] * 4)
    for player in (agent, loaded, HGQN.load(tmp_path / "agent", several)):
        for form in (observations, batched(space, observations)):
            np.testing.assert_array_equal(player.act(form), actions)
            np.testing.assert_array_equal(player.predict(form)[0], actions)
        np.testing.assert_array_equal(player.act(observations[0]), actions[0])
        assert player.act([]).shape == (0, 2)
        with pytest.raises(ValueError, match=r"^observation: it"):
            player.act("nothing")


def test_files_of_earlier_versions_take_flat_arrays(tmp_path):
    space = spaces.Dict(image=IMAGE, number=spaces.Box(-1, 1, (2,)))
    env = Any(spaces.Box(-9, 999, (66,)), spaces.MultiDiscrete([2, 3]))
    HGQN(env, **TINY).save(tmp_path / "agent")
    arrays, about = read_arrays(tmp_path / "agent")
    del about["observations"]
    write_arrays(tmp_path / "old", arrays, about)
    loaded = HGQN.load(tmp_path / "old")
    loaded.act(np.zeros((5, 66), np.float32))
    with pytest.raises(ValueError, match=r"observation: it is a dictionary; .* shape \(66,\)"):
        loaded.act(space.sample())
    raw = Any(space, spaces.MultiDiscrete([2, 3]))
    one = space.sample()
    action = loaded.act(spaces.flatten(space, one).astype(np.float32))
    learner = HGQN.load(tmp_path / "old", raw)
    np.testing.assert_array_equal(learner.act(one), action)
    learner.save(tmp_path / "again")
    again = HGQN.load(tmp_path / "again")
    np.testing.assert_array_equal(again.act([one, one]), [action, action])
    assert len(again.evaluate(raw, episodes=2)) == 2
    assert len(loaded.evaluate(raw, episodes=2)) == 2


@pytest.mark.parametrize(
    "about",
    [
        {"kind": "numbers", "shape": [7]},
        {"kind": "pickle", "shape": [1]},
        {"kind": "one-hot", "shape": [], "sizes": [0], "starts": [0]},
        {"kind": "one-hot", "shape": [3], "sizes": [1, 2], "starts": [0]},
        {"kind": "bits", "shape": [2**40, 2**40], "sizes": [2**62], "starts": [0]},
        {"kind": "group", "keys": ["a", "a"], "parts": [{"kind": "numbers", "shape": [1]}] * 2},
        {"kind": "group", "keys": None, "parts": [3]},
        [],
    ],
    ids=json.dumps,
)
def test_a_strangers_observations_are_refused_in_one_line(about, tmp_path):
    HGQN(Counting(), **TINY).save(tmp_path / "agent")
    arrays, header = read_arrays(tmp_path / "agent")
    write_arrays(tmp_path / "agent", arrays, header | {"observations": about})
    with pytest.raises(ValueError, match="holds no agent of this version") as error:
        HGQN.load(tmp_path / "agent")
    assert len(str(error.value).splitlines()) == 1


def test_a_mask_within_an_observation_is_obeyed():
    space = spaces.Dict(a=spaces.Box(-1, 1, (2,)), action_mask=spaces.MultiBinary(5))
    agent = HGQN(Any(space, spaces.MultiDiscrete([2, 3])), **TINY)
    observation = {"a": np.zeros(2, np.float32), "action_mask": np.array([0, 1, 0, 0, 1], np.int8)}
    np.testing.assert_array_equal(agent.act(observation), [1, 2])
    np.testing.assert_array_equal(agent.act([observation] * 3), [[1, 2]] * 3)
    batched = {key: np.stack([value] * 3) for key, value in observation.items()}
    np.testing.assert_array_equal(agent.act(batched), [[1, 2]] * 3)


LOOK = {
    "hidden": (32,), "total_width": 16, "batch_size": 32, "learning_starts": 64,
    "buffer_size": 1_000, "discount": 0.0, "learning_rate": 1e-3, "optimiser.epsilon": 1e-8,
    "decay_steps": 1,
}  # fmt: skip


def test_images_and_numbers_are_both_learned_from():
    agent = HGQN(Looking(), rank=1, **LOOK).learn(400)
    episodes = agent.evaluate(Looking(), episodes=10, greedy=True)
    assert np.mean([episode.total for episode in episodes]) == 4.0
    transitions = agent.trainer.replay.ring
    assert transitions.frames.array.nbytes < 1_100 * (64 + 4)  # A number takes four bytes.


@pytest.mark.parametrize("network", ["cnn", "residual", "combined", "own"])
def test_any_network_takes_images_and_numbers(network):
    import equinox as eqx

    class Own(eqx.Module):
        layer: eqx.nn.Linear
        features: int = eqx.field(static=True, default=8)

        def __call__(self, observation):
            return self.layer(observation)

    def own(observation_shape, *, key):
        assert observation_shape == (65,)  # One row of floats.
        return Own(eqx.nn.Linear(65, 8, key=key))

    settings = {name: value for name, value in TINY.items() if name != "hidden"}
    chosen = own if network == "own" else network
    vector = SyncVectorEnv([Looking] * 2)
    agent = HGQN(vector, network=chosen, **settings)
    if network == "own":
        agent.learn(30)
    assert agent.act(vector.reset(seed=0)[0]).shape == (2, 2)


def test_ddpg_takes_images_and_numbers():
    class Real(Looking):
        action_space = spaces.Box(-1, 1, (2,))

    settings = {"hidden": (8, 8), "batch_size": 4, "learning_starts": 8, "buffer_size": 99}
    agent = DDPG(Real(), **settings).learn(20)
    assert agent.act(Looking().reset(seed=0)[0]).shape == (2,)


def test_what_images_and_numbers_do_not_go_with_is_refused():
    with pytest.raises(ValueError, match="normalise_observations is for vectors, not for"):
        HGQN(Looking(), normalise_observations=True, **TINY)
    settings = {name: value for name, value in TINY.items() if name != "hidden"}
    with pytest.raises(ValueError, match="network combined is for a Dict or Tuple with images"):
        HGQN(Counting(), network="combined", **settings)


RUN = [
    "--steps", "120", "--hidden", "8", "--total-width", "8", "--batch-size", "4",
    "--learning-starts", "16", "--buffer-size", "99", "--phase-steps", "40", "--evaluation-steps",
    "20", "--loggers",
]  # fmt: skip


@pytest.mark.parametrize(
    ("env", "more"),
    [
        ("Looking-v0", ["--num-envs", "2", "--checkpoint-steps", "10"]),
        ("Drifting-v0", ["--checkpoint-steps", "10"]),
        ("Drifting-v0", ["--num-envs", "2", "--checkpoint-steps", "10"]),
    ],
)
def test_stopping_changes_nothing(env, more, tmp_path, monkeypatch):
    config = parse_train([f"tests.training.observing:{env}", *RUN, *more])
    killer = Killer(monkeypatch)
    train_in(tmp_path / "whole", config)
    writes = [moment for moment, name in enumerate(killer.seen) if name == "save_file"]
    for number, moment in enumerate((writes[0] + 30, writes[len(writes) // 2] + 8)):
        out = tmp_path / str(number)
        killer.left = moment
        with pytest.raises(KilledError):
            train_in(out, config)
        killer.left = None
        train_in(out, config)
        assert metrics(out) == metrics(tmp_path / "whole")
        ours, theirs = (
            read_arrays(each / "agent.safetensors")[0] for each in (out, tmp_path / "whole")
        )
        assert ours.keys() == theirs.keys()
        for name, array in ours.items():
            np.testing.assert_array_equal(array, theirs[name], name)


@pytest.mark.parametrize("num_envs", ["1", "2"])
def test_runs_of_earlier_versions_resume_with_their_own_observations(
    num_envs, tmp_path, monkeypatch
):
    config = parse_train(
        ["tests.training.observing:Looking-v0", *RUN, "--num-envs", num_envs,
         "--out", str(tmp_path / "run")]
    )  # fmt: skip
    earlier, killer = replace(config, plain_observations=True), Killer(monkeypatch)
    train_in(tmp_path / "whole", earlier)
    killer.left = [i for i, name in enumerate(killer.seen) if name == "save_file"][1] + 9
    with pytest.raises(KilledError):
        train_in(tmp_path / "run", earlier)
    killer.left = None
    about = read_arrays(tmp_path / "run" / "agent.safetensors")[1]
    assert about["observation_shape"] == [65]
    run(config)
    assert metrics(tmp_path / "run") == metrics(tmp_path / "whole")


def test_statistics_of_wrappers_go_on_from_phase_to_phase(tmp_path):
    config = parse_train(["tests.training.observing:Drifting-v0", *RUN])
    train_in(tmp_path, config)
    arrays, about = read_arrays(tmp_path / "agent.safetensors")
    known = {name.removeprefix(STATISTICS): a for name, a in arrays.items() if STATISTICS in name}
    resets = about["step"] // 7 + 4  # At the end of each episode; of three phases and the next.
    count = known["NormalizeObservation.obs_rms/count"]
    assert round(float(count)) == about["step"] + resets
    np.testing.assert_allclose(known["NormalizeObservation.obs_rms/mean"], 50.0, atol=1.5)
    assert round(float(known["NormalizeReward.return_rms/count"])) == about["step"]


def test_evaluations_use_the_statistics_of_training_and_leave_them():
    env = normalised()
    agent = HGQN(env, **TINY).learn(100)
    known = statistics_of(env)
    np.testing.assert_allclose(known["NormalizeObservation.obs_rms"]["mean"], 50.0, atol=1.5)
    other = normalised()
    seen = []
    reset = other.env.reset
    other.env.reset = lambda **options: (seen.append(reset(**options)), seen[-1])[1]
    agent.evaluate(other, episodes=3)
    assert np.abs([observation for observation, _ in seen]).max() < 6.0  # Normalised at once.
    assert statistics_of(other)["NormalizeObservation.obs_rms"]["count"] < 1  # It has its own.
    assert other.update_running_mean
    agent.evaluate(env, episodes=3)
    for name, each in statistics_of(env).items():
        np.testing.assert_array_equal(each["mean"], known[name]["mean"])


def test_statistics_are_saved_with_an_agent_and_loaded_with_an_environment(tmp_path):
    env = normalised()
    agent = HGQN(env, **TINY).learn(50)
    agent.save(tmp_path / "agent")
    known = statistics_of(env)
    for name, each in HGQN.load(tmp_path / "agent").statistics.items():
        np.testing.assert_array_equal(each["var"], known[name]["var"])
    again = normalised()
    HGQN.load(tmp_path / "agent", again)
    count = statistics_of(again)["NormalizeReward.return_rms"]["count"]
    np.testing.assert_array_equal(count, known["NormalizeReward.return_rms"]["count"])


def test_statistics_of_several_environments_merge_to_those_of_all():
    rng, envs = np.random.default_rng(0), [NormalizeObservation(Drifting()) for _ in range(3)]
    rows = [rng.normal(5.0, 2.0, (count, 2)) for count in (4, 9, 40)]
    whole = NormalizeObservation(Drifting())
    for env, seen in zip(envs, rows, strict=True):
        env.obs_rms.update(seen)
        whole.obs_rms.update(seen)
    found = merged([statistics_of(env) for env in envs])["NormalizeObservation.obs_rms"]
    for field in ("mean", "var", "count"):
        np.testing.assert_allclose(found[field], getattr(whole.obs_rms, field), rtol=1e-3)


class Odd(gymnasium.Wrapper):
    """Statistics that nobody else knows, and some in an attribute that cannot be switched off."""

    def __init__(self, env):
        super().__init__(env)
        self.own_rms = {"mean": 0.0}
        self.known_rms = NormalizeObservation(env).obs_rms


def test_statistics_in_another_form_are_reported_and_those_without_a_switch_are_frozen():
    env = Odd(Drifting())
    assert not_carried(env) == ["Odd.own_rms"]
    with frozen(env, statistics_of(env)):
        env.known_rms.update(np.ones((3, 2)))
        assert env.known_rms.count < 1
    env.known_rms.update(np.ones((3, 2)))
    assert env.known_rms.count > 3
    assert not not_carried(normalised())


def test_greedy_evaluations_take_no_random_action():
    agent = HGQN(Counting(), evaluation=1.0, **TINY)
    taken = []

    class Watched(Counting):
        def step(self, action):
            taken.append(tuple(action))
            return super().step(action)

    agent.evaluate(Watched(), episodes=5, greedy=True)
    best = [tuple(agent.act(np.array([100 * (i // 4) + i % 4], np.float32))) for i in range(20)]
    assert taken == best
    taken.clear()
    agent.evaluate(Watched(), episodes=5)
    assert taken != best
