"""Parts of a user's own, as `module:Class` names them."""

from pathlib import Path

import equinox as eqx
import jax

from hyperaction import Callback
from hyperaction.mixers import Sum


class Network(eqx.Module):
    """A state network of one layer."""

    layer: eqx.nn.Linear
    features: int = eqx.field(static=True)

    def __init__(self, observation_shape, *, key):
        self.layer, self.features = eqx.nn.Linear(observation_shape[0], 8, key=key), 8

    def __call__(self, observation):
        return jax.nn.relu(self.layer(observation))


class Mixer(Sum):
    """A sum."""


class Asking(Callback):
    """Asks for all that callbacks can ask for."""

    def on_step(self, trainer):
        if trainer.step == 13:
            trainer.record("thirteen", trainer.step)
            trainer.evaluate()
            trainer.save()


class Failing(Callback):
    """Raises."""

    def on_episode(self, trainer, episode):
        raise KeyError("no such\nthing")


class Lines:
    """A logger."""

    def __init__(self, out: Path, step: int) -> None:
        self.file = out / "lines.txt"

    def log(self, metrics, step):
        with self.file.open("a") as file:
            file.write(f"{step} {sorted(metrics)[0]}\n")

    def close(self):
        pass
