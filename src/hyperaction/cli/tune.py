"""The command tune."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.table import Table

from hyperaction.arguments import Option, Positional, blame, flags_of, options_of, parse, show_help
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import STOPPED, UserError, need
from hyperaction.cli.workers import STOPPING, WorkerOptions, make_workers, shown
from hyperaction.errors import SettingError, check_ranges
from hyperaction.runs.lock import locked
from hyperaction.runs.remote import url_of
from hyperaction.sweeps.grid import check_fits
from hyperaction.sweeps.scheduler import Sweep
from hyperaction.training.config import TrainConfig, parse_train
from hyperaction.training.interrupts import stoppable

if TYPE_CHECKING:
    import optuna

    from hyperaction.tuning.space import SearchSpace
    from hyperaction.tuning.tuner import Tuner

STEPS = 50_000
PHASES = 10
"""Phases of a trial, each with an evaluation."""
SHOWN = 10
"""Trials in the table at the end."""


@dataclass(frozen=True)
class TuneOptions(WorkerOptions):
    """Search for settings that learn better than a preset's; rerun the same command to resume.

    Every trial is an ordinary run; the first has the preset unchanged. All options of hyperaction
    train may be given besides; what is given is not searched. Trials have 50,000 --steps in ten
    phases unless others are given.
    """

    env: Annotated[str, Positional("ENV")]
    """A Gymnasium id, module:Id, or an environment of a suite, as in hyperaction train."""
    trials: int = 30
    """The number of trials."""
    out: Path = Path("results/tune")
    """The directory for the study and all its runs."""
    search: tuple[str, ...] = ()
    """The settings to search, such as learning-rate n-step; without a name, all of the preset's
    search space."""
    space: str = ""
    """A TOML file with a search space of your own."""
    prune: bool = True
    """Stop trials early whose evaluations are worse than the median of the others."""
    seed: int = 0
    """The seed of every trial, and of the search."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, trials=(1, inf), seed=(0, inf))
        if url_of(self.out):
            raise SettingError("`out` must be a directory of this machine, or one that nodes share")


def main(args: Sequence[str]) -> None:
    """Runs the trials that are left, and shows the best."""
    known = list(options_of(TuneOptions))
    own, rest = split(flags_of(known), args)
    if any(arg in ("-h", "--help") for arg in args):
        show_help("tune", TuneOptions.__doc__ or "", known)
    with blame("tune"):
        shared = _shared(rest)
        config = parse_train(shared, "tune")
    options: TuneOptions = parse(TuneOptions, "tune", [config.env, *own])
    need("optuna", extra="tune")
    from hyperaction.tuning.study import open_study
    from hyperaction.tuning.tuner import Tuner, trial_cell

    with blame("tune"):
        space = _space(options, config, rest)
    replay = check_fits("tune", [trial_cell(0, shared, options.seed)])
    console = Console()
    with ExitStack() as stack:
        stack.enter_context(locked(options.out))
        study = open_study(options.out, space, shared, seed=options.seed, prune=options.prune)
        tuner = Tuner(study, space, shared, seed=options.seed, trials=options.trials)
        workers = make_workers(options, replay, stack, console)
        sweep = Sweep([], options.out, workers, options.retries)
        is_stopping = stack.enter_context(stoppable(lambda: console.print(STOPPING)))
        sweep.run(shown(console, stack), is_stopping, tuner.plan)
    if is_stopping():
        raise UserError("stopped, all trials saved; rerun the same command to resume", code=STOPPED)
    _show(console, options.out, study, tuner)


def split(flags: dict[str, Option], args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Arguments that are options with these flags, and the others, each with their values."""
    own: list[str] = []
    rest: list[str] = []
    left = 0.0
    """Values that the last option may still take, where it is one of these."""
    for arg in args:
        name, has_value, _ = arg.partition("=")
        if arg.startswith("--"):
            each = flags.get(name) or flags.get(f"--{name.removeprefix('--no-')}")
            takes_none = each is None or each.is_switch or bool(has_value)
            left = 0 if takes_none else inf if each is not None and each.takes_many else 1
            (rest if each is None else own).append(arg)
        elif left:
            own.append(arg)
            left -= 1
        else:
            rest.append(arg)
    return own, rest


def _shared(given: Sequence[str]) -> tuple[str, ...]:
    """The arguments of all trials: what was typed, and steps and phases that suit a search."""
    flags = {arg.split("=")[0] for arg in given}
    if "--fresh" in flags:
        raise SettingError("`fresh` is for single runs; choose another `out`")
    args = [*given] if "--steps" in flags else [*given, "--steps", str(STEPS)]
    phase = max(1, parse_train(args, "tune").steps // PHASES)
    for name, value in {"--phase-steps": phase, "--evaluation-steps": max(1, phase // 2)}.items():
        args += [] if name in flags else [name, str(value)]
    return tuple(args)


def _space(options: TuneOptions, config: TrainConfig, given: Sequence[str]) -> SearchSpace:
    from hyperaction.tuning.space import search_space

    flags = [arg.split("=")[0] for arg in given if arg.startswith("--")]
    env = config.make_env()
    env.close()
    return search_space(config, flags, env.sizes, only=options.search, file=options.space)


def _show(console: Console, out: Path, study: optuna.Study, tuner: Tuner) -> None:
    """The best trials, the command that trains with the best settings, and a figure."""
    from hyperaction.tuning.results import changes, command, trials, write_csv

    found = trials(study)
    done = [each for each in found if each.state == "done"]
    if not done:
        reasons = [each.reason for each in found if each.reason]
        raise UserError(f"no trial was completed{f': {reasons[0]}' if reasons else ''}", code=1)
    table = Table("trial", "score", "state", "evaluations", "settings")
    baseline = [each for each in found[SHOWN:] if each.number == 0]
    for each in [*found[:SHOWN], *baseline]:
        score = "" if each.score is None else f"{each.score:,.1f}"
        table.add_row(
            str(each.number), score, each.state, str(each.evaluations), changes(each, tuner.space)
        )
    console.print(table)
    if len(found) > SHOWN:
        console.print(f"and others of {len(found)} trials, see {out}/trials.csv", soft_wrap=True)
    written = [write_csv(out, study, tuner.space)]
    if find_spec("matplotlib") is not None:
        from hyperaction.tuning.figure import draw

        written.append(draw(study, out))
    else:
        console.print("a figure needs matplotlib: pip install 'hyperaction[report]'")
    for file in written:
        console.print(f"Written: {file}", soft_wrap=True)
    best = tuner.cell(done[0].number, done[0].params)
    text = command(best.args, f"{out}/best")
    console.print(f"Train with the best settings: {text}", soft_wrap=True, highlight=False)
