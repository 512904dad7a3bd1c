"""An agent in its environments, with everything that changes as it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.minibatch import Minibatch
from hyperaction.environments import Environments, Steps
from hyperaction.replay import NStep, Priorities, make_replay
from hyperaction.training.programs import Agent, Flat, Programs, allowed


class DivergedError(RuntimeError):
    """Learning that produced a number that is not finite."""


LOSS_PERIOD = 100
"""Steps between looks at the loss: each one waits for the update."""


class Episode(NamedTuple):
    """An episode that came to its end."""

    total: float
    """Its undiscounted return."""
    length: int


class Phase:
    """What has happened since the last evaluation."""

    def __init__(self, number: int, first: int) -> None:
        self.number, self.first = number, first
        self.episodes: list[Episode] = []
        self.losses: list[float] = []
        self.actions: list[NDArray[Any]] = []
        """All actions since the environment was made, or since its episode began if it can be
        brought back there: with that, they are its state."""
        self.over = False


class Training:
    """An agent in its environments, with everything that changes as it learns.

    Args:
        agent: The functions of the agent.
        env: Its environments, or what makes them. What is made is made anew for every phase, so
            that a run can go on later from where a phase began: simulators carry state that
            nobody can see from one episode into the next.
        seed: Where all random numbers come from.
    """

    def __init__(
        self, agent: Agent, env: Environments | Callable[[], Environments], seed: int
    ) -> None:
        self.agent, self.seed = agent, seed
        self.make_env = env if callable(env) else None
        self.env: Environments = env() if callable(env) else env
        self.settings = settings = agent.settings
        start, act, replay = (int(word) for word in np.random.SeedSequence(seed).generate_state(3))
        self.random = np.random.default_rng(replay)
        self.explorer = agent.explorer(self.env.count, np.random.default_rng(act))
        self.programs = Programs(agent)
        self.state = Flat(self.programs.start(jax.random.key(start)))
        self.n_steps = [NStep(settings.n_step, settings.discount) for _ in range(self.env.count)]
        self.priorities = Priorities(settings.replay_size) if settings.prioritised else None
        self.env.reset(self.env_seed(0))
        self.ring = make_replay(
            settings.replay_size,
            self.env,
            agent.action_length,
            agent.action_dtype,
            None if self.env.mask is None else self.env.mask.shape[1],
        )
        self.kept: list[NDArray[Any] | None] = [None] * self.env.count
        """The observations to act on, as transitions hold them; none where an episode begins."""
        self.step = self.empty_since = 0
        self.phase = Phase(0, 0)
        self.loss: jax.Array | None = None
        self.totals, self.lengths = [0.0] * self.env.count, [0] * self.env.count
        self.next_greedy: jax.Array | None = None
        """The greedy action for the next step, if the last update has found it already."""

    def env_seed(self, phase: int, *, evaluation: bool = False) -> int:
        """The seed of the environment that a phase, or its evaluation, begins with."""
        words = np.random.SeedSequence([self.seed, phase, int(evaluation)]).generate_state(1)
        return int(words[0])

    def begin_phase(self) -> None:
        """The next phase, in an environment that is made anew if it can be."""
        self.phase = Phase(self.phase.number + 1, self.step)
        if self.make_env is not None:
            self.remake_env()
            self.begin_episodes()

    def begin_episodes(self) -> None:
        """Forgets episodes that were not finished."""
        for place in range(self.env.count):
            self.n_steps[place].steps.clear()
            self.totals[place], self.lengths[place] = 0.0, 0
            self.explorer.restart(place)

    def remake_env(self) -> None:
        """The environment as the phase began in it."""
        assert self.make_env is not None
        self.env.close()
        self.env = self.make_env()
        self.env.reset(self.env_seed(self.phase.number))
        self.kept = [None] * self.env.count
        self.next_greedy = None

    def advance(self) -> list[Episode]:
        """One step in every environment, and the learning that goes with it; what ended."""
        observations = self.env.observation
        actions = self.explorer.explore(self.step, self.env.mask, self._greedy)
        found = self.env.step(actions)
        if self.make_env is not None:
            self.phase.actions.append(actions)
        ended: list[Episode] = []
        first = self.step
        for place in range(self.env.count):
            if not found.real[place]:
                continue
            self.step += 1
            self.totals[place] += float(found.reward[place])
            self.lengths[place] += 1
            self._store(place, observations[place], actions[place], found)
            if found.terminated[place] or found.truncated[place]:
                ended.append(Episode(self.totals[place], self.lengths[place]))
                self.totals[place], self.lengths[place] = 0.0, 0
                self.explorer.restart(place)
        if ended and self.env.episode_start is not None:
            self.phase.actions.clear()
        self.next_greedy = None
        self._learn(range(first + 1, self.step + 1))
        self.phase.episodes += ended
        return ended

    def go_on(self, tree: Any, step: int) -> None:
        """Takes over what an agent had learned by that step; replay fills up again first."""
        self.state, self.step, self.empty_since = Flat(tree), step, step
        self.phase.first = step

    def _store(
        self, place: int, observation: NDArray[Any], action: NDArray[Any], found: Steps
    ) -> None:
        kept = self.kept[place]
        kept = self.ring.keep(observation, None) if kept is None else kept
        next_kept = self.ring.keep(found.observation[place], kept)
        reward, clip = float(found.reward[place]), self.settings.reward_clip
        terminated, truncated = bool(found.terminated[place]), bool(found.truncated[place])
        self.kept[place] = None if terminated or truncated else next_kept
        transitions = self.n_steps[place].add(
            kept,
            action,
            min(max(reward, -clip), clip) if clip else reward,
            next_kept,
            terminated=terminated,
            truncated=truncated,
            next_mask=None if found.mask is None else found.mask[place],
        )
        stored = [self.ring.add(transition) for transition in transitions]
        forgotten = self.ring.forgotten()
        if self.priorities is not None:
            self.priorities.renew(forgotten, stored)

    def _greedy(self) -> NDArray[Any]:
        if self.next_greedy is None:
            self.next_greedy = self.programs.act(self.state, self.env.observation, self.env.mask)
        return allowed(np.asarray(self.next_greedy))

    def _learn(self, steps: range) -> None:
        """As many updates as these steps ask for, however many environments took them."""
        settings = self.settings
        due = [step for step in steps if step - self.empty_since > settings.replay_start]
        if len(self.ring) < settings.minibatch:  # Transitions over n steps come n steps later.
            if due and self.ring.is_full:
                raise ValueError(
                    f"--replay-size {settings.replay_size} holds {len(self.ring)} transitions, "
                    f"fewer than --minibatch {settings.minibatch}"
                )
            return
        updates = [step for step in due if step % settings.update_period == 0]
        for step in due:
            if updates and step % settings.update_period == 0:
                self._update(and_act=step == updates[-1])
            if not settings.polyak and step % settings.target_period == 0:
                self.state = self.programs.copy_target(self.state)
            if step % LOSS_PERIOD == 0 and self.loss is not None:
                self._note_loss(step)

    def _update(self, *, and_act: bool) -> None:
        count = self.settings.minibatch
        weight = None
        if self.priorities is None:
            places = self.ring.draw(count, self.random)
        else:
            places = self.priorities.sample(count, self.random)
            weight = self.priorities.weights(places)
        batch = Minibatch(*self.ring.take(places), weight)  # type: ignore[arg-type]
        if and_act:
            self.state, learned, self.next_greedy = self.programs.learn_and_act(
                self.state, batch, self.env.observation, self.env.mask
            )
        else:
            self.state, learned = self.programs.learn(self.state, batch)
        if self.priorities is not None:
            # As Dopamine's: none is so small that its weight drowns those of the others.
            self.priorities.set(places, np.sqrt(np.asarray(learned.losses) + 1e-10))
        self.loss = learned.loss

    def _note_loss(self, step: int) -> None:
        loss = float(np.asarray(self.loss))
        if not np.isfinite(loss):
            raise DivergedError(f"the loss is {loss} at step {step:,}")
        self.phase.losses.append(loss)
