"""The command bench."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from hyperaction.arguments import parse
from hyperaction.bench.settings import (
    BenchAtari,
    BenchDefaults,
    BenchMaximise,
    BenchTorch,
    BenchTrain,
)
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import UserError, need
from hyperaction.errors import unknown


class Topic(NamedTuple):
    """A benchmark: its settings, its help, and the packages that it needs, with their extras."""

    settings: type[Any]
    help: str
    needs: dict[str, str]


TOPICS = {
    "maximise": Topic(
        BenchMaximise, "the greedy joint action against the forward pass", {"matplotlib": "report"}
    ),
    "train": Topic(
        BenchTrain,
        "one training step against its floor and other libraries",
        {"pybullet_envs_gymnasium": "physical"},
    ),
    "defaults": Topic(
        BenchDefaults,
        "what first runs learn with no setting given",
        {"pybullet_envs_gymnasium": "physical"},
    ),
    "torch": Topic(
        BenchTorch, "best actions and updates in PyTorch against JAX", {"torch": "torch"}
    ),
    "atari": Topic(
        BenchAtari, "one step in an Atari game against other libraries", {"ale_py": "atari"}
    ),
}


def main(args: Sequence[str]) -> None:
    """Runs a benchmark; prints and writes its results."""
    if not args or args[0] in ("-h", "--help"):
        print("usage: hyperaction bench TOPIC [OPTIONS]\n\ntopics:")
        for name, topic in TOPICS.items():
            print(f"  {name:<12}{topic.help}")
        print("\nhyperaction bench TOPIC --help shows the options of a topic.")
        return
    name = args[0]
    if name not in TOPICS:
        raise UserError(f"{unknown('benchmark', name, TOPICS)} (hyperaction bench --help)")
    settings = parse(TOPICS[name].settings, f"bench {name}", args[1:])
    for module, extra in TOPICS[name].needs.items():
        need(module, extra=extra)
    if getattr(settings, "peer_states", 0):
        need("pytoulbar2", extra="peers", unless="--peer-states 0")
    use_one_core()
    # Imported after pinning because JAX counts the cores when it is imported.
    force_instructions(settings.isa)
    import_module(f"hyperaction.bench.{name}_report").main(settings, Console())


def force_instructions(name: str) -> None:
    """Uses an instruction set here and in child processes."""
    from hyperaction import kernels

    if name == "newest":
        return
    if why := kernels.refusal(name):
        raise UserError(f"--isa {name} cannot be used: {why}")
    os.environ.update(kernels.environment(name))


def use_one_core() -> None:
    """Pins this process to one core, where the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
