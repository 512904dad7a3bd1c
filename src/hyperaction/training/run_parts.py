"""What a run of the command is made of: environments that its configuration makes."""

from __future__ import annotations

from functools import partial

from hyperaction.envs.guard import Guard
from hyperaction.envs.statistics import freeze, merged
from hyperaction.envs.vector import Environments, Single
from hyperaction.training.compiled import Agent
from hyperaction.training.config import TrainConfig
from hyperaction.training.evaluator import Evaluator
from hyperaction.training.trainer import Trainer


class MadeParts:
    """A trainer and an evaluator whose environments are made as a configuration says.

    Args:
        config: The configuration of the run.
        agent: The agent.
        guard: What surrounds the calls of the environments, such as a watchdog.
    """

    def __init__(self, config: TrainConfig, agent: Agent, guard: Guard) -> None:
        self.config, self.agent, self.guard = config, agent, guard

    def trainer(self, resumed_step: int | None) -> Trainer:
        """A new trainer."""
        return Trainer(self.agent, lambda: self.config.make_envs(self.guard), self.config.seed)

    def resumed(self, trainer: Trainer) -> None:
        """Nothing else depends on it."""

    def evaluator(self, trainer: Trainer) -> Evaluator | None:
        """What evaluates in new environments, if evaluations are not left out."""
        if not self.config.evaluation_steps:
            return None
        return Evaluator(trainer.agent, trainer.compiled, partial(self._env, trainer))

    def _env(self, trainer: Trainer) -> Environments:
        """A new environment to evaluate in; its wrappers know what those of training do."""
        env = self.config.make_env(self.guard)
        freeze(env.env, merged(trainer.env.statistics()))
        return Single(env)
