"""Agents against a baseline, seed by seed, with slow references."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.cli import main
from hyperaction.report.pairs import chance
from tests.report.test_tables import write

DIFFERENCES = st.lists(st.floats(-100, 100), min_size=1, max_size=8).map(np.array)


@given(DIFFERENCES)
def test_chance_is_the_share_of_signs_that_do_as_well(differences):
    observed = abs(sum(differences))
    signs = list(itertools.product((1, -1), repeat=len(differences)))
    as_far = [abs(sum(s * d for s, d in zip(each, differences, strict=True))) for each in signs]
    expected = np.mean([far >= observed - 1e-6 for far in as_far])
    assert chance(differences) == pytest.approx(expected, abs=0.01) or observed < 1e-3


def test_equal_agents_are_told_apart_no_more_often_than_chance_allows():
    random = np.random.default_rng(0)
    found = [chance(random.normal(size=9)) < 0.05 for _ in range(400)]
    assert 0.02 < np.mean(found) < 0.08
    many = random.normal(0.0, 1.0, 40)
    assert chance(many) > 0.05 > chance(many + 1.0)


def test_agents_are_compared_over_the_steps_that_both_runs_have(tmp_path, capsys):
    for seed in range(6):
        for env in ("E", "F"):
            name = tmp_path / env
            write(name / f"base/seed-{seed}", env, "hgqn", seed, [0, 2, 4, 6], orders=[1])
            higher = [10 + seed, 12 + seed, 14 + seed]  # It has got less far.
            write(name / f"new/seed-{seed}", env, "hgqn", seed, higher, orders=[1, 2])
            write(name / f"noise/seed-{seed}", env, "hgqn", seed, [(-1) ** seed, 2, 4], orders=[2])
    write(tmp_path / "E/new/seed-9", "E", "hgqn", 9, [99], orders=[1, 2])  # It has no partner.
    args = ["table", str(tmp_path), "--against", "base", "--last", "1", "--format"]
    assert main([*args, "csv"]) == 0
    header, *rows = (line.split(",") for line in capsys.readouterr().out.splitlines())
    lines = {(row[0], row[1]): dict(zip(header, row, strict=True)) for row in rows}
    new = lines["E", "new"]
    assert new["pairs"] == "6"
    assert float(new["area"]) == pytest.approx(12 + 2.5)  # The mean of a straight line.
    assert float(new["area_baseline"]) == pytest.approx(2.0)
    assert float(new["last_difference"]) == pytest.approx(10 + 2.5)
    assert float(new["area_p"]) == pytest.approx(2 / 2**6)
    assert float(lines["all environments", "new"]["area_p"]) == pytest.approx(2 / 2**12, rel=1e-3)
    assert float(lines["E", "noise"]["area_p"]) > 0.5
    assert main([*args, "markdown"]) == 0
    assert "gain (p 0.031)" in capsys.readouterr().out
    assert main([*args, "text"]) == 0
    printed = capsys.readouterr().out
    assert "E, against base" in printed
    assert "chance?" in printed
    assert main([*args, "csv", "--at", "10"]) == 0
    assert "E,new,6,12.5,0," in capsys.readouterr().out


def test_an_unknown_baseline_is_refused_with_the_names_that_there_are(tmp_path, capsys):
    write(tmp_path / "base/seed-0", "E", "hgqn", 0, [1], orders=[1])
    assert main(["table", str(tmp_path), "--against", "bse"]) == 2
    assert "--against: unknown agent 'bse'; did you mean 'base'?" in capsys.readouterr().err
    assert main(["table", str(tmp_path), "--against", "base"]) == 1
    assert "no run with the environment and seed of one of base" in capsys.readouterr().err
