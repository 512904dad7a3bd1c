"""The update alone: its floor, and what acting adds to it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hyperaction.agents.minibatch import Minibatch
from hyperaction.agents.optimisers import Adam
from hyperaction.bench.clock import fastest
from hyperaction.training import Training


def acting_share(training: Training, repeats: int) -> float:
    """The share of acting in the program that learns and acts."""
    programs, batch, env = training.programs, _batch(training), training.env
    states = [_copied(training), _copied(training)]

    def learn() -> Any:
        states[0], learned = programs.learn(states[0], batch)
        return learned

    def both() -> Any:
        states[1], _, action = programs.learn_and_act(states[1], batch, env.observation, env.mask)
        return action

    times = fastest({"learn": learn, "both": both}, repeats)
    return max(0.0, 1.0 - times["learn"] / times["both"])


def times_floor(training: Training, repeats: int) -> dict[str, float]:
    """The update beside nothing but its matrix products and Adam's passes over the memory."""
    batch, many = _batch(training), training.settings.minibatch
    online = training.state.tree.online
    weights = [leaf for leaf in jax.tree.leaves(online) if leaf.ndim > 1]
    random = np.random.default_rng(0)

    def noise(*shape: int) -> jax.Array:
        return jnp.asarray(random.normal(size=shape), jnp.float32)

    # For each weight: the two minibatches that go in, and the gradient that comes back.
    heads = [() if weight.ndim == 2 else weight.shape[:1] for weight in weights]
    sides = [
        (noise(*h, many, w.shape[-1]), noise(*h, many, w.shape[-1]), noise(*h, many, w.shape[-2]))
        for w, h in zip(weights, heads, strict=True)
    ]

    def multiply(turned: bool, weights: Any, sides: Any) -> Any:
        found = []
        for place, (weight, (online_in, target_in, back)) in enumerate(
            zip(weights, sides, strict=True)
        ):
            down, up = (weight, weight.mT) if turned else (weight.mT, weight)
            gradient = online_in.mT @ back if turned else back.mT @ online_in
            found += [online_in @ down, target_in @ down, gradient]
            if place:  # Nothing asks for the observation's gradient.
                found.append(back @ up)
        return found

    products = jax.jit(multiply, static_argnums=0)
    turned_weights = [jnp.copy(weight.mT) for weight in weights]

    steps = Adam(0.00001, 0.0003125)
    gradient = jax.tree.map(lambda leaf: 0.01 * leaf, online)
    memory = [(jax.tree.map(jnp.copy, online), steps.start(online))]

    def traffic(parameters: Any, state: Any, gradient: Any) -> Any:
        return steps.update(parameters, gradient, state)

    compiled = jax.jit(traffic, donate_argnums=(0, 1))

    def adam_traffic() -> Any:
        memory[0] = compiled(*memory[0], gradient)
        return jax.tree.leaves(memory[0])[0]

    states = [_copied(training)]

    def update() -> Any:
        states[0], learned = training.programs.learn(states[0], batch)
        return learned.loss

    works = {
        "update": update,
        "products": lambda: products(False, weights, sides),
        "turned": lambda: products(True, turned_weights, sides),
        "adam": adam_traffic,
    }
    times = fastest(works, repeats)
    # Whichever way of storing the weights is faster.
    times["products"] = min(times["products"], times.pop("turned"))
    floor = times["products"] + times["adam"]
    return {
        **{f"{name} milliseconds": 1e3 * seconds for name, seconds in times.items()},
        "times floor": times["update"] / floor,
    }


def _batch(training: Training) -> Minibatch:
    places = training.ring.draw(training.settings.minibatch, np.random.default_rng(0))
    return Minibatch(*training.ring.take(places), None)  # type: ignore[arg-type]


def _copied(training: Training) -> Any:
    return jax.tree.map(jnp.copy, training.state)
