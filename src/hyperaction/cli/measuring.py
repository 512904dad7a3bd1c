"""The command bench."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from hyperaction.cli.terminal import UserError, need, unknown
from hyperaction.parsing import parse


def bench(args: Sequence[str]) -> None:
    """Measure speed as ratios in one run: bench maximise, train or atari."""
    topics = {"maximise": _bench_maximise, "train": _bench_train, "atari": _bench_atari}
    if not args or args[0] in ("-h", "--help"):
        print("usage: hyperaction bench TOPIC [OPTIONS]\n\ntopics:")
        print("  maximise    the greedy joint action against the forward pass")
        print("  train       one training step against its floor and other libraries")
        print("  atari       one step in an Atari game against other libraries")
        print("\nhyperaction bench TOPIC --help explains a topic's options.")
        return
    if args[0] not in topics:
        raise UserError(unknown("benchmark", args[0], list(topics)))
    topics[args[0]](args[1:])


def _bench_maximise(args: Sequence[str]) -> None:
    from hyperaction.bench.settings import BenchMaximise

    settings = parse(BenchMaximise, "bench maximise", args)
    need("matplotlib", extra="report")
    if settings.peer_states:
        need("pytoulbar2", extra="peers", unless="--peer-states 0")
    settings.out.mkdir(parents=True, exist_ok=True)
    _one_core()
    from rich.console import Console

    from hyperaction.bench.maximise import run
    from hyperaction.report import maximise as report

    console = Console(markup=False)
    with console.status("measuring") as status:
        rows = run(settings, lambda what: status.update(f"measuring: {what}"))
    file = settings.out / "maximise.json"
    file.write_text(json.dumps(rows, indent=2) + "\n")
    figure = report.draw_growth(rows["growth"], settings.out)
    console.print(report.exact_table(rows["exact"]))
    console.print(report.large_table(rows["large"]))
    console.print(f"Written: {file} {figure}", soft_wrap=True)


def _bench_train(args: Sequence[str]) -> None:
    from hyperaction.bench.settings import BenchTrain

    settings = parse(BenchTrain, "bench train", args)
    need("pybullet_envs_gymnasium", extra="physical")
    settings.out.mkdir(parents=True, exist_ok=True)
    _one_core()
    from hyperaction.bench.train import run
    from hyperaction.report import train as report

    _split(run, report, settings, "train.json")


def _bench_atari(args: Sequence[str]) -> None:
    from hyperaction.bench.settings import BenchAtari

    settings = parse(BenchAtari, "bench atari", args)
    need("ale_py", extra="atari")
    _one_core()
    from hyperaction.bench.atari import run
    from hyperaction.environments import make_env
    from hyperaction.report import bench_atari as report

    make_env(settings.game).close()  # A game that there is not is told now.
    settings.out.mkdir(parents=True, exist_ok=True)
    _split(run, report, settings, "atari.json")


def _split(run: Any, report: Any, settings: Any, name: str) -> None:
    """Measures where the time of a step goes, and tells."""
    from rich.console import Console

    console = Console(markup=False)
    with console.status("measuring") as status:
        found = run(settings, lambda what: status.update(f"measuring: {what}"))
    file = settings.out / name
    file.write_text(json.dumps(found, indent=2) + "\n")
    console.print(report.split_table(found))
    for sentence in report.sentences(found):
        console.print(sentence, highlight=False)
    console.print(f"Written: {file}", soft_wrap=True)


def _one_core() -> None:
    if hasattr(os, "sched_setaffinity"):  # Before JAX counts the cores.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
