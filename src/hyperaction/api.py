"""Agents in the shape people know: made for an environment, then `learn`, `predict`, `save`."""

from __future__ import annotations

import signal
import warnings
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
from hyperaction.envs.action_maps import ActionMap
from hyperaction.envs.bins import BinsLike, as_options
from hyperaction.envs.make import actions_of, make_env
from hyperaction.envs.statistics import Statistics, frozen, merged
from hyperaction.envs.vector import Environments, Single
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
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
from hyperaction.training.hub import hub_folder
from hyperaction.training.interface import Interface, environments
from hyperaction.training.interrupts import stoppable
from hyperaction.training.loop import few_updates, train
from hyperaction.training.trainer import Trainer

AnyEnv = str | gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]


class BaseAgent:
    """An agent and the environment that it learns in.

    Args:
        env: A Gymnasium environment, a vector of them, or an id.
        rank: All hyperedges up to this order; by default the agent's own.
        preset: `"modern"`, the default for robots of PyBullet and MuJoCo; `"small"`, the default
            for other problems; `"atari"`, the default for games of ALE/; `"physical"`, the paper's
            settings for robots; `"decqn"` or `"revalued"`, those of the paper's descendants.
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
        preset = preset or default_preset(self.name, _id_of(env))
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
        envs = environments(raw, actions, constraints, no_action)
        self._begin(envs, config, seed, no_action=no_action)

    def _begin(
        self,
        env: Environments,
        config: AgentConfig,
        seed: int,
        structure: Structure | None = None,
        no_action: NoAction = "stop",
    ) -> None:
        self.config, self.interface = config, Interface.of(env, no_action)
        agent, _ = assemble(config, env, structure)
        self._backup = Backup()
        self.trainer: Trainer | None = Trainer(agent, env, _count("seed", seed, least=0))

    @property
    def actions(self) -> ActionMap:
        """How actions are factored: sizes and names of the vertices."""
        return self.interface.actions

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of observations as the network takes them."""
        return self.interface.observation_shape

    @property
    def constraints(self) -> Constraints:
        """What is allowed in every state."""
        return self.interface.constraints

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
    def statistics(self) -> Statistics:
        """What the wrappers of the environment know, such as `NormalizeObservation`."""
        if self.trainer is None:
            return self._loaded_statistics
        return merged(self.trainer.env.statistics())

    @property
    def _flat_state(self) -> FlatState:
        return self._loaded_state if self.trainer is None else self.trainer.state

    def set_env(self, env: AnyEnv, *, seed: int = 0) -> Self:
        """Learns on in another environment with the same spaces; replay fills up again first.

        Args:
            env: The environment, a vector of them, or an id.
            seed: Where the random numbers of the new environment come from.
        """
        raw = make_env(env) if isinstance(env, str) else env
        tree, step = self.state, self.step
        self._begin(
            self.interface.environments(raw),
            self.config,
            seed,
            getattr(self.agent, "structure", None),
        )
        assert self.trainer is not None
        self.trainer.continue_from(tree, step)
        return self

    def __repr__(self) -> str:
        weights = sum(leaf.size for leaf in jax.tree.leaves(self.state.online))
        hypergraph = getattr(self.agent, "hypergraph", None)
        sizes = " x ".join(map(str, self.actions.sizes))
        what = (
            f"{len(self.actions.sizes)} real actions"
            if hypergraph is None
            else f"sub-actions {sizes}, rank {hypergraph.rank}, {hypergraph.num_edges} hyperedges"
        )
        return (
            f"{type(self).__name__}(observations {self.observation_shape}, {what}, "
            f"{weights:,} weights, step {self.step:,})"
        )

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
        if warning := few_updates(trainer, until):
            warnings.warn(warning.replace("`", ""), stacklevel=2)
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
            observation: As the environment gives it, or a batch of such, as in `act`.
            state: Passed through; agents here have no recurrent state.
            episode_start: Not used, for the same reason.
            deterministic: The greedy action; otherwise one that the agent would explore with.
            mask: What is allowed, as in `act`.

        Returns:
            The action, and the state.
        """
        if deterministic:
            return self.act(observation, mask), state
        batch, masks, single = self.interface.read(observation, mask)
        if not len(batch):
            return self.interface.no_env_actions(self.agent.action_dtype), state
        explorer = self.agent.explorer(len(batch), np.random.default_rng())
        chosen = explorer.explore(
            self.step, masks, lambda: self._computed(batch, masks, explorer.inputs(self.step))
        )
        check_actions(chosen, self.agent, masks)
        return self.interface.env_actions(chosen, single=single), state

    def q_value(self, observation: Any, action: Any) -> NDArray[np.float32]:
        """The value of an action, one sub-action per vertex; for a batch, of each observation's.

        Args:
            observation: As the environment gives it.
            action: Integers, `[vertices]` or one row for each observation.
        """
        if self.config.continuous:
            raise ValueError(f"{self.name} values real actions; q_value is for sub-actions")
        batch, single = self.interface.read_observations(observation)
        rows = np.asarray(action)
        rows = rows[None] if rows.ndim == 1 else rows
        Hypergraph.of_orders(self.actions.sizes, [1]).indices(rows)  # Raises for what is no action.
        if len(rows) != len(batch):
            raise SettingError(f"`action` has {len(rows)} rows for {len(batch)} observations")
        values = np.asarray(_values(self.state.online, batch, rows.astype(np.int32)))
        return values[0] if single else values

    def act(self, observation: Any, mask: Any = None) -> Any:
        """The greedy action, as the environment takes it; for a batch of observations, each one's.

        Args:
            observation: As the environment gives it; or a batch: a list of such, an array, or the
                `Dict` and `Tuple` of arrays that Gymnasium's vector environments give.
            mask: What is allowed, in any form that an environment may give it; for a batch, one
                for each observation.
        """
        batch, masks, single = self.interface.read(observation, mask)
        if not len(batch):
            return self.interface.no_env_actions(self.agent.action_dtype)
        chosen = check_actions(self._computed(batch, masks), self.agent, masks)
        return self.interface.env_actions(chosen, single=single)

    def _computed(
        self, batch: NDArray[Any], masks: Mask | None, inputs: Any = None
    ) -> NDArray[Any]:
        """The network's actions: greedy, or what the exploration computes from its inputs."""
        return np.asarray(self.compiled.act(self._flat_state, batch, masks, inputs))

    def evaluate(
        self,
        env: AnyEnv,
        episodes: int = 10,
        seed: int = 0,
        on_episode: Callable[[Episode], None] = lambda episode: None,
        *,
        greedy: bool = False,
    ) -> list[Episode]:
        """Episodes of the almost greedy policy in an environment that it does not learn in.

        Wrappers with running statistics have those of training meanwhile, and learn nothing.

        Args:
            env: The environment, or an id.
            episodes: How many.
            seed: The seed of the environment and the policy.
            on_episode: Called with each of them.
            greedy: Take the best action always; otherwise the exploration may take random ones in
                evaluations too, as with epsilon-greedy's `evaluation`.
        """
        if isinstance(env, str):
            with closing(make_env(env)) as made:
                return self.evaluate(made, episodes, seed, on_episode, greedy=greedy)
        if isinstance(env, VectorEnv):
            raise ValueError("evaluate takes one environment, not a vector")
        episodes = _count("episodes", episodes)
        single = self.evaluation_env(env)
        evaluator = Evaluator(self.agent, self.compiled, lambda: single, greedy=greedy)
        played: list[Episode] = []
        with frozen(single.env.env, self.statistics):
            evaluator.begin(_count("seed", seed, least=0))
            for _ in range(episodes):
                episode = evaluator.episode(self._flat_state)
                assert episode is not None
                played.append(episode)
                on_episode(episode)
        return played

    def evaluation_env(self, env: gymnasium.Env[Any, Any]) -> Single:
        """An environment as the agent sees it, if it is one that the agent was made for."""
        single = self.interface.environments(env)
        assert isinstance(single, Single)
        return single

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
            self.interface.observations,
            self.statistics,
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
        envs = _interface_of(file).environments(raw)
        envs.load_statistics([file.statistics or {}])
        agent._begin(envs, file.config, seed, file.structure)
        assert agent.trainer is not None
        agent.trainer.continue_from(filled(agent.state, file.arrays), file.step)
        return agent

    @classmethod
    def from_hub(
        cls,
        source: str | Path,
        env: AnyEnv | None = None,
        *,
        revision: str | None = None,
        seed: int = 0,
        **parts: Any,
    ) -> Self:
        """The agent of a folder that `hyperaction export` wrote, or of a repository of the hub.

        Args:
            source: The folder, or a repository's name, such as `"user/name"`.
            env: The environment to learn in.
            revision: A branch, tag or commit of the repository.
            seed: Where all random numbers come from.
            parts: Parts of your own that the agent was made with, as in `load`.
        """
        return cls.load(hub_folder(source, revision), env, seed=seed, **parts)

    def _restore(self, file: AgentFile) -> None:
        self.config, self.interface = file.config, _interface_of(file)
        self._loaded_statistics = file.statistics or {}
        layout = None if file.observations is None else file.observations.layout
        sizes, shape = file.actions.sizes, file.observation_shape
        agent = file.config.build(sizes, shape, file.structure, layout)
        self.trainer = None
        self._loaded_agent, self._loaded_compiled = agent, Compiled(agent)
        template = jax.eval_shape(agent.init, jax.random.key(0))
        self._loaded_state, self._loaded_step = FlatState(filled(template, file.arrays)), file.step


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


@jax.jit
def _values(network: Any, observations: Any, actions: Any) -> Any:
    return jax.vmap(network)(observations, actions)


def _id_of(env: AnyEnv) -> str:
    if isinstance(env, str):
        return env
    return "" if env.spec is None else env.spec.id


def _interface_of(file: AgentFile) -> Interface:
    constraints = file.constraints or Constraints(file.actions.sizes)
    return Interface(file.observations, file.observation_shape, file.actions, constraints)
