"""The trainer: an agent in its environments, with everything that changes as it learns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.batch import Batch
from hyperaction.agents.targets import with_update
from hyperaction.envs.resumable import Resumable
from hyperaction.envs.vector import Environments, Steps
from hyperaction.errors import SettingError
from hyperaction.replay.buffer import ReplayBuffer, Step
from hyperaction.training.agent_file import arrays_of, filled
from hyperaction.training.compiled import (
    Agent,
    DivergedError,
    FlatState,
    check_actions,
    compiled_for,
)
from hyperaction.training.episodes import Episode, summary
from hyperaction.training.phase import Phase
from hyperaction.training.services import TrainerServices, checked_name
from hyperaction.training.structure import adopt, change_if_due, state_like, state_of

LOSS_INTERVAL = 100
"""Steps between readings of the loss: each one waits for the update."""


class Trainer:
    """An agent in its environments, with everything that changes as it learns.

    Args:
        agent: The functions of the agent.
        env: Its environments, or a function that makes them. With a function they are made again
            for every phase, so that a run can be resumed exactly; those that are `Resumable`
            already have been reset.
        seed: Where all random numbers come from.
    """

    def __init__(
        self, agent: Agent, env: Environments | Callable[[], Environments] | Resumable, seed: int
    ) -> None:
        self.agent, self.config, self.seed = agent, agent.config, seed
        init, act, replay = (int(word) for word in np.random.SeedSequence(seed).generate_state(3))
        self.env: Environments | Resumable
        if callable(env):
            self.env = Resumable(env, self.env_seed(0))
        else:
            self.env = env
            if not isinstance(env, Resumable):
                env.reset(self.env_seed(0))
        if self.env.mask is not None and (self.env.mask.length or agent.config.continuous):
            agent.check_masks()
        self.explorer = agent.explorer(self.env.num_envs, np.random.default_rng(act))
        self.compiled = compiled_for(agent)
        self.state = FlatState(self.compiled.init(jax.random.key(init)))
        self.replay = ReplayBuffer(
            self.config,
            self.env,
            action_length=agent.action_length,
            action_dtype=agent.action_dtype,
            mask_length=None if self.env.mask is None else self.env.mask.length,
            num_envs=self.env.num_envs,
            rng=np.random.default_rng(replay),
        )
        self.step = 0
        self.is_busy = False
        """Whether a step is being chosen, stored or learned from, which must not be interrupted:
        the state is handed to a program that gives a new one, and JAX may be compiling."""
        self._is_env_lost = False
        """Whether a step of the environment was interrupted, so that a new episode must begin."""
        self.replay_empty_at = 0
        """The step at which replay was empty: learning starts so many steps later."""
        self.phase = Phase(0, 0)
        self.services = TrainerServices()
        self.changes: list[dict[str, Any]] = []
        """What is known of each change of the hyperedges or sub-actions."""
        self.returns: list[float] = []
        """Of the last episodes, where the sub-actions grow when returns stall."""
        self.loss: jax.Array | None = None
        self._statistics: dict[str, jax.Array] = {}
        self._losses: jax.Array | None = None
        """Of the last update, until replay has taken them for priorities."""
        self.totals, self.lengths = [0.0] * self.env.num_envs, [0] * self.env.num_envs
        self.next_greedy: jax.Array | None = None
        """The network's actions for the next step (greedy, or computed from the explorer's inputs),
        if the last update has computed them already."""

    def env_seed(self, phase: int, *, evaluation: bool = False, step: int | None = None) -> int:
        """The seed of the environment that a phase, or its evaluation, begins with.

        Args:
            phase: The number of the phase.
            evaluation: Whether it is that of an evaluation.
            step: The step of an evaluation that a callback asked for.
        """
        return env_seed(self.seed, phase, evaluation=evaluation, step=step)

    @property
    def evaluations(self) -> list[dict[str, float]]:
        """The metrics of all evaluations so far, those before a run was resumed too."""
        return self.services.evaluations

    @property
    def out(self) -> Path | None:
        """The directory of the run, if there is one."""
        return self.services.out

    def record(self, name: str, value: float) -> None:
        """Logs a number of your own with the metrics of this phase; the last one counts."""
        self.phase.statistics[checked_name(name)] = float(value)

    def evaluate(self) -> dict[str, float]:
        """Evaluates now, as after a phase: it is logged, and callbacks get it; its metrics."""
        return self.services.evaluate()

    def save(self) -> None:
        """Asks for a checkpoint of the run, which is written with this step or the next."""
        self.services.ask_to_save()

    def save_agent(self, file: Path) -> None:
        """Writes the agent as it is now into a file, as `agent.save` does."""
        self.services.save_agent(file)

    def use_env(self, env: Environments | Resumable) -> None:
        """Continues in other environments, which have been reset."""
        self.env = env
        self._drop_episodes()

    def lose_env(self) -> None:
        """Others have used the environment meanwhile: the next step begins a new episode."""
        self._is_env_lost = True

    def begin_phase(self) -> None:
        """Begins the next phase, in new environments if they can be made."""
        self.phase = Phase(self.phase.number + 1, self.step)
        if isinstance(self.env, Resumable):
            self.env.remake(self.env_seed(self.phase.number))
            self._drop_episodes()

    def _drop_episodes(self) -> None:
        """Drops episodes that did not end."""
        self.replay.drop_unfinished()
        self.next_greedy = None
        for env_index in range(self.env.num_envs):
            self._begin_episode(env_index)

    def _begin_episode(self, env_index: int) -> None:
        self.totals[env_index], self.lengths[env_index] = 0.0, 0
        self.explorer.begin_episode(env_index)

    def advance(self) -> list[Episode]:
        """One step in every environment, and the learning that goes with it; ended episodes.

        Whatever is raised in it, the trainer can act, be saved and advance again.
        """
        self.is_busy = True
        try:
            observations, actions, result = self._step_env()
            self._is_env_lost = False
            ended = self._store(observations, actions, result)
            self.phase.episodes += ended
            change_if_due(self, ended)
            return ended
        finally:
            self.is_busy = False

    def _step_env(self) -> tuple[NDArray[Any], NDArray[Any], Steps]:
        """What was observed, the actions taken, and what they led to."""
        if self._is_env_lost:
            with self._interruptible():
                self.env.reset(self.env_seed(self.step))
            self._drop_episodes()
        observations, masks = self.env.observation, self.env.mask
        actions = self.explorer.explore(self.step, masks, self._greedy)
        check_actions(actions, self.agent, masks)
        self._is_env_lost = True  # Until the step is stored.
        with self._interruptible():
            result = self.env.step(actions)
        return observations, actions, result

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """The environment's own code may be interrupted: nothing here depends on its end."""
        self.is_busy = False
        yield
        self.is_busy = True

    def _store(
        self, observations: NDArray[Any], actions: NDArray[Any], result: Steps
    ) -> list[Episode]:
        """Stores a step and learns from it; ended episodes."""
        self._finish_update()
        ended: list[Episode] = []
        first = self.step
        for env_index in range(self.env.num_envs):
            if not result.is_transition[env_index]:
                continue
            self.step += 1
            self.totals[env_index] += float(result.reward[env_index])
            self.lengths[env_index] += 1
            step = _step_of(env_index, observations, actions, result)
            self.replay.add(env_index, step)
            if step.terminated or step.truncated:
                ended.append(Episode(self.totals[env_index], self.lengths[env_index]))
                self._begin_episode(env_index)
        self.next_greedy = None
        self._learn(range(first + 1, self.step + 1))
        return ended

    def updates_until(self, step: int) -> int:
        """How many updates the steps up to this one will make."""
        starts = max(self.step, self.replay_empty_at + self.config.learning_starts)
        times = max(0, step - starts) // self.config.train_frequency
        return times * self.config.gradient_steps

    def metrics(self) -> dict[str, float]:
        """What to log of the phase."""
        metrics = summary(self.step, self.phase.episodes) | self.explorer.metrics(self.step)
        if self.phase.losses:
            metrics["loss"] = float(np.mean(self.phase.losses))
        return metrics | self.phase.statistics

    def continue_from(self, tree: Any, step: int) -> None:
        """Takes over what an agent had learned by a step; replay fills up again first."""
        self.state, self.step, self.replay_empty_at = FlatState(tree), step, step
        self.phase.first = step

    def replace_agent(self, agent: Agent, tree: Any) -> None:
        """Continues with an agent of other hyperedges, and its state."""
        self._finish_update()
        self.agent, self.compiled, self.state = agent, compiled_for(agent), FlatState(tree)
        explorer = agent.explorer(self.env.num_envs, self.explorer.rng)
        explorer.load_state_dict(self.explorer.state_dict())
        self.explorer, self.next_greedy = explorer, None

    def replace_state(self, leaves: Sequence[NDArray[Any]]) -> None:
        """Takes the arrays of an earlier state in place of one that a failed update has lost."""
        arrays = [jax.numpy.asarray(leaf) for leaf in leaves]
        self.state = FlatState.tree_unflatten(self.state.structure, arrays)
        self.next_greedy = self.loss = self._losses = None

    def drop_replay_before(self, numbers: Mapping[str, int]) -> None:
        """Continues without what came before a number of each of these streams of replay.

        Learning waits until as many transitions are there as at its start.
        """
        self.replay.drop_before(numbers)
        self.replay_empty_at = max(self.replay_empty_at, self.step - len(self.replay))

    def _greedy(self) -> NDArray[Any]:
        if self.next_greedy is None:
            self.next_greedy = self.compiled.act(self.state, *self._observed())
        return np.asarray(self.next_greedy)

    def _observed(self) -> tuple[Any, Any, Any]:
        """What the next actions are computed from: observations, masks, the explorer's inputs."""
        return self.env.observation, self.env.mask, self.explorer.inputs(self.step)

    def _learn(self, steps: range) -> None:
        """As many updates as these steps ask for, however many environments took them."""
        config = self.config
        due = [step for step in steps if step - self.replay_empty_at > config.learning_starts]
        if len(self.replay) < config.batch_size:  # Transitions over n steps come n steps later.
            if due and self.replay.is_full:
                raise SettingError(
                    f"`buffer_size` {config.buffer_size} holds {len(self.replay)} transitions, "
                    f"fewer than `batch_size` {config.batch_size}"
                )
            return
        updates = [step for step in due if step % config.train_frequency == 0]
        copies = not with_update(config.target)
        for step in due:
            if updates and step % config.train_frequency == 0:
                for left in reversed(range(config.gradient_steps)):
                    self._update(and_act=step == updates[-1] and not left)
            if copies and config.target.is_due(step):
                self.state = self.compiled.update_target(self.state)
            if step % LOSS_INTERVAL == 0 and self.loss is not None:
                self._log_loss()

    def _update(self, *, and_act: bool) -> None:
        """One update, and maybe the next greedy actions: of the new parameters, or of the old."""
        self._finish_update()
        batch = Batch(*self.replay.sample(self.config.batch_size))  # type: ignore[arg-type]
        if self.env.mask is not None:
            batch = batch._replace(next_mask=replace(self.env.mask, rows=batch.next_mask))
        overlap = self.config.overlap
        if and_act and overlap:
            # Computed before the update, which then runs while the environment steps. Neither is
            # waited for: a random action needs no greedy one.
            self.next_greedy = self.compiled.act(self.state, *self._observed())
        if and_act and not overlap:
            self.state, info, self.next_greedy = self.compiled.update_and_act(
                self.state, batch, *self._observed()
            )
        else:
            self.state, info = self.compiled.update(self.state, batch)
        self.loss, self._losses, self._statistics = info
        if not overlap:
            self._finish_update()

    def _finish_update(self) -> None:
        """Gives replay the losses of the last update; with priorities, this waits for it."""
        if self._losses is not None:
            self.replay.update_priorities(self._losses)
            self._losses = None

    def _log_loss(self) -> None:
        loss = float(np.asarray(self.loss))
        if not np.isfinite(loss):
            raise DivergedError(f"the agent has diverged: its loss is {loss}")
        self.phase.losses.append(loss)
        read = {name: float(value) for name, value in self._statistics.items()}
        self.phase.statistics.update(read)

    def state_dict(self) -> dict[str, Any]:
        """Everything but replay's streams."""
        self._finish_update()
        arrays = arrays_of(self.state.tree)
        for name, array in arrays.items():
            if name.startswith(".online") and not np.isfinite(array).all():
                raise DivergedError(f"the agent has diverged: its parameter {name} is not finite")
        return {
            "step": self.step,
            "replay_empty_at": self.replay_empty_at,
            "loss": None if self.loss is None else float(self.loss),
            "totals": self.totals,
            "lengths": self.lengths,
            # Computed again by itself, it might differ in a last bit.
            "next_greedy": None if self.next_greedy is None else np.asarray(self.next_greedy),
            "agent": arrays,
            "replay": self.replay.state_dict(),
            "explorer": self.explorer.state_dict(),
            "phase": self.phase.state_dict(),
            "env": self.env.state_dict() if isinstance(self.env, Resumable) else None,
            **state_of(self),
        }

    def state_like(self) -> dict[str, Any]:
        """What a state looks like that can be loaded; see `hyperaction.runs.state`."""
        actions = np.zeros((self.env.num_envs, self.agent.action_length), self.agent.action_dtype)
        return self.state_dict() | {
            "loss": (None, 0.0),
            "next_greedy": (None, actions),
            "replay": self.replay.state_like(),
            "explorer": self.explorer.state_like(),
            "phase": self.phase.state_like(),
            "env": self.env.state_like(actions) if isinstance(self.env, Resumable) else None,
            **state_like(self),
        }

    def adopt(self, state: Any) -> None:
        """Takes the hyperedges of a state, which decide what the rest of it looks like."""
        adopt(self, state)

    def load_state_dict(self, state: dict[str, Any]) -> bool:
        """Restores what `state_dict` gave, after replay's streams.

        Whether the environment is back where it was; one that is not deterministic, or was not
        made here, begins a new episode.
        """
        self.state = FlatState(filled(self.state.tree, state["agent"]))
        self.step, self.replay_empty_at = state["step"], state["replay_empty_at"]
        self.totals, self.lengths = list(state["totals"]), list(state["lengths"])
        self.loss = None if state["loss"] is None else jax.numpy.float32(state["loss"])
        self.replay.load_state_dict(state["replay"])
        self._losses = None
        self.explorer.load_state_dict(state["explorer"])
        self.phase.load_state_dict(state["phase"])
        if not isinstance(self.env, Resumable) or not self.env.load_state_dict(state["env"]):
            self._drop_episodes()
            return False
        greedy = state["next_greedy"]
        self.next_greedy = None if greedy is None else jax.numpy.asarray(greedy)
        return True


def env_seed(seed: int, phase: int, *, evaluation: bool = False, step: int | None = None) -> int:
    """The seed of the environment that a phase, or an evaluation, begins with."""
    words = [seed, phase, int(evaluation), *([] if step is None else [step])]
    return int(np.random.SeedSequence(words).generate_state(1)[0])


def _step_of(
    env_index: int, observations: NDArray[Any], actions: NDArray[Any], result: Steps
) -> Step:
    return Step(
        observations[env_index],
        actions[env_index],
        float(result.reward[env_index]),
        result.observation[env_index],
        bool(result.terminated[env_index]),
        bool(result.truncated[env_index]),
        None if result.mask is None else result.mask[env_index].rows,
    )
