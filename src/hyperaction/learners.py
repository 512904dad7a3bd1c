"""Agents in the shape people know: made for an environment, then `learn`, `act`, `save`, `load`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import gymnasium
import jax
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from hyperaction.agents.build import build
from hyperaction.agents.presets import (
    PRESETS,
    AgentName,
    PresetName,
    preset,
    usual_preset,
    with_rank,
)
from hyperaction.agents.settings import LoopSettings
from hyperaction.environments import Environments, Factored, Single, Vector, make_env
from hyperaction.environments.actions import ActionMap, fits
from hyperaction.environments.factored import actions_of
from hyperaction.saving import Saved, arrays_of, filled, load, save
from hyperaction.training import (
    Callback,
    Episode,
    Evaluation,
    Flat,
    Programs,
    Training,
    allowed,
    train,
)
from hyperaction.training.memory import check_fits

AnyEnv = str | gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]


class Learner:
    """An agent and the environment that it learns in.

    Args:
        env: A Gymnasium environment, a vector of them, or an id.
        rank: All hyperedges up to this order; by default the agent's own.
        preset: `"physical"` or `"atari"`, the paper's settings, or `"modern"`, which learns faster;
            by default the first, or the second where the id is that of a game of ALE/.
        seed: Where all random numbers come from.
        bins: Sub-actions per dimension of a `Box` action space: one number, or one per dimension.
        action_shape: The sizes that a `Discrete` action space is the product of.
        changes: Any other settings of the agent, by name.
    """

    name: ClassVar[AgentName]

    def __init__(
        self,
        env: AnyEnv,
        *,
        rank: int | None = None,
        preset: PresetName | None = None,
        seed: int = 0,
        bins: Sequence[int] | int = 5,
        action_shape: Sequence[int] = (),
        **changes: Any,
    ) -> None:
        name = env if isinstance(env, str) else ""
        settings = _settings(self.name, preset or usual_preset(name), rank, changes)
        bins = (bins,) if isinstance(bins, int) else tuple(bins)
        raw = make_env(env) if isinstance(env, str) else env
        space = raw.single_action_space if isinstance(raw, VectorEnv) else raw.action_space
        real = self.name == "ddpg"
        actions = actions_of(name, space, bins, action_shape, real_actions=real)
        self._begin(_environments(raw, actions), settings, seed)

    def _begin(self, env: Environments, settings: LoopSettings, seed: int) -> None:
        self.settings, self.actions = settings, env.actions
        self.observation_shape = env.observation_shape
        self.agent = build(settings, env.actions, env.observation_shape)
        check_fits(settings, env, self.agent.action_length)
        self.training: Training | None = Training(self.agent, env, seed)
        self.programs = self.training.programs

    @property
    def step(self) -> int:
        """Environment steps that the agent has learned from."""
        return self._loaded_step if self.training is None else self.training.step

    @property
    def state(self) -> Any:
        """All that the agent has learned, one pytree."""
        return self._flat_state.tree

    @property
    def _flat_state(self) -> Flat:
        return self._loaded_state if self.training is None else self.training.state

    def learn(
        self, steps: int, callback: Callback | Sequence[Callback] | Callable[..., Any] | None = None
    ) -> Self:
        """Learns for so many more steps.

        Args:
            steps: Environment steps, counted over all environments of a vector.
            callback: One callback or several; or a function of the training, called every step.
                What returns False stops the learning.
        """
        if self.training is None:
            raise ValueError("an agent loaded without an environment cannot learn; pass env=")
        if steps < 1:
            raise ValueError(f"steps {steps} is below 1")
        train(self.training, self.training.step + steps, _callbacks(callback), exact=True)
        return self

    def act(self, observation: Any, mask: Any = None) -> Any:
        """The greedy action, as the environment takes it; for a batch of observations, each one's.

        Args:
            observation: As the environment gives it.
            mask: What is allowed, per sub-action or per entry of the hyperedges' tables.
        """
        batch, single = self._observations(observation)
        masks = None if mask is None else np.asarray(mask, bool)
        if single and masks is not None:
            masks = masks[None]
        if masks is not None and (masks.ndim != 2 or len(masks) != len(batch)):
            raise ValueError(f"{len(batch)} observations need as many masks, not {masks.shape}")
        chosen = allowed(np.asarray(self.programs.act(self._flat_state, batch, masks)))
        actions = [self.actions(action) for action in chosen]
        return actions[0] if single else np.stack(actions)

    def evaluate(
        self,
        env: AnyEnv,
        episodes: int = 10,
        seed: int = 0,
        told: Callable[[Episode], None] = lambda episode: None,
    ) -> list[Episode]:
        """Episodes of the almost greedy policy in an environment that it does not learn in."""
        if isinstance(env, str):
            with closing(make_env(env)) as made:
                return self.evaluate(made, episodes, seed, told)
        if isinstance(env, VectorEnv):
            raise ValueError("evaluate takes one environment, not a vector")
        judged = Single(Factored(env, self.actions))
        self._check_fits(judged, env.action_space)
        judge = Evaluation(self.agent, self.programs, lambda: judged)
        judge.begin(seed)
        played: list[Episode] = []
        for _ in range(episodes):
            episode = judge.episode(self._flat_state)
            assert episode is not None
            played.append(episode)
            told(episode)
        return played

    def save(self, path: str | Path) -> None:
        """Writes the agent into one file; `load` brings it back."""
        save(Path(path), self._saved())

    @classmethod
    def load(cls, path: str | Path, env: AnyEnv | None = None, *, seed: int = 0) -> Self:
        """The agent of a file, or of a run's directory; with an environment it can learn on."""
        saved = load(Path(path))
        if saved.name != cls.name:
            raise ValueError(f"{path} holds the agent {saved.name}, not {cls.name}")
        learner = cls.__new__(cls)
        if env is None:
            learner._restore(saved)
            return learner
        raw = make_env(env) if isinstance(env, str) else env
        envs = _environments(raw, saved.actions)
        learner.actions, learner.observation_shape = saved.actions, saved.observation_shape
        space = raw.single_action_space if isinstance(raw, VectorEnv) else raw.action_space
        learner._check_fits(envs, space)
        learner._begin(envs, saved.settings, seed)
        assert learner.training is not None
        learner.training.go_on(filled(learner.state, saved.arrays), saved.step)
        return learner

    def _restore(self, saved: Saved) -> None:
        self.settings, self.actions = saved.settings, saved.actions
        self.observation_shape = saved.observation_shape
        self.agent = build(saved.settings, saved.actions, saved.observation_shape)
        self.training = None
        self.programs = Programs(self.agent)
        template = jax.eval_shape(self.agent.start, jax.random.key(0))
        self._loaded_state, self._loaded_step = Flat(filled(template, saved.arrays)), saved.step

    def _saved(self) -> Saved:
        return Saved(
            self.name,
            self.settings,
            self.actions,
            self.observation_shape,
            self.step,
            arrays_of(self.state),
        )

    def _check_fits(self, env: Environments, space: gymnasium.Space[Any]) -> None:
        """Refuses an environment that the agent was not made for."""
        if env.observation_shape != self.observation_shape:
            raise ValueError(
                f"the agent knows observations of shape {self.observation_shape}, the environment "
                f"gives {env.observation_shape}"
            )
        if not fits(self.actions, space):
            raise ValueError(f"the agent's actions are not those of the environment, {space}")

    def _observations(self, observation: Any) -> tuple[NDArray[Any], bool]:
        if self.training is not None and self.training.env.is_raw(observation):
            return self.training.env.flatten(observation)[None], True
        if isinstance(observation, (dict, tuple)):
            raise ValueError("to act on a Dict or Tuple, load the agent with env=; one at a time")
        array = np.asarray(observation)
        if array.dtype != np.uint8:  # Images stay bytes.
            array = array.astype(np.float32, copy=False)
        if array.shape == self.observation_shape:
            return array[None], True
        if array.shape[1:] == self.observation_shape:
            return array, False
        raise ValueError(
            f"an observation has shape {self.observation_shape}, this one has {array.shape}"
        )


class HGQN(Learner):
    """A hypergraph Q-network."""

    name = "hgqn"


class DQN(Learner):
    """A deep Q-network: one value for every joint action."""

    name = "dqn"


class Rainbow(Learner):
    """The paper's simplified Rainbow."""

    name = "rainbow"


class HGRainbow(Learner):
    """The simplified Rainbow on a hypergraph."""

    name = "hg-rainbow"


class BDQN(Learner):
    """Branching DQN: every vertex learns by itself."""

    name = "bdqn"


class DDPG(Learner):
    """Deep deterministic policy gradients, for `Box` actions as they are."""

    name = "ddpg"


LEARNERS: dict[AgentName, type[Learner]] = {
    each.name: each for each in (HGQN, DQN, Rainbow, HGRainbow, BDQN, DDPG)
}


def _settings(
    name: AgentName, kind: PresetName, rank: int | None, changes: dict[str, Any]
) -> LoopSettings:
    if kind not in PRESETS:
        raise ValueError(f"no preset is called {kind!r}; there is {', '.join(PRESETS)}")
    settings = preset(name, kind)
    names = [field.name for field in fields(settings)]
    for change in changes:
        if change not in names:
            near = difflib.get_close_matches(change, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise ValueError(f"{name} has no setting {change}; {hint}")
    frozen: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in changes.items()
    }
    if "edges" in frozen:  # Python has tuples for what the command line writes with commas.
        frozen["edges"] = tuple(
            edge if isinstance(edge, str) else ",".join(map(str, edge)) for edge in frozen["edges"]
        )
    settings = replace(settings, **frozen)
    return settings if rank is None else with_rank(name, settings, rank)


def _environments(
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any], actions: ActionMap
) -> Environments:
    if isinstance(env, VectorEnv):
        return Vector(env, actions)
    return Single(Factored(env, actions))


class _EveryStep(Callback):
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def on_step(self, training: Training) -> bool | None:
        return self.function(training)


def _callbacks(given: Any) -> list[Callback]:
    several = given if isinstance(given, (list, tuple)) else [] if given is None else [given]
    return [each if isinstance(each, Callback) else _EveryStep(each) for each in several]
