"""The update alone: its lower bound, and the share of acting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hyperaction.agents.batch import Batch
from hyperaction.agents.optimisers import Adam
from hyperaction.bench.clock import fastest
from hyperaction.training.trainer import Trainer

Work = Callable[[], Any]


def acting_share(trainer: Trainer, repeats: int) -> float:
    """The share of acting in the program that learns and acts."""
    compiled, batch, env = trainer.compiled, _batch(trainer), trainer.env
    states = [_copied(trainer), _copied(trainer)]

    def learn() -> Any:
        states[0], learned = compiled.update(states[0], batch)
        return learned

    def both() -> Any:
        states[1], _, action = compiled.update_and_act(states[1], batch, env.observation, env.mask)
        return action

    times = fastest({"learn": learn, "both": both}, repeats)
    return max(0.0, 1.0 - times["learn"] / times["both"])


def times_floor(trainer: Trainer, repeats: int) -> dict[str, float]:
    """The update relative to its matrix products and the memory traffic of Adam alone."""
    batch, online = _batch(trainer), trainer.state.tree.online
    states = [_copied(trainer)]

    def update() -> Any:
        states[0], learned = trainer.compiled.update(states[0], batch)
        return learned.loss

    weights = [leaf for leaf in jax.tree.leaves(online) if leaf.ndim > 1]
    products, transposed = _products(weights, trainer.config.batch_size)
    works = {
        "update": update,
        "products": products,
        "transposed": transposed,
        "adam": _adam_traffic(online),
    }
    times = fastest(works, repeats)
    # The faster of both memory layouts.
    times["products"] = min(times["products"], times.pop("transposed"))
    floor = times["products"] + times["adam"]
    return {
        **{f"{name} milliseconds": 1e3 * seconds for name, seconds in times.items()},
        "times floor": times["update"] / floor,
    }


def _products(weights: list[Any], count: int) -> tuple[Work, Work]:
    """The matrix products of an update, with the weights as they are and transposed."""
    random = np.random.default_rng(0)

    def noise(*shape: int) -> jax.Array:
        return jnp.asarray(random.normal(size=shape), jnp.float32)

    # For each weight: the two input minibatches, and the output gradient.
    heads = [() if weight.ndim == 2 else weight.shape[:1] for weight in weights]
    sides = [
        (
            noise(*h, count, w.shape[-1]),
            noise(*h, count, w.shape[-1]),
            noise(*h, count, w.shape[-2]),
        )
        for w, h in zip(weights, heads, strict=True)
    ]

    def multiply(is_transposed: bool, weights: Any, sides: Any) -> Any:
        products = []
        for layer, (weight, (online_in, target_in, back)) in enumerate(
            zip(weights, sides, strict=True)
        ):
            down, up = (weight, weight.mT) if is_transposed else (weight.mT, weight)
            gradient = online_in.mT @ back if is_transposed else back.mT @ online_in
            products += [online_in @ down, target_in @ down, gradient]
            if layer:  # The gradient of the observation is not needed.
                products.append(back @ up)
        return products

    compiled = jax.jit(multiply, static_argnums=0)
    transposed = [jnp.copy(weight.mT) for weight in weights]
    return lambda: compiled(False, weights, sides), lambda: compiled(True, transposed, sides)


def _adam_traffic(online: Any) -> Work:
    """One pass of Adam over the parameters."""
    steps = Adam(0.00001, 0.0003125)
    gradient = jax.tree.map(lambda leaf: 0.01 * leaf, online)
    memory = [(jax.tree.map(jnp.copy, online), steps.init(online))]

    def traffic(parameters: Any, state: Any, gradient: Any) -> Any:
        return steps.update(parameters, gradient, state)

    compiled = jax.jit(traffic, donate_argnums=(0, 1))

    def work() -> Any:
        memory[0] = compiled(*memory[0], gradient)
        return jax.tree.leaves(memory[0])[0]

    return work


def _batch(trainer: Trainer) -> Batch:
    indices = trainer.replay.ring.draw(trainer.config.batch_size, np.random.default_rng(0))
    return Batch(*trainer.replay.ring.take(indices), None)  # type: ignore[arg-type]


def _copied(trainer: Trainer) -> Any:
    return jax.tree.map(jnp.copy, trainer.state)
