"""Suites by name: what adapters give is what the suites say, alone, together and in training."""

import subprocess
import sys
from contextlib import closing
from importlib import metadata

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

import hyperaction
from hyperaction.constraints import Constraints
from hyperaction.envs import suites
from hyperaction.envs.ids import game_of, names_code, suite_of
from hyperaction.envs.make import make, make_env
from hyperaction.runs import read_arrays
from hyperaction.training.config import parse_train
from tests.killing import KilledError, Killer, metrics, train_in

TETRIS, CUBE = "jumanji:Tetris-v0", "jumanji:RubiksCube-partly-scrambled-v0"
SYSADMIN, CAR = "rddl:SysAdmin_MDP_ippc2011/1", "rddl:MountainCar_ippc2023/1"
SPREAD, CARTPOLE = "pettingzoo:mpe2.simple_spread_v3", "dmc:cartpole-swingup"
EACH = (TETRIS, SYSADMIN, SPREAD, CARTPOLE)


def needed(name):
    """Skips where the suite is not installed."""
    for package in suites.SUITES[suite_of(name)].packages:
        pytest.importorskip(package)


def made(name, **options):
    needed(name)
    return suites.make(name, **options)


def allowed(env, observation, rng):
    """A random action that the environment allows."""
    if SYSADMIN in str(env.spec):
        return {fluent: np.int64(0) for fluent in env.action_space}
    mask = observation.get("action_mask") if isinstance(observation, dict) else None
    if mask is None:
        env.action_space.seed(int(rng.integers(2**31)))
        return env.action_space.sample()
    return rng.permutation(np.argwhere(mask))[0]


def played(env, steps, seed):
    """What an environment gives in so many random steps."""
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=seed)
    flat = [spaces.flatten(env.observation_space, observation)]
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(allowed(env, observation, rng))
        flat.append(spaces.flatten(env.observation_space, observation))
        flat.append(np.array([reward, terminated, truncated], float))
        if terminated or truncated:
            observation, _ = env.reset()
            flat.append(spaces.flatten(env.observation_space, observation))
    return np.concatenate(flat)


def test_every_suite_has_an_extra_of_its_name():
    assert set(suites.SUITES) <= set(metadata.metadata("hyperaction").get_all("Provides-Extra"))


def test_ids_of_suites_name_no_code_but_modules_of_others():
    assert not any(map(names_code, EACH))
    assert names_code("pettingzoo:my_game.arena_v0")
    assert names_code("my_module:Game-v0")
    assert suite_of("my_module:Game-v0") == suite_of("CartPole-v1") == ""
    assert game_of("rddl:ALE/Pong-v5") == ""


def test_ids_are_understood_without_importing_gymnasium_or_a_suite():
    loaded = "gymnasium", "jax", *(one for each in suites.SUITES.values() for one in each.packages)
    code = (
        "import sys; from hyperaction.envs.ids import suite_of; assert suite_of('dmc:dog-walk'); "
        f"assert not sys.modules.keys() & set({loaded!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("jumanji:BinPak-v2", "did you mean 'jumanji:BinPack-v2'?"),
        ("rddl:MarsRovr_ippc2023/1", "did you mean 'rddl:MarsRover_ippc2023'?"),
        ("rddl:MarsRover_ippc2023/77", "MarsRover_ippc2023/1, "),
        ("pettingzoo:mpe2.simple_spred_v3", "did you mean 'pettingzoo:mpe2.simple_spread_v3'?"),
        ("pettingzoo:mpe2", "has no parallel_env"),
        ("dmc:dog-wlk", "did you mean 'dmc:dog-walk'?"),
        ("dmc:", "write dmc:dog-walk"),
    ],
)
def test_an_environment_that_a_suite_does_not_have_is_answered_with_the_nearest(name, meant):
    needed(name)
    with pytest.raises(suites.SuiteError) as error:
        make_env(name)
    assert meant in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", EACH)
def test_a_suite_that_is_not_installed_is_named_with_its_extra(name, monkeypatch):
    monkeypatch.setattr(suites, "find_spec", lambda package: None)
    monkeypatch.setattr(sys, "version_info", (3, 12, 1))
    with pytest.raises(ValueError, match="needs") as error:
        make_env(name)
    assert f"pip install 'hyperaction[{suite_of(name)}]'" in str(error.value)
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    with pytest.raises(ValueError, match="needs") as error:
        make_env(name)
    is_too_new = "up to Python 3.12; this is 3.13" in str(error.value)
    assert is_too_new == (name == CARTPOLE)


@pytest.mark.parametrize("name", [TETRIS, CAR, SPREAD, CARTPOLE])
@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # Spaces without bounds are the suites'.
def test_spaces_contain_what_environments_give(name):
    with closing(made(name)) as env:
        env.spec = None  # It would be made again from Gymnasium's registry.
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("name", EACH)
def test_the_same_seed_is_the_same_episode(name):
    with closing(made(name)) as one, closing(made(name)) as other:
        first = played(one, 12, seed=2**40)
        np.testing.assert_array_equal(first, played(other, 12, seed=2**40))
        assert not np.array_equal(first, played(other, 12, seed=4)) or name == SYSADMIN


@pytest.mark.parametrize(("name", "limit"), [(CUBE, 20), (SYSADMIN, 40), (SPREAD, 25)])
def test_the_time_limit_of_a_suite_truncates(name, limit):
    rng = np.random.default_rng(0)
    with closing(made(name)) as env:
        observation, _ = env.reset(seed=0)
        ends = []
        for _ in range(limit):
            observation, _, *end, _ = env.step(allowed(env, observation, rng))
            ends.append(end)
        assert env.spec.max_episode_steps == limit
    assert ends == [[False, False]] * (limit - 1) + [[False, True]]


def test_what_rddl_computes_in_the_branch_that_it_does_not_take_raises_no_warning():
    with closing(made("rddl:MarsRover_ippc2023/1")) as env:
        env.reset(seed=0)
        action = {name: np.zeros(space.shape) for name, space in env.action_space.items()}
        # The power of one rover is zero, which its direction is divided by.
        assert np.isfinite(env.step(action | {"power-y___d2": np.full(1, 0.1)})[1])


def test_a_time_limit_of_the_user_truncates_too():
    with closing(make_env_of(CARTPOLE, 3)) as env:
        env.reset(seed=0)
        ends = [env.step(env.action_space.sample())[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def make_env_of(name, limit):
    needed(name)
    return make_env(name, max_episode_steps=limit)


def test_an_end_that_is_no_time_limit_terminates():
    with closing(made("jumanji:Minesweeper-v0")) as env:
        env.reset(seed=0)
        mine = int(env.state.flat_mine_locations[0])
        _, _, terminated, truncated, _ = env.step(np.array(divmod(mine, 10)))
    assert terminated
    assert not truncated


def test_masks_over_several_vertices_are_jumanjis_own():
    needed(TETRIS)
    with closing(make(TETRIS)) as env:
        _, mask = env.reset(seed=3)
        own = np.asarray(env.env.unwrapped.state.action_mask)
        read = env.masks.begin([mask])
    every = np.array(list(np.ndindex(own.shape)))
    rows = np.repeat(read.rows, len(every), axis=0)
    assert read.constraints.scopes == ((0, 1),)
    np.testing.assert_array_equal(read.constraints.allows(every, rows), own.ravel())
    assert env.actions.names == ("rotation", "column")


def test_max_nondef_actions_allow_what_rddl_does():
    needed(SYSADMIN)
    with closing(make(SYSADMIN)) as env:
        env.reset(seed=0)
        every = np.array(list(np.ndindex(env.sizes)))
        chosen = every[:: len(every) // 100]
        allows = env.masks.always.allows(chosen)
        sampler = env.env.unwrapped.rddl.sampler
        for action, is_allowed in zip(chosen, allows, strict=True):
            prepared = sampler.prepare_actions_for_sim(env.actions(action))
            if is_allowed:
                sampler.check_default_action_count(prepared, False)
            else:
                with pytest.raises(Exception, match="at most 1 non-default"):
                    sampler.check_default_action_count(prepared, False)
        assert env.masks.always.allows(every).sum() == 11
        assert env.actions.names[0] == "reboot___c1"


def test_many_environments_of_jumanjis_are_each_as_alone():
    needed(TETRIS)
    limit, count, rng = 7, 3, np.random.default_rng(0)
    many = suites.make_vector(TETRIS, count, limit)
    alone = [suites.make(TETRIS, limit) for _ in range(count)]
    observations, _ = many.reset(seed=5)
    expected = [env.reset(seed=5 + index)[0] for index, env in enumerate(alone)]
    ends = 0
    for _ in range(16):
        assert_equal(many, observations, alone, expected)
        actions = [allowed(env, one, rng) for env, one in zip(alone, expected, strict=True)]
        observations, reward, terminated, truncated, info = many.step(np.stack(actions))
        for index, env in enumerate(alone):
            expected[index], *rest, _ = env.step(actions[index])
            assert [reward[index], terminated[index], truncated[index]] == rest
            if terminated[index] or truncated[index]:
                ends += 1
                final = info["final_obs"][index]
                assert_equal(None, None, [env], [final], expected[index])
                expected[index], _ = env.reset()
    assert ends > 3
    for env in alone:
        env.close()


def assert_equal(many, observations, alone, expected, one=None):
    for index, env in enumerate(alone):
        space = env.observation_space
        given = one or {name: observations[name][index] for name in observations}
        first, second = (spaces.flatten(space, each) for each in (given, expected[index]))
        np.testing.assert_array_equal(first, second)


def dwindling():
    """Two agents with masks, of which the second leaves after its first step."""
    ParallelEnv = pytest.importorskip("pettingzoo").ParallelEnv  # noqa: N806

    class Dwindling(ParallelEnv):
        metadata = {"name": "dwindling"}  # noqa: RUF012
        possible_agents = ["walker", "b"]  # noqa: RUF012

        def observation_space(self, agent):
            mask = spaces.MultiBinary(3)
            return spaces.Dict({"view": spaces.Box(0, 9, (2,)), "action_mask": mask})

        def action_space(self, agent):
            return spaces.Discrete(3) if agent == "b" else spaces.MultiDiscrete([2, 3])

        def reset(self, seed=None, options=None):
            self.agents, self.steps = list(self.possible_agents), 0
            return self._seen(), {agent: {} for agent in self.agents}

        def _seen(self):
            masks = {"walker": np.array([1, 1, 0, 1, 1]), "b": np.array([0, 1, 1])}
            view = np.full(2, 1 + self.steps, np.float32)
            return {agent: {"view": view, "action_mask": masks[agent]} for agent in self.agents}

        def step(self, actions):
            assert list(actions) == self.agents
            self.steps += 1
            over = {agent: agent == "b" for agent in self.agents}
            late = dict.fromkeys(self.agents, self.steps == 3)
            rewards = {agent: 2.0 if agent == "b" else 1.0 for agent in self.agents}
            infos = {agent: {} for agent in self.agents}
            seen = self._seen()
            self.agents = [agent for agent in self.agents if not over[agent] and not late[agent]]
            return seen, rewards, over, late, infos

        def close(self):
            pass

    return Dwindling()


@pytest.mark.parametrize(("reward", "first"), [("sum", 3.0), ("mean", 1.5)])
def test_an_agent_that_leaves_has_one_sub_action_and_observes_zeros(reward, first):
    parallel = dwindling()
    from hyperaction.envs.suites.pettingzoo import Cooperative

    env = Cooperative(parallel, reward)
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    constraints = Constraints((2, 3, 3), ())
    action = {"walker": np.array([1, 2]), "b": 1}
    assert info["action_mask"][(2,)].tolist() == [False, True, True]
    assert info["action_mask"][(1,)].tolist() == [False, True, True]
    results = [env.step(action) for _ in range(3)]
    assert [result[1] for result in results] == [first, 1.0, 1.0]
    assert [result[2:4] for result in results] == [(False, False), (False, False), (False, True)]
    for seen, *_, info in results[:2]:
        assert env.observation_space.contains(seen)
        assert seen["b"]["view"].tolist() == [0, 0]
        row = constraints.row(info["action_mask"])
        assert row.tolist() == [True, True, False, True, True, True, False, False]
    learned = hyperaction.HGQN(Cooperative(dwindling()), rank=2, **SMALL).learn(60)
    assert learned.actions.names == ("walker.0", "walker.1", "b")


SMALL = {
    "network.hidden": (8,),
    "heads.total_width": 8,
    "batch_size": 4,
    "buffer_size": 200,
    "learning_starts": 20,
}


@pytest.mark.parametrize("name", [SYSADMIN, TETRIS])
def test_agents_keep_the_names_and_constraints_of_a_suite_in_files(name, tmp_path):
    needed(name)
    agent = hyperaction.HGQN(name, rank=1, **SMALL).learn(60)
    agent.save(tmp_path / "agent")
    loaded = hyperaction.HGQN.load(tmp_path / "agent", env=name)
    assert loaded.actions.names == agent.actions.names != ("0", "1")
    assert loaded.constraints == agent.constraints
    episodes = loaded.evaluate(name, episodes=1)
    assert episodes == agent.evaluate(name, episodes=1)


OPTIONS = [
    "--rank", "1", "--steps", "120", "--phase-steps", "40", "--evaluation-steps", "10",
    "--checkpoint-steps", "25", "--hidden", "8", "--total-width", "8", "--batch-size", "4",
    "--buffer-size", "100", "--learning-starts", "20", "--max-episode-steps", "30", "--loggers",
]  # fmt: skip


@pytest.mark.parametrize("name", EACH)
def test_a_run_that_is_killed_once_is_the_run_that_never_stopped(name, tmp_path, monkeypatch):
    needed(name)
    killer, configs = Killer(monkeypatch), {}
    for folder in ("whole", "killed"):
        out = str(tmp_path / folder)
        configs[tmp_path / folder] = parse_train([name, *OPTIONS, "--out", out])
    whole, killed = configs
    train_in(whole, configs[whole])
    killer.left = 95
    with pytest.raises(KilledError):
        train_in(killed, configs[killed])
    killer.left = None
    train_in(killed, configs[killed])
    assert metrics(whole) == metrics(killed)
    agents = [read_arrays(folder / "agent.safetensors")[0] for folder in (whole, killed)]
    assert agents[0].keys() == agents[1].keys()
    for key, array in agents[0].items():
        np.testing.assert_array_equal(array, agents[1][key])


def test_environments_of_jumanjis_that_are_stepped_together_train(tmp_path):
    needed(TETRIS)
    config = parse_train([TETRIS, *OPTIONS, "--num-envs", "4", "--out", str(tmp_path)])
    train_in(tmp_path, config)
    assert metrics(tmp_path)[-1]["step"] >= 120


@pytest.mark.parametrize(
    ("name", "agent"),
    [(TETRIS, "rank 1"), (TETRIS, "bdqn"), ("jumanji:JobShop-v0", "rank 2"), (SYSADMIN, "rank 2")],
)
def test_no_action_is_illegal_by_the_word_of_its_suite(name, agent):
    needed(TETRIS)
    needed(SYSADMIN)
    from tests.envs.legality import count

    env = count(name, agent, 300)
    assert (env.steps, env.illegal) == (300, 0)


def test_an_illegal_action_is_counted():
    needed(SYSADMIN)
    from tests.envs.legality import Counted

    with closing(Counted(made(TETRIS))) as env:
        observation, _ = env.reset(seed=0)
        env.step(np.argwhere(~observation["action_mask"])[0])
        assert (env.steps, env.illegal) == (1, 1)
    with closing(Counted(made(SYSADMIN))) as env:
        env.reset(seed=0)
        with pytest.raises(Exception, match="at most 1 non-default"):
            env.step(dict.fromkeys(env.action_space, 1))
        assert (env.steps, env.illegal) == (1, 1)


def test_images_of_suites_are_arrays():
    for name in (TETRIS, SYSADMIN, SPREAD):
        with closing(made(name, render_mode="rgb_array")) as env:
            assert isinstance(env, gymnasium.Env)
            env.reset(seed=0)
            image = env.render()
            assert image.dtype == np.uint8
            assert image.shape[2] == 3
