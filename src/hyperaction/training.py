"""The only loop: act, step, store, update, evaluate, and tell whoever listens."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.agents.exploration import Explorer
from hyperaction.agents.minibatch import Learned, Minibatch
from hyperaction.agents.settings import LoopSettings
from hyperaction.environments import Environments
from hyperaction.replay import NStep, Priorities, Ring


class Agent(Protocol):
    """The functions of an agent; `State` is all that it learns and remembers, one pytree."""

    @property
    def settings(self) -> LoopSettings:
        """What the loop needs to know."""
        ...

    @property
    def action_length(self) -> int:
        """Numbers in an action."""
        ...

    @property
    def action_dtype(self) -> type[np.generic]:
        """Their type."""
        ...

    def explorer(self, count: int, random: np.random.Generator) -> Explorer:
        """What explores in so many environments."""
        ...

    def start(self, key: PRNGKeyArray) -> Any:
        """The state of an agent that knows nothing."""
        ...

    def act(self, state: Any, observation: Any, mask: Any) -> jax.Array:
        """The greedy action."""
        ...

    def learn(self, state: Any, batch: Minibatch) -> tuple[Any, Learned]:
        """One update on a minibatch."""
        ...

    def copy_target(self, state: Any) -> Any:
        """The target network becomes the online network."""
        ...


@jax.tree_util.register_pytree_node_class
class Flat:
    """A pytree kept as its leaves: modules take longer to take apart than to compute with."""

    def __init__(self, tree: Any) -> None:
        self.leaves, self.structure = jax.tree.flatten(tree)

    @property
    def tree(self) -> Any:
        """The pytree itself."""
        return jax.tree.unflatten(self.structure, self.leaves)

    def tree_flatten(self) -> tuple[list[Any], Any]:
        """As JAX asks."""
        return self.leaves, self.structure

    @classmethod
    def tree_unflatten(cls, structure: Any, leaves: Any) -> Flat:
        """As JAX asks."""
        flat = object.__new__(cls)
        flat.leaves, flat.structure = list(leaves), structure
        return flat


class Programs:
    """An agent's functions, compiled once; its state is donated to those that change it."""

    def __init__(self, agent: Agent) -> None:
        def act(state: Flat, observations: Any, masks: Any) -> jax.Array:
            return jax.vmap(agent.act, in_axes=(None, 0, 0))(state.tree, observations, masks)

        def learn(state: Flat, batch: Minibatch) -> tuple[Flat, Learned]:
            new, learned = agent.learn(state.tree, batch)
            return Flat(new), learned

        def learn_and_act(
            state: Flat, batch: Minibatch, observations: Any, masks: Any
        ) -> tuple[Flat, Learned, jax.Array]:
            new, learned = learn(state, batch)
            return new, learned, act(new, observations, masks)

        self.start = jax.jit(lambda key: agent.start(key))
        self.act = jax.jit(act)
        self.learn = jax.jit(learn, donate_argnums=0)
        self.learn_and_act = jax.jit(learn_and_act, donate_argnums=0)
        self.copy_target = jax.jit(
            lambda state: Flat(agent.copy_target(state.tree)), donate_argnums=0
        )


class Episode(NamedTuple):
    """An episode that came to its end."""

    total: float
    """Its undiscounted return."""
    length: int


class Training:
    """An agent in its environments, with everything that changes as it learns."""

    def __init__(self, agent: Agent, env: Environments, seed: int) -> None:
        self.agent, self.env = agent, env
        self.settings = settings = agent.settings
        seeds = np.random.SeedSequence(seed).generate_state(5)
        start, act, replay, env_seed, self.evaluation_seed = (int(word) for word in seeds)
        self.random = np.random.default_rng(replay)
        self.explorer = agent.explorer(env.count, np.random.default_rng(act))
        self.programs = Programs(agent)
        self.state = Flat(self.programs.start(jax.random.key(start)))
        self.n_steps = [NStep(settings.n_step, settings.discount) for _ in range(env.count)]
        self.priorities = Priorities(settings.replay_size) if settings.prioritised else None
        env.reset(env_seed)
        self.ring = Ring(
            settings.replay_size,
            env.observation_shape,
            agent.action_length,
            agent.action_dtype,
            None if env.mask is None else env.mask.shape[1],
        )
        self.step = self.empty_since = 0
        self.loss: jax.Array | None = None
        self.totals, self.lengths = [0.0] * env.count, [0] * env.count
        self._next_greedy: jax.Array | None = None

    def advance(self) -> list[Episode]:
        """One step in every environment, and the learning that goes with it; what ended."""
        observations = self.env.observation
        actions = self.explorer.explore(self.step, self.env.mask, self._greedy)
        found = self.env.step(actions)
        ended: list[Episode] = []
        first = self.step
        for place in range(self.env.count):
            if not found.real[place]:
                continue
            self.step += 1
            over = bool(found.terminated[place] or found.truncated[place])
            transitions = self.n_steps[place].add(
                observations[place],
                actions[place],
                float(found.reward[place]),
                found.observation[place],
                terminated=bool(found.terminated[place]),
                truncated=bool(found.truncated[place]),
                next_mask=None if found.mask is None else found.mask[place],
            )
            for transition in transitions:
                stored = self.ring.add(transition)
                if self.priorities is not None:
                    self.priorities.add(stored)
            self.totals[place] += float(found.reward[place])
            self.lengths[place] += 1
            if over:
                ended.append(Episode(self.totals[place], self.lengths[place]))
                self.totals[place], self.lengths[place] = 0.0, 0
                self.explorer.restart(place)
        self._next_greedy = None
        self._learn(range(first + 1, self.step + 1))
        return ended

    def go_on(self, tree: Any, step: int) -> None:
        """Takes over what an agent had learned by that step; replay fills up again first."""
        self.state, self.step, self.empty_since = Flat(tree), step, step

    def _greedy(self) -> NDArray[Any]:
        if self._next_greedy is None:
            self._next_greedy = self.programs.act(self.state, self.env.observation, self.env.mask)
        return np.asarray(self._next_greedy)

    def _learn(self, steps: range) -> None:
        """As many updates as these steps ask for, however many environments took them."""
        settings = self.settings
        due = [step for step in steps if step - self.empty_since > settings.replay_start]
        updates = [step for step in due if step % settings.update_period == 0]
        for step in due:
            if updates and step % settings.update_period == 0:
                self._update(and_act=step == updates[-1])
            if not settings.polyak and step % settings.target_period == 0:
                self.state = self.programs.copy_target(self.state)

    def _update(self, *, and_act: bool) -> None:
        count = self.settings.minibatch
        weight = None
        if self.priorities is None:
            places = self.random.integers(len(self.ring), size=count)
        else:
            places = self.priorities.sample(count, self.random)
            weight = self.priorities.weights(places)
        batch = Minibatch(*self.ring.take(places), weight)  # type: ignore[arg-type]
        if and_act:
            self.state, learned, self._next_greedy = self.programs.learn_and_act(
                self.state, batch, self.env.observation, self.env.mask
            )
        else:
            self.state, learned = self.programs.learn(self.state, batch)
        if self.priorities is not None:
            self.priorities.set(places, np.sqrt(np.asarray(learned.losses)) + 1e-10)
        self.loss = learned.loss


class Callback:
    """Told what happens in training; override what you need. Returning False stops it."""

    def on_start(self, training: Training) -> bool | None:
        """Training begins."""

    def on_step(self, training: Training) -> bool | None:
        """A step in every environment, with its learning, is done."""

    def on_episode(self, training: Training, episode: Episode) -> bool | None:
        """An episode ended."""

    def on_phase(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """A phase of training ended."""

    def on_evaluation(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """An evaluation ended."""


class Evaluation:
    """An agent's judge, with an environment of its own."""

    def __init__(self, agent: Agent, programs: Programs, env: Environments, seed: int) -> None:
        self.programs, self.env = programs, env
        self.explorer = agent.explorer(env.count, np.random.default_rng(seed))
        env.reset(seed)

    def steps(self, state: Flat, least: int) -> list[Episode]:
        """Whole episodes of at least so many steps together."""
        episodes: list[Episode] = []
        while sum(episode.length for episode in episodes) < least:
            episodes.append(self.episode(state))
        return episodes

    def episode(self, state: Flat) -> Episode:
        """One episode of the almost greedy policy."""
        env, total, length = self.env, 0.0, 0

        def greedy() -> NDArray[Any]:
            return np.asarray(self.programs.act(state, env.observation, env.mask))

        while True:
            found = env.step(self.explorer.evaluate(env.mask, greedy))
            total += float(found.reward[0])
            length += 1
            if found.terminated[0] or found.truncated[0]:
                return Episode(total, length)


def train(
    training: Training,
    steps: int,
    callbacks: Iterable[Callback] = (),
    *,
    evaluation: Evaluation | None = None,
    phase_steps: int = 10_000,
    evaluation_steps: int = 5_000,
    whole_episodes: bool = True,
) -> None:
    """Trains until so many steps are done, in phases that end in evaluations.

    With one environment, phases are whole episodes, as in Dopamine, unless `whole_episodes` is
    false: then they stop at the step that is asked for.
    """
    whole_episodes = whole_episodes and training.env.count == 1
    listeners = list(callbacks)

    def tell(what: str, *news: Any) -> bool:
        """Whether everybody wants to go on; all are told, also after one wants to stop."""
        answers = [getattr(each, what)(training, *news) for each in listeners]
        return all(answer is None or answer for answer in answers)

    going = tell("on_start")
    while going and training.step < steps:
        started, first = time.perf_counter(), training.step
        episodes: list[Episode] = []
        losses: list[jax.Array] = []
        while going:
            ended = training.advance()
            episodes += ended
            if training.loss is not None and training.step % 100 < training.env.count:
                losses.append(training.loss)
            answers = [tell("on_step"), *(tell("on_episode", one) for one in ended)]
            going = all(answers)
            full = training.step - first >= phase_steps
            if (full and ended) if whole_episodes else (full or training.step >= steps):
                break
        seconds = time.perf_counter() - started
        metrics = _summary(training.step, episodes) | training.explorer.metrics(training.step)
        if losses:
            metrics["loss"] = float(jnp.mean(jnp.stack(losses)))
        metrics["steps_per_second"] = (training.step - first) / seconds
        going = tell("on_phase", metrics) and going
        if evaluation is not None and going:
            found = evaluation.steps(training.state, evaluation_steps)
            going = tell("on_evaluation", _summary(training.step, found))


def _summary(step: int, episodes: list[Episode]) -> dict[str, float]:
    metrics: dict[str, float] = {"step": step, "episodes": len(episodes)}
    if episodes:
        totals = [episode.total for episode in episodes]
        metrics["return"] = float(np.mean(totals))
        metrics["lowest"], metrics["highest"] = min(totals), max(totals)
        metrics["length"] = float(np.mean([episode.length for episode in episodes]))
    return metrics
