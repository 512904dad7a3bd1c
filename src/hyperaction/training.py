"""The only loop: act, step, store, update, evaluate, and tell whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.agents.exploration import Explorer
from hyperaction.agents.minibatch import Learned, Minibatch
from hyperaction.agents.settings import LoopSettings
from hyperaction.environments import Environments, Steps
from hyperaction.replay import NStep, Priorities, Ring


class Agent(Protocol):
    """The functions of an agent; its state is all that it learns and remembers, one pytree."""

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


def allowed(actions: NDArray[Any]) -> NDArray[Any]:
    """Actions that a mask left; where it leaves none, the maximiser says -1."""
    if actions.dtype == np.int32 and actions.min() < 0:
        raise ValueError("an action mask leaves no joint action in a state where one is needed")
    return actions


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
        """All actions since the environment was made: with its seed, they are its state."""
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
        self.ring = Ring(
            settings.replay_size,
            self.env.observation_shape,
            agent.action_length,
            agent.action_dtype,
            None if self.env.mask is None else self.env.mask.shape[1],
        )
        self.step = self.empty_since = 0
        self.phase = Phase(0, 0)
        self.loss: jax.Array | None = None
        self.totals, self.lengths = [0.0] * self.env.count, [0] * self.env.count
        self._next_greedy: jax.Array | None = None

    def env_seed(self, phase: int, *, evaluation: bool = False) -> int:
        """The seed of the environment that a phase, or its evaluation, begins with."""
        words = np.random.SeedSequence([self.seed, phase, int(evaluation)]).generate_state(1)
        return int(words[0])

    def begin_phase(self) -> None:
        """The next phase, in an environment that is made anew if it can be."""
        self.phase = Phase(self.phase.number + 1, self.step)
        if self.make_env is not None:
            self.remake_env()

    def remake_env(self) -> None:
        """The environment as the phase began in it."""
        assert self.make_env is not None
        self.env.close()
        self.env = self.make_env()
        self.env.reset(self.env_seed(self.phase.number))
        self._next_greedy = None

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
        self._next_greedy = None
        self._learn(range(first + 1, self.step + 1))
        self.phase.episodes += ended
        return ended

    def go_on(self, tree: Any, step: int) -> None:
        """Takes over what an agent had learned by that step; replay fills up again first."""
        self.state, self.step, self.empty_since = Flat(tree), step, step
        self.phase.first = step

    def _store(
        self, place: int, observation: NDArray[np.float32], action: NDArray[Any], found: Steps
    ) -> None:
        transitions = self.n_steps[place].add(
            observation,
            action,
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

    def _greedy(self) -> NDArray[Any]:
        if self._next_greedy is None:
            self._next_greedy = self.programs.act(self.state, self.env.observation, self.env.mask)
        return allowed(np.asarray(self._next_greedy))

    def _learn(self, steps: range) -> None:
        """As many updates as these steps ask for, however many environments took them."""
        settings = self.settings
        due = [step for step in steps if step - self.empty_since > settings.replay_start]
        if len(self.ring) < settings.minibatch:  # Transitions over n steps come n steps later.
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

    def _note_loss(self, step: int) -> None:
        loss = float(np.asarray(self.loss))
        if not np.isfinite(loss):
            raise DivergedError(f"the loss is {loss} at step {step:,}")
        self.phase.losses.append(loss)


class DivergedError(RuntimeError):
    """Learning that produced a number that is not finite."""


LOSS_PERIOD = 100
"""Steps between looks at the loss: each one waits for the update."""


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

    def on_next_phase(self, training: Training) -> bool | None:
        """The next phase begins: from here, a run can go on later."""


class Evaluation:
    """An agent's judge, in an environment of its own.

    What is made is made anew for every evaluation, as for every phase of training.
    """

    def __init__(
        self, agent: Agent, programs: Programs, make_env: Callable[[], Environments]
    ) -> None:
        self.agent, self.programs, self.make_env = agent, programs, make_env

    def begin(self, seed: int) -> None:
        """Whoever is judged next is judged with this seed."""
        self.env = self.make_env()
        self.env.reset(seed)
        self.explorer = self.agent.explorer(self.env.count, np.random.default_rng(seed))

    def steps(
        self,
        state: Flat,
        least: int,
        stopping: Callable[[], bool] = lambda: False,
        longest: int | None = None,
    ) -> list[Episode] | None:
        """Whole episodes of at least so many steps together; nothing if it is stopped before."""
        episodes: list[Episode] = []
        while sum(episode.length for episode in episodes) < least:
            episode = self.episode(state, stopping, longest)
            if episode is None:
                return None
            episodes.append(episode)
        self.env.close()
        return episodes

    def episode(
        self,
        state: Flat,
        stopping: Callable[[], bool] = lambda: False,
        longest: int | None = None,
    ) -> Episode | None:
        """One episode of the almost greedy policy; nothing if it is stopped before."""
        env, total, length = self.env, 0.0, 0

        def greedy() -> NDArray[Any]:
            return allowed(np.asarray(self.programs.act(state, env.observation, env.mask)))

        while not stopping():
            found = env.step(self.explorer.evaluate(env.mask, greedy))
            total += float(found.reward[0])
            length += 1
            if found.terminated[0] or found.truncated[0]:
                return Episode(total, length)
            _check_ends(length, longest)
        return None


def train(
    training: Training,
    steps: int,
    callbacks: Iterable[Callback] = (),
    *,
    evaluation: Evaluation | None = None,
    phase_steps: int = 10_000,
    evaluation_steps: int = 5_000,
    whole_episodes: bool = True,
    stopping: Callable[[], bool] = lambda: False,
) -> None:
    """Trains until so many steps are done, in phases that end in evaluations.

    With one environment, phases are whole episodes, as in Dopamine, unless `whole_episodes` is
    false: then they stop at the step that is asked for. `stopping` is asked after every step.
    """
    listeners = list(callbacks)

    def tell(what: str, *news: Any) -> bool:
        """Whether everybody wants to go on; all are told, also after one wants to stop."""
        answers = [getattr(each, what)(training, *news) for each in listeners]
        return all(answer is None or answer for answer in answers)

    whole_episodes = whole_episodes and training.env.count == 1
    going = tell("on_start")
    while going and (training.step < steps or training.phase.over):
        started, first = time.perf_counter(), training.step
        phase = training.phase
        while going and not phase.over:
            ended = training.advance()
            answers = [tell("on_step"), *(tell("on_episode", one) for one in ended)]
            going = all(answers) and not stopping()
            full = training.step - phase.first >= phase_steps
            phase.over = (full and bool(ended)) if whole_episodes else full
            if whole_episodes:
                _check_ends(training.lengths[0], ENDLESS * phase_steps)
            if not whole_episodes and training.step >= steps:
                break
        if not phase.over:
            return
        metrics = _metrics(training)
        metrics["steps_per_second"] = (training.step - first) / (time.perf_counter() - started)
        judged: list[Episode] | None = None
        if evaluation is not None:
            evaluation.begin(training.env_seed(phase.number, evaluation=True))
            judged = evaluation.steps(
                training.state, evaluation_steps, stopping, ENDLESS * phase_steps
            )
            if judged is None:
                return
        going = tell("on_phase", metrics) and going
        if judged is not None:
            going = tell("on_evaluation", _summary(training.step, judged)) and going
        training.begin_phase()
        going = tell("on_next_phase") and going


def _check_ends(length: int, longest: int | None) -> None:
    """An environment without a time limit would train for ever, and never be judged."""
    if longest is not None and length >= longest:
        raise ValueError(
            f"no episode ended in {length:,} steps; limit them with --max-episode-steps"
        )


ENDLESS = 10
"""An episode this many times as long as a phase has no end."""


def _metrics(training: Training) -> dict[str, float]:
    phase = training.phase
    metrics = _summary(training.step, phase.episodes)
    metrics |= training.explorer.metrics(training.step)
    if phase.losses:
        metrics["loss"] = float(np.mean(phase.losses))
    return metrics


def _summary(step: int, episodes: list[Episode]) -> dict[str, float]:
    metrics: dict[str, float] = {"step": step, "episodes": len(episodes)}
    if episodes:
        totals = [episode.total for episode in episodes]
        metrics["return"] = float(np.mean(totals))
        metrics["lowest"], metrics["highest"] = min(totals), max(totals)
        metrics["length"] = float(np.mean([episode.length for episode in episodes]))
    return metrics
