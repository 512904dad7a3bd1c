"""The mean over seeds, against its definition written out slowly."""

import json
import math
from itertools import pairwise
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.cli.report import PageData
from hyperaction.report.curves import Curve, group_curves, table
from hyperaction.report.statistics import at_steps, mean_curve

RUNS = st.dictionaries(st.integers(0, 60), st.floats(-9, 9), min_size=1, max_size=6).map(
    lambda run: sorted(run.items())
)


def return_at(run, step):
    """A run's return at a step; none where it has no evaluation near."""
    steps = [at for at, _ in run]
    phase = median(after - before for before, after in zip([0, *steps], steps, strict=False))
    if step < steps[0]:
        return run[0][1] if step >= steps[0] - phase else None
    if step > steps[-1]:
        return run[-1][1] if step <= steps[-1] + phase else None
    for (before, low), (after, high) in pairwise(run):
        if before <= step <= after:
            return low + (high - low) * (step - before) / (after - before)
    return run[0][1]


def arrays(run):
    return np.array([step for step, _ in run]), np.array([value for _, value in run])


@given(st.lists(RUNS, min_size=1, max_size=4))
def test_the_mean_over_seeds_is_the_mean_of_every_seed_at_the_same_step(runs):
    found = mean_curve([arrays(run) for run in runs])
    most = max(runs, key=lambda run: (len(run), run[-1][0]))
    assert found.steps.tolist() == [step for step, _ in most]
    for place, step in enumerate(found.steps.tolist()):
        values = [value for run in runs if (value := return_at(run, step)) is not None]
        assert found.seeds[place] == len(values)
        row = (found.mean[place], found.low[place], found.high[place])
        expected = (math.fsum(values) / len(values), min(values), max(values))
        assert row == pytest.approx(expected, abs=1e-9)


@given(RUNS, st.lists(st.integers(0, 90), min_size=1, max_size=5))
def test_a_run_is_the_line_between_its_evaluations(run, steps):
    for step, value in zip(steps, at_steps(arrays(run), np.array(steps)), strict=True):
        expected = return_at(run, step)
        assert (expected is None and np.isnan(value)) or value == pytest.approx(expected, abs=1e-9)


def test_seeds_that_drift_apart_all_count_on_the_page(tmp_path):
    from tests.report.test_tables import write

    for seed in range(3):
        out = tmp_path / "runs" / f"seed-{seed}"
        write(out, "E", "hgqn", seed, [], orders=[1])
        # Each phase is a little longer than in the seed before; returns grow with the steps.
        rows = [
            {"kind": "eval", "step": k * (100 + 8 * seed), "return": seed + k * (100 + 8 * seed)}
            for k in range(1, 11)
        ]
        (out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data, _ = PageData([tmp_path / "runs"], last=10)()
    (mean,) = data["means"]
    assert (mean["metric"], mean["axis"], len(mean["x"])) == ("return", "step", 10)
    rows = list(zip(mean["x"], mean["mean"], mean["seeds"], strict=True))
    inside = [row for row in rows if row[0] <= 1000]
    assert len(inside) == 8
    for step, value, seeds in inside[
        1:
    ]:  # Before the first evaluation of a seed its line is level.
        assert seeds == 3
        assert value == pytest.approx(step + 1)


def test_seeds_that_drift_apart_are_compared_at_the_same_steps():
    curves = []
    for seed in range(2):  # Returns are the steps: on the lines between them, too.
        steps = np.arange(1, 6) * (1_000 + 70 * seed)
        curves.append((Curve(f"seed {seed}", "E", steps, steps * 1.0, "hgqn"), None))
    (group,) = group_curves(curves)
    columns = [list(column.cells) for column in table(group, 4).columns]
    steps = columns[0]
    assert len(steps) == 4
    for column in columns[1:]:  # The ends are level for up to a phase.
        assert column[1:-1] == steps[1:-1]
