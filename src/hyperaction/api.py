"""Agents in the shape people know: made for an environment, then `learn`, `predict`, `save`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Self

import gymnasium
import jax
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from hyperaction.agents.config import AgentConfig
from hyperaction.agents.growth import with_bins
from hyperaction.agents.presets import AgentName, PresetName, config_for
from hyperaction.agents.structure import Structure
from hyperaction.constraints import Constraints, Mask, NoAction
from hyperaction.envs.action_maps import ActionMap, stacked
from hyperaction.envs.bins import BinsLike, as_options
from hyperaction.envs.factoring import fits
from hyperaction.envs.guard import EnvironmentFaultError
from hyperaction.envs.make import actions_of, make_env
from hyperaction.envs.masks import MaskReader
from hyperaction.envs.vector import Environments, Single, Vector
from hyperaction.envs.wrapper import Factored
from hyperaction.errors import SettingError
from hyperaction.runs.loggers import Logger
from hyperaction.training.agent_file import AgentFile, arrays_of, filled, load, save
from hyperaction.training.assembly import assemble, maximisation
from hyperaction.training.backup import Backup
from hyperaction.training.callbacks import Callback, LogTo, as_callbacks
from hyperaction.training.compiled import Compiled, FlatState, check_actions
from hyperaction.training.config import RUNS, default_preset
from hyperaction.training.env_edges import with_env_edges
from hyperaction.training.episodes import Episode
from hyperaction.training.evaluator import Evaluator
from hyperaction.training.interrupts import stoppable
from hyperaction.training.loop import train
from hyperaction.training.trainer import Trainer

AnyEnv = str | gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]


class BaseAgent:
    """An agent and the environment that it learns in.

    Args:
        env: A Gymnasium environment, a vector of them, or an id.
        rank: All hyperedges up to this order; by default the agent's own.
        preset: `"physical"` or `"atari"`, the paper's settings; `"modern"`, which learns faster;
            `"decqn"` or `"revalued"`, the settings of the paper's descendants. By default the
            first, or the second where the id is that of a game of ALE/.
        seed: Where all random numbers come from.
        bins: Sub-actions per dimension of a `Box` action space: one number, or one per dimension;
            of `Box` parts, those of each by name (`{"arm": 5, "power": [3, 9]}`); with `grow`,
            those of each level. By default the preset's: 5, or 3 of decqn and revalued.
        action_shape: The sizes that a `Discrete` action space is the product of.
        action_names: The names of the vertices, instead of the environment's.
        constraints: What is allowed in every state, besides what the environment says: a
            `Cardinality`, a dictionary from vertices to arrays over their sub-actions, or several.
        no_action: What to do where a mask leaves no action: `"stop"`, take sub-action 0 of every
            vertex (`"default"`), or `"ignore"` the mask.
        settings: Any other settings of the agent, by name: its own (`batch_size=256`), its parts
            by name or as objects (`optimiser="rmsprop"`, `exploration=EpsilonGreedy(final=0.1)`,
            `optimiser=optax.adamw(1e-4)`), and settings of parts (`learning_rate=1e-4`).
    """

    name: ClassVar[AgentName]

    def __init__(
        self,
        env: AnyEnv,
        *,
        rank: int | None = None,
        preset: PresetName | None = None,
        seed: int = 0,
        bins: BinsLike | None = None,
        action_shape: Sequence[int] = (),
        action_names: Sequence[str] = (),
        constraints: Any = (),
        no_action: NoAction = "stop",
        **settings: Any,
    ) -> None:
        env_id = env if isinstance(env, str) else ""
        preset = preset or default_preset(env_id)
        config = config_for(self.name, preset, rank=rank, changes=settings)
        default = RUNS[preset].get("bins", (5,))
        given = default if bins is None else as_options(bins, default)
        config, env_bins = with_bins(config, given)
        raw = make_env(env) if isinstance(env, str) else env
        actions = actions_of(
            env_id,
            raw,
            env_bins,
            action_shape,
            names=action_names,
            real_actions=config.continuous,
        )
        config = with_env_edges(config, env, actions.names)
        self._begin(_environments(raw, actions, constraints, no_action), config, seed)

    def _begin(
        self,
        env: Environments,
        config: AgentConfig,
        seed: int,
        structure: Structure | None = None,
    ) -> None:
        self.config, self.actions = config, env.actions
        self.constraints = env.constraints
        self.observation_shape = env.observation_shape
        agent, _ = assemble(config, env, structure)
        self._backup = Backup()
        self.trainer: Trainer | None = Trainer(agent, env, _count("seed", seed, least=0))

    @property
    def agent(self) -> Any:
        """The agent's functions, for the hyperedges of now."""
        return self._loaded_agent if self.trainer is None else self.trainer.agent

    @property
    def compiled(self) -> Compiled:
        """The agent's functions, compiled."""
        return self._loaded_compiled if self.trainer is None else self.trainer.compiled

    @property
    def structure_changes(self) -> list[dict[str, Any]]:
        """What is known of each change of the hyperedges since the agent began to learn here."""
        return [] if self.trainer is None else self.trainer.changes

    @property
    def maximisation(self) -> str:
        """How best joint actions are found: the way, whether it is exact, and why."""
        return maximisation(self.state, self.constraints)

    @property
    def step(self) -> int:
        """Environment steps that the agent has learned from."""
        return self._loaded_step if self.trainer is None else self.trainer.step

    @property
    def state(self) -> Any:
        """All that the agent has learned, one pytree."""
        return self._flat_state.tree

    @property
    def _flat_state(self) -> FlatState:
        return self._loaded_state if self.trainer is None else self.trainer.state

    def learn(
        self,
        steps: int,
        callback: Callback | Sequence[Callback] | Callable[..., Any] | None = None,
        *,
        logger: Logger | None = None,
        log_interval: int = 1_000,
    ) -> Self:
        """Learns for so many more steps. After Ctrl-C the agent can act, be saved and learn on.

        Args:
            steps: Environment steps, counted over all environments of a vector.
            callback: One callback or several; or a function of the trainer, called every step.
                What returns False stops the learning.
            logger: Takes metrics: an object with `log(metrics, step)`.
            log_interval: Steps between metrics.
        """
        if self.trainer is None:
            raise ValueError("an agent loaded without an environment cannot learn; pass env=")
        steps, log_interval = _count("steps", steps), _count("log_interval", log_interval)
        callbacks = as_callbacks(callback) + ([LogTo(logger)] if logger is not None else [])
        until, trainer = self.trainer.step + steps, self.trainer
        ctrl_c = (signal.SIGINT,)
        # The first interrupt waits for the end of the step, and the second for the end of its
        # update, in whose middle the old state is gone and the new one not there yet.
        with (
            self._backup.kept(trainer),
            stoppable(signals=ctrl_c, is_busy=lambda: trainer.is_busy) as should_stop,
        ):
            train(
                trainer,
                until,
                [self._backup, *callbacks],
                exact=True,
                phase_steps=log_interval,
                should_stop=should_stop,
            )
        if should_stop():
            raise KeyboardInterrupt
        return self

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        *,
        mask: Any = None,
    ) -> tuple[Any, Any]:
        """The action for an observation, as Stable-Baselines3's agents give it.

        Args:
            observation: As the environment gives it, or a batch of such.
            state: Passed through; agents here have no recurrent state.
            episode_start: Not used, for the same reason.
            deterministic: The greedy action; otherwise one that the agent would explore with.
            mask: What is allowed, as in `act`.

        Returns:
            The action, and the state.
        """
        if deterministic:
            return self.act(observation, mask), state
        batch, masks, single = self._batch(observation, mask)
        if not len(batch):
            return self._no_actions(), state
        explorer = self.agent.explorer(len(batch), np.random.default_rng())
        chosen = explorer.explore(
            self.step, masks, lambda: self._computed(batch, masks, explorer.inputs(self.step))
        )
        check_actions(chosen, self.agent, masks)
        return self._as_env_actions(chosen, single), state

    def act(self, observation: Any, mask: Any = None) -> Any:
        """The greedy action, as the environment takes it; for a batch of observations, each one's.

        Args:
            observation: As the environment gives it.
            mask: What is allowed, in any form that an environment may give it; for a batch, one
                for each observation.
        """
        batch, masks, single = self._batch(observation, mask)
        if not len(batch):
            return self._no_actions()
        chosen = check_actions(self._computed(batch, masks), self.agent, masks)
        return self._as_env_actions(chosen, single)

    def _computed(
        self, batch: NDArray[Any], masks: Mask | None, inputs: Any = None
    ) -> NDArray[Any]:
        """The network's actions: greedy, or what the exploration computes from its inputs."""
        return np.asarray(self.compiled.act(self._flat_state, batch, masks, inputs))

    def _as_env_actions(self, chosen: NDArray[Any], single: bool) -> Any:
        actions = [self.actions(action) for action in chosen]
        return actions[0] if single else stacked(actions)

    def _no_actions(self) -> Any:
        """As many as an empty batch of observations needs."""
        any_action = np.zeros((1, len(self.actions.sizes)), self.agent.action_dtype)
        batch = self._as_env_actions(any_action, single=False)
        return jax.tree.map(lambda leaf: np.asarray(leaf)[:0], batch)

    def _batch(self, observation: Any, mask: Any) -> tuple[NDArray[Any], Mask | None, bool]:
        batch, single = self._observations(observation)
        if self.config.continuous and mask is None:
            return batch, None, single
        if mask is not None and not single and not isinstance(mask, dict):
            given = list(mask) if np.iterable(mask) else [mask]
            if len(given) != len(batch):
                raise SettingError(f"`mask` has {len(given)} rows for {len(batch)} observations")
        else:
            given = [mask] * len(batch)
        try:
            masks = MaskReader(self.actions, self.constraints).begin(given)
        except EnvironmentFaultError as error:
            message = str(error).replace("the environment gave the action_mask", "`mask`")
            raise SettingError(message) from None
        return batch, masks, single

    def evaluate(
        self,
        env: AnyEnv,
        episodes: int = 10,
        seed: int = 0,
        on_episode: Callable[[Episode], None] = lambda episode: None,
    ) -> list[Episode]:
        """Episodes of the almost greedy policy in an environment that it does not learn in."""
        if isinstance(env, str):
            with closing(make_env(env)) as made:
                return self.evaluate(made, episodes, seed, on_episode)
        if isinstance(env, VectorEnv):
            raise ValueError("evaluate takes one environment, not a vector")
        episodes = _count("episodes", episodes)
        single = Single(Factored(env, self.actions, self.constraints))
        self._check_fits(single, env.action_space)
        evaluator = Evaluator(self.agent, self.compiled, lambda: single)
        evaluator.begin(_count("seed", seed, least=0))
        played: list[Episode] = []
        for _ in range(episodes):
            episode = evaluator.episode(self._flat_state)
            assert episode is not None
            played.append(episode)
            on_episode(episode)
        return played

    def save(self, path: str | Path) -> None:
        """Writes the agent into one file; `load` reads it."""
        arrays = arrays_of(self.state)
        file = AgentFile(
            self.name,
            self.config,
            self.actions,
            self.observation_shape,
            self.step,
            arrays,
            getattr(self.agent, "structure", None),
            self.constraints,
        )
        save(Path(path), file)

    @classmethod
    def load(
        cls, path: str | Path, env: AnyEnv | None = None, *, seed: int = 0, **parts: Any
    ) -> Self:
        """The agent of a file, or of a run's directory; with an environment it can learn on.

        Args:
            path: The file or the directory.
            env: The environment to learn in.
            seed: Where all random numbers come from.
            parts: Parts of your own that the agent was made with, such as `mixer`: files hold no
                code.
        """
        file = load(Path(path), parts)
        if file.name != cls.name:
            raise ValueError(f"{path} holds the agent {file.name}, not {cls.name}")
        agent = cls.__new__(cls)
        if env is None:
            agent._restore(file)
            return agent
        raw = make_env(env) if isinstance(env, str) else env
        envs = _environments(raw, file.actions, file.constraints or ())
        agent.actions, agent.observation_shape = file.actions, file.observation_shape
        agent._check_fits(envs, _action_space(raw))
        agent._begin(envs, file.config, seed, file.structure)
        assert agent.trainer is not None
        agent.trainer.continue_from(filled(agent.state, file.arrays), file.step)
        return agent

    def _restore(self, file: AgentFile) -> None:
        self.config, self.actions = file.config, file.actions
        self.constraints = file.constraints or Constraints(file.actions.sizes)
        self.observation_shape = file.observation_shape
        agent = file.config.build(file.actions.sizes, file.observation_shape, file.structure)
        self.trainer = None
        self._loaded_agent, self._loaded_compiled = agent, Compiled(agent)
        template = jax.eval_shape(agent.init, jax.random.key(0))
        self._loaded_state, self._loaded_step = FlatState(filled(template, file.arrays)), file.step

    def _check_fits(self, env: Environments, space: gymnasium.Space[Any]) -> None:
        """Refuses an environment that the agent was not made for."""
        if env.observation_shape != self.observation_shape:
            raise ValueError(
                f"the agent takes observations of shape {self.observation_shape}, the environment "
                f"gives {env.observation_shape}"
            )
        if not fits(self.actions, space):
            raise ValueError(f"the agent's actions are not those of the environment, {space}")

    def _observations(self, observation: Any) -> tuple[NDArray[Any], bool]:
        if self.trainer is not None and self.trainer.env.is_raw(observation):
            return self.trainer.env.flatten(observation)[None], True
        if isinstance(observation, dict | tuple):
            raise ValueError("to act on a Dict or Tuple, load the agent with env=; one at a time")
        try:
            array = np.asarray(observation)
            if array.dtype != np.uint8:  # Images stay bytes.
                array = array.astype(np.float32, copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"an observation must be numbers: {error}") from None
        if array.shape == self.observation_shape:
            return array[None], True
        if array.shape[1:] == self.observation_shape:
            return array, False
        raise ValueError(
            f"an observation has shape {self.observation_shape}, this one has {array.shape}"
        )


class HGQN(BaseAgent):
    """A hypergraph Q-network."""

    name = "hgqn"


class DQN(BaseAgent):
    """A deep Q-network: one value for every joint action."""

    name = "dqn"


class Rainbow(BaseAgent):
    """The paper's simplified Rainbow."""

    name = "rainbow"


class HGRainbow(BaseAgent):
    """The simplified Rainbow on a hypergraph."""

    name = "hg-rainbow"


class BDQN(BaseAgent):
    """Branching DQN: every vertex learns by itself."""

    name = "bdqn"


class ActionIn(BaseAgent):
    """A Q-network that takes the state and the action, and gives one value."""

    name = "action-in"


class DDPG(BaseAgent):
    """Deep deterministic policy gradients, for `Box` actions as they are."""

    name = "ddpg"


AGENT_CLASSES: dict[AgentName, type[BaseAgent]] = {
    each.name: each for each in (HGQN, DQN, Rainbow, HGRainbow, BDQN, ActionIn, DDPG)
}


def _count(name: str, value: Any, least: int = 1) -> int:
    """An argument that counts something."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise SettingError(f"`{name}` must be a whole number, at least {least}, not {value!r}")
    return int(value)


def _action_space(env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]) -> Any:
    return env.single_action_space if isinstance(env, VectorEnv) else env.action_space


def _environments(
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any],
    actions: ActionMap,
    constraints: Any = (),
    no_action: NoAction = "stop",
) -> Environments:
    if isinstance(env, VectorEnv):
        return Vector(env, actions, constraints=constraints, no_action=no_action)
    return Single(Factored(env, actions, constraints, no_action))
