"""Strikes runs with faults chosen by seed, and prints what was tried and what survived.

python -m tests.chaos --trials 1000 --seed 0
python -m tests.chaos --kind "damaged files" --trials 1 --seed 17   # Repeats one trial.
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import NamedTuple

import tests.conftest  # noqa: F401  # The settings of JAX, and one cache for all processes.
from tests.chaos.commands import ViolationError
from tests.chaos.faults import BY_NAME, FAULTS
from tests.chaos.trial import References, Trial


class Outcome(NamedTuple):
    """What came of a trial."""

    kind: str
    seed: int
    notes: str
    problem: str | None
    seconds: float


def kind_of(seed):
    """The kind of fault that a seed chooses."""
    weights = [fault.weight for fault in FAULTS]
    return Random(f"kind {seed}").choices(FAULTS, weights)[0].name


def run(references, seed, kind=None, quick=False):
    """One trial."""
    kind, began = kind or kind_of(seed), time.perf_counter()
    trial, problem = Trial(references, seed, quick), None
    try:
        BY_NAME[kind].strike(trial)
    except ViolationError as violation:
        problem = str(violation)
    except Exception as error:
        problem = f"the trial itself failed: {type(error).__name__}: {error}"
    finally:
        trial.close()
    problem = problem and problem.replace(str(trial.root), "TRIAL")
    return Outcome(kind, seed, "; ".join(trial.notes), problem, time.perf_counter() - began)


def summary(outcomes):
    """A table: how many trials of each kind there were, and how many survived."""
    by_kind = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.kind].append(outcome)
    lines = [f"{'fault':<28}{'tried':>7}{'survived':>10}{'s each':>8}"]
    for kind in [name for name in BY_NAME if name in by_kind] + ["all"]:
        of_kind = by_kind[kind] if kind != "all" else outcomes
        survived = sum(outcome.problem is None for outcome in of_kind)
        each = sum(outcome.seconds for outcome in of_kind) / max(1, len(of_kind))
        lines.append(f"{kind:<28}{len(of_kind):>7}{survived:>10}{each:>8.1f}")
    return "\n".join(lines)


def main():
    """Runs the trials; the exit code is 1 if something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first trial")
    parser.add_argument("--kind", choices=list(BY_NAME), help="only this kind of fault")
    options = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        references = References(Path(folder))
        for seed in range(options.seed, options.seed + options.trials):
            outcome = run(references, seed, options.kind)
            outcomes.append(outcome)
            if len(outcomes) % 50 == 0:
                print(f"{len(outcomes)} trials", file=sys.stderr)
            if outcome.problem is not None:
                repeat = f'python -m tests.chaos --trials 1 --seed {seed} --kind "{outcome.kind}"'
                print(f"\n{outcome.problem}\n  {outcome.notes}\n  {repeat}", flush=True)
    print(f"\n{summary(outcomes)}")
    return int(any(outcome.problem is not None for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
