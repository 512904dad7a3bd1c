"""What a run is made of in Python: the agent's own environments, or new ones of their id."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gymnasium.vector import VectorEnv

from hyperaction.api.arguments import check_env, made
from hyperaction.envs.resumable import Resumable
from hyperaction.envs.statistics import freeze
from hyperaction.envs.vector import Environments
from hyperaction.errors import SettingError
from hyperaction.training.assembly import assemble
from hyperaction.training.compiled import FlatState
from hyperaction.training.evaluator import Evaluator
from hyperaction.training.trainer import Trainer, env_seed

if TYPE_CHECKING:
    from hyperaction.api.base import BaseAgent
    from hyperaction.api.learning import Wanted

MakeEnv = Callable[[], Environments]


def evaluation_envs(agent: BaseAgent, wanted: Wanted) -> MakeEnv | None:
    """What gives an environment to evaluate in; nothing where none is to be."""
    given, own = wanted.eval_env, agent.origin.env
    asked = {"eval_every": wanted.eval_every, "eval_steps": wanted.eval_steps}
    named = [name for name, value in asked.items() if value is not None]
    if given is None and isinstance(own, str):
        is_left_out = not wanted.of_run("evaluation_steps", agent.origin.preset)
        if named or (wanted.out is not None and not is_left_out):
            given = own
    if given is None and named:
        raise SettingError(f"`{named[0]}` needs an environment to evaluate in; give `eval_env`")
    if given is None:
        return None
    check_env(given)
    if isinstance(given, VectorEnv):
        raise SettingError("`eval_env` must be one environment, not a vector")
    if not isinstance(given, str | VectorEnv) and _is_same(given, own):
        raise SettingError("`eval_env` is the environment that the agent learns in; give another")
    return partial(_evaluation_env, agent, given)


def _is_same(given: Any, own: Any) -> bool:
    inner = getattr(own.unwrapped, "envs", [own]) if not isinstance(own, str) else []
    return any(given.unwrapped is each.unwrapped for each in inner)


def _evaluation_env(agent: BaseAgent, given: Any) -> Environments:
    """An environment to evaluate in; its wrappers know what those of training do."""
    env = agent.evaluation_env(made(given))  # type: ignore[arg-type]
    freeze(env.env.env, agent.statistics)
    return env


class AgentParts:
    """The trainer of an agent in Python, and an evaluator.

    Environments that were given as objects are used again, reset with a seed for every phase;
    those of an id are made again.

    Args:
        agent: The agent.
        wanted: What `learn` was asked for.
        make_env: What gives an environment to evaluate in, if any is to be.
    """

    def __init__(self, agent: BaseAgent, wanted: Wanted, make_env: MakeEnv | None) -> None:
        assert agent.trainer is not None
        self.agent, self.wanted, self.make_env = agent, wanted, make_env
        self.before: Trainer = agent.trainer
        self.is_made = isinstance(agent.origin.env, str)

    def trainer(self, resumed_step: int | None) -> Trainer:
        """The agent's trainer; a new one where nothing is learned yet, or a run is resumed."""
        before = self.before
        if resumed_step is not None and before.step > resumed_step:
            raise SettingError(
                f"`out` {self.wanted.out} holds a run at step {resumed_step:,}, and this agent has "
                f"learned for {before.step:,} steps; choose another `out`"
            )
        if resumed_step is None and before.step:
            before.begin_phase()
            before.use_env(self._resumable(before.env_seed(before.phase.number)))
            return before
        env = self._resumable(env_seed(before.seed, 0))
        fresh, _ = assemble(self.agent.config, env.now)
        trainer = Trainer(fresh, env, before.seed)
        if resumed_step is None:
            trainer.state = FlatState(before.state.tree)
        return trainer

    def resumed(self, trainer: Trainer) -> None:
        """The agent learns with this trainer from now on."""
        if trainer is not self.before and self.is_made:
            self.before.env.close()
        self.agent.trainer = trainer

    def evaluator(self, trainer: Trainer) -> Evaluator | None:
        """What evaluates, if anything does."""
        if self.make_env is None:
            return None
        closes = isinstance(self.wanted.eval_env or self.agent.origin.env, str)
        return Evaluator(trainer.agent, trainer.compiled, self.make_env, closes=closes)

    def close(self) -> None:
        """The agent can learn on in memory: its environments are not made again for every phase."""
        trainer = self.agent.trainer
        assert trainer is not None
        if isinstance(trainer.env, Resumable):
            trainer.env = trainer.env.now
        if trainer is self.before and not self.is_made:
            trainer.lose_env()  # A run that could not be resumed has used it.
        services, new = trainer.services, type(trainer.services)()
        new.evaluations = services.evaluations
        trainer.services = new

    def _resumable(self, seed: int) -> Resumable:
        own = self.before.env
        envs = own.now if isinstance(own, Resumable) else own
        if not self.is_made:
            return Resumable(lambda: envs, seed, is_same=True)

        def make() -> Environments:
            again = self.agent.interface.environments(made(self.agent.origin.env))
            again.load_statistics(envs.statistics())
            return again

        return Resumable(make, seed)
