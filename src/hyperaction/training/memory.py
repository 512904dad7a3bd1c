"""Whether this machine has the memory that a run takes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hyperaction.agents.config import AgentConfig
from hyperaction.errors import SettingError
from hyperaction.replay.buffer import Observed, replay_bytes

BESIDES = 1_500_000_000
"""Bytes for everything but a large replay buffer: libraries, networks, programs, copies."""

SMALL = 500_000_000
"""A replay of so many bytes is not what fills a machine, and is never refused."""

GRADIENTS = 1.25
"""What an update takes of an agent's size: networks and moments, and gradients beside them."""

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Bytes of memory that a new process can have; nothing where the system does not say."""
    limits = [each for each in (_free(), _left_in_container()) if each is not None]
    return min(limits, default=None)


def _free() -> int | None:
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvail"))
    except (OSError, ValueError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None


def _left_in_container() -> int | None:
    try:
        limit = int((CGROUP / "memory.max").read_text())
        used = int((CGROUP / "memory.current").read_text())
        stat = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        # Cached files are dropped when memory is needed.
        return limit - used + int(stat["inactive_file"]) + int(stat["active_file"])
    except (OSError, ValueError, KeyError):  # There is no limit, or no such system.
        return None


def runs_that_fit(needed: int) -> int | None:
    """How many runs whose replay needs so many bytes this machine can hold at once.

    Nothing where replay is small, or where the system does not say.
    """
    there = available()
    if there is None or needed <= SMALL:
        return None
    return max(there, 0) // (needed + BESIDES)


def check_fits(config: AgentConfig, observed: Observed, action_length: int) -> str:
    """What there is to say about replay's memory; refused if this machine has not enough."""
    size = config.buffer_size
    needed, free = replay_bytes(size, observed, action_length), available()
    takes = f"replay takes up to {gigabytes(needed)} of memory"
    disk = ", and as much of the disk"  # Checkpoints hold it too.
    if free is None:
        return f"{takes}{disk}"
    if needed <= SMALL or needed + BESIDES <= free:
        return f"{takes} ({gigabytes(free)} is free){disk}"
    smaller = rounded_down(int(size * (free - BESIDES) / needed))
    fits = smaller >= config.batch_size
    hint = f"`buffer_size` {smaller} would fit" if fits else "not even a small one fits"
    raise SettingError(
        f"`buffer_size` {size}: {takes} and the rest of the run about {gigabytes(BESIDES)}, "
        f"but only {gigabytes(free)} is free; {hint}"
    )


def check_agent_fits(arrays: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> None:
    """Refuses an agent that this machine has no memory for.

    Args:
        arrays: The shape and type of every array of its state.
    """
    sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in arrays]
    needed, free = int(GRADIENTS * sum(sizes)), available()
    if free is None or needed <= max(free, SMALL):
        return
    largest = arrays[sizes.index(max(sizes))][0]
    raise SettingError(
        f"the agent takes about {gigabytes(needed)} of memory (its largest array is "
        f"{' x '.join(f'{length:,}' for length in largest)}), but only {gigabytes(free)} is free; "
        f"choose a smaller `hidden`, a lower `rank` or fewer sub-actions (`bins`)"
    )


def rounded_down(number: int) -> int:
    """The number with zeros after its first two digits."""
    digits = max(len(str(max(number, 0))) - 2, 0)
    return max(number, 0) // 10**digits * 10**digits


def gigabytes(count: int) -> str:
    """Bytes as people say them."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
