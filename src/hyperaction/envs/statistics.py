"""Running statistics of wrappers, such as those of Gymnasium's `NormalizeObservation`.

Environments are made again for every phase and for evaluations; what their wrappers have learned
of observations and rewards is carried over, and saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

FIELDS = ("mean", "var", "count")

Statistics = dict[str, dict[str, NDArray[Any]]]
"""The mean, variance and count of each of an environment's statistics, by wrapper and name."""


def statistics_of(env: Any) -> Statistics:
    """A copy of all that the wrappers of an environment have."""
    return {
        name: {field: np.array(getattr(running, field)) for field in FIELDS}
        for name, _, running in _found(env)
    }


def load_statistics(env: Any, statistics: Mapping[str, Mapping[str, Any]]) -> None:
    """Puts statistics into the wrappers that have such."""
    for name, _, running in _found(env):
        known = statistics.get(name)
        if known is None or np.shape(known["mean"]) != np.shape(running.mean):
            continue
        running.mean, running.var = np.array(known["mean"]), np.array(known["var"])
        running.count = float(known["count"])


def freeze(env: Any, statistics: Statistics) -> None:
    """Puts statistics into the wrappers that have such, and has these learn nothing more."""
    load_statistics(env, statistics)
    for name, wrapper, running in _found(env):
        if name not in statistics:
            continue
        if hasattr(wrapper, "update_running_mean"):
            wrapper.update_running_mean = False
        else:
            running.update = _nothing


@contextmanager
def frozen(env: Any, statistics: Statistics) -> Iterator[None]:
    """An environment with these statistics, which stay as they are; then again with its own."""
    found = list(_found(env))
    before = statistics_of(env)
    learns = [getattr(wrapper, "update_running_mean", None) for _, wrapper, _ in found]
    freeze(env, statistics)
    try:
        yield
    finally:
        load_statistics(env, before)
        for (_, wrapper, running), learned in zip(found, learns, strict=True):
            if learned is not None:
                wrapper.update_running_mean = learned
            else:
                vars(running).pop("update", None)


def merged(several: Sequence[Statistics]) -> Statistics:
    """The statistics of several environments that are alike, as if all were one."""
    whole: Statistics = dict(several[0]) if several else {}
    for other in several[1:]:
        for name, b in other.items():
            a = whole[name]
            count = a["count"] + b["count"]
            share, apart = b["count"] / count, b["mean"] - a["mean"]
            var = a["var"] * (1 - share) + b["var"] * share + apart**2 * share * (1 - share)
            mean = a["mean"] + share * apart
            whole[name] = {"mean": mean, "var": var, "count": np.array(count)}
    return whole


def not_carried(env: Any) -> list[str]:
    """The statistics of wrappers that are in a form which is not known here."""
    return [
        f"{type(wrapper).__name__}.{name}"
        for wrapper in _wrappers(env)
        for name, value in vars(wrapper).items()
        if name.endswith("_rms") and not _is_running(value)
    ]


def _found(env: Any) -> Iterator[tuple[str, Any, Any]]:
    """Each of the statistics: its name, its wrapper, and itself."""
    names: set[str] = set()
    for wrapper in _wrappers(env):
        for attribute, value in list(vars(wrapper).items()):
            if not _is_running(value):
                continue
            name = plain = f"{type(wrapper).__name__}.{attribute}"
            while name in names:
                name = f"{plain}:{len(names)}"
            names.add(name)
            yield name, wrapper, value


def _wrappers(env: Any) -> Iterator[Any]:
    while isinstance(env, gymnasium.Wrapper | VectorWrapper):
        yield env
        env = env.env


def _is_running(value: Any) -> bool:
    if not all(hasattr(value, field) for field in (*FIELDS, "update")):
        return False
    with suppress(TypeError, ValueError):
        numbers = [np.asarray(getattr(value, field)) for field in FIELDS]
        return all(array.dtype.kind in "iuf" for array in numbers) and numbers[2].ndim == 0
    return False


def _nothing(*values: Any) -> None:
    """Learns nothing."""
