"""What all agents share: they are made for an environment, learn, evaluate, and are saved."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self, Unpack

import gymnasium
import jax
from gymnasium.vector import VectorEnv

from hyperaction.agents.config import AgentConfig
from hyperaction.agents.growth import with_bins
from hyperaction.agents.presets import PresetName, config_for, with_fitting_orders
from hyperaction.agents.structure import Structure
from hyperaction.api.arguments import (
    AnyEnv,
    Origin,
    check_env,
    check_names,
    count,
    id_of,
    made,
    texts,
)
from hyperaction.api.learning import Wanted, learn
from hyperaction.api.policy import Policy
from hyperaction.api.settings import Settings
from hyperaction.constraints import Constraints, NoAction
from hyperaction.envs.action_maps import ActionMap
from hyperaction.envs.bins import BinsLike, as_options, whole_numbers
from hyperaction.envs.factoring import unused_bins
from hyperaction.envs.make import actions_of, make_env
from hyperaction.envs.statistics import Statistics, frozen, merged
from hyperaction.envs.vector import Environments, Single
from hyperaction.runs.loggers import Logger
from hyperaction.training.agent_file import AgentFile, arrays_of, filled, load, save
from hyperaction.training.assembly import assemble, maximisation
from hyperaction.training.backup import Backup
from hyperaction.training.callbacks import Callback
from hyperaction.training.compiled import Compiled, FlatState, compiled_for
from hyperaction.training.config import RUNS, default_preset
from hyperaction.training.env_edges import with_env_edges
from hyperaction.training.episodes import Episode
from hyperaction.training.evaluator import Evaluator
from hyperaction.training.hub import hub_folder
from hyperaction.training.interface import Interface, action_space, environments
from hyperaction.training.trainer import Trainer


class BaseAgent(Policy):
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
        **settings: Unpack[Settings],
    ) -> None:
        env_id = env if isinstance(env, str) else ""
        check_env(env)
        given_settings: dict[str, Any] = {**settings}
        check_names(given_settings)
        preset = preset or default_preset(self.name, id_of(env))
        config = config_for(self.name, preset, rank=rank, changes=given_settings)
        default = RUNS[preset].get("bins", (5,))
        given = default if bins is None else as_options(bins, default)
        config, env_bins = with_bins(config, given)
        raw = made(env)
        if bins is not None and (unused := unused_bins(action_space(raw))):
            warnings.warn(unused.replace("`", ""), stacklevel=2)
        actions = actions_of(
            env_id,
            raw,
            env_bins,
            action_shape,
            names=action_names,
            real_actions=config.continuous,
        )
        if rank is None and not settings.keys() & {"orders", "edges"}:
            config = with_fitting_orders(self.name, preset, config, len(actions.sizes))
        config = with_env_edges(config, env, actions.names)
        envs = environments(raw, actions, constraints, no_action)
        self.origin = Origin(
            env,
            preset,
            bins=given,
            action_shape=whole_numbers("action_shape", action_shape),
            action_names=tuple(action_names),
            constraints=texts(constraints),
        )
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
        self.backup = Backup()
        self.trainer: Trainer | None = Trainer(agent, env, count("seed", seed, least=0))

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
        envs = self.interface.environments(made(env))
        tree, step = self.state, self.step
        structure = getattr(self.agent, "structure", None)
        self._begin(envs, self.config, seed, structure, self.interface.no_action)
        self.origin = Origin(env, default_preset(self.name, id_of(env)))
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
        out: str | Path | None = None,
        eval_env: str | gymnasium.Env[Any, Any] | None = None,
        eval_every: int | None = None,
        eval_steps: int | None = None,
        checkpoint_every: int | None = None,
        progress_bar: bool = False,
        logger: Logger | str | Sequence[Logger | str] | None = None,
        log_interval: int | None = None,
    ) -> Self:
        """Learns for so many more steps. After Ctrl-C the agent can act, be saved and learn on.

        Args:
            steps: Environment steps, counted over all environments of a vector.
            callback: One callback or several; or a function of the trainer, called every step.
                What returns False stops the learning.
            out: A directory for the run, as `hyperaction train` writes it. One that holds this run
                is resumed from its last checkpoint; one of other settings is refused. Without it,
                nothing is written.
            eval_env: An environment to evaluate in, or an id; with `out`, an agent whose own
                environment was given as an id evaluates in that by default.
            eval_every: Steps between evaluations; 10,000 by default.
            eval_steps: Steps of an evaluation, at least: it is whole episodes; 5,000 by default.
            checkpoint_every: Steps between checkpoints besides those after every evaluation.
            progress_bar: Show progress, and a line for every evaluation.
            logger: Takes metrics: an object with `log(metrics, step)`, the name of a logger that
                writes into `out`, or several; an empty list is none, also of those of `out`.
            log_interval: Steps between metrics where nothing is evaluated; 1,000 by default, and
                10,000 with `out`.
        """
        if self.trainer is None:
            raise ValueError("an agent loaded without an environment cannot learn; pass env=")
        counts = {
            "eval_every": eval_every, "eval_steps": eval_steps, "log_interval": log_interval,
            "checkpoint_every": checkpoint_every,
        }  # fmt: skip
        wanted = Wanted(
            steps=count("steps", steps),
            callback=callback,
            out=None if out is None else Path(out),
            eval_env=eval_env,
            progress_bar=progress_bar,
            logger=logger,
            **{name: None if n is None else count(name, n) for name, n in counts.items()},
        )
        learn(self, wanted)
        return self

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
        episodes = count("episodes", episodes)
        single = self.evaluation_env(env)
        evaluator = Evaluator(self.agent, self.compiled, lambda: single, greedy=greedy)
        played: list[Episode] = []
        with frozen(single.env.env, self.statistics):
            evaluator.begin(count("seed", seed, least=0))
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
            self.interface.no_action,
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
        envs = _interface_of(file).environments(made(env))
        envs.load_statistics([file.statistics or {}])
        agent._begin(envs, file.config, seed, file.structure, file.no_action)
        agent.origin = Origin(env, default_preset(cls.name, id_of(env)))
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
        self._loaded_agent, self._loaded_compiled = agent, compiled_for(agent)
        template = jax.eval_shape(self._loaded_compiled.init, jax.random.key(0))
        self._loaded_state, self._loaded_step = FlatState(filled(template, file.arrays)), file.step


def _interface_of(file: AgentFile) -> Interface:
    constraints = file.constraints or Constraints(file.actions.sizes)
    shape, no_action = file.observation_shape, file.no_action
    return Interface(file.observations, shape, file.actions, constraints, no_action)
