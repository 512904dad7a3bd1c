"""Statistics over seeds, against their definitions written out slowly."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from hyperaction.report import tables
from hyperaction.report.statistics import interquartile_mean, normalise, summarise
from hyperaction.runs.reader import FORMAT

SCORES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12).map(np.array)


@given(SCORES)
def test_the_interquartile_mean_is_the_mean_of_the_middle_half(scores):
    assert interquartile_mean(scores) == pytest.approx(trim_mean(scores, 0.25), abs=1e-9)


@given(st.lists(SCORES, min_size=1, max_size=4))
def test_statistics_are_their_definitions(scores):
    found = summarise(scores)
    means = [np.mean(runs) for runs in scores]
    assert found.mean.value == pytest.approx(np.mean(means), abs=1e-6)
    middle = np.median(scores[0]) if len(scores) == 1 else np.median(means)
    assert found.median.value == pytest.approx(middle, abs=1e-6)
    pooled = np.concatenate(scores)
    assert found.iqm.value == pytest.approx(trim_mean(pooled, 0.25), abs=1e-6)
    for estimate in found:
        assert pooled.min() - 1e-6 <= estimate.low <= estimate.high <= pooled.max() + 1e-6


def test_intervals_hold_the_truth_as_often_as_they_say():
    random = np.random.default_rng(0)
    held = 0
    for number in range(200):
        found = summarise([random.normal(3.0, 1.0, size=40)], seed=number)
        held += found.mean.low <= 3.0 <= found.mean.high
    assert 180 <= held <= 198  # Of 200: the bootstrap of 40 runs is a little narrow.


def test_scores_over_all_environments_go_from_the_lowest_to_the_highest():
    found = normalise({"E": {"a": np.array([0.0, 5.0]), "b": np.array([10.0])}})
    np.testing.assert_allclose(found["E"]["a"], [0.0, 0.5])
    np.testing.assert_allclose(found["E"]["b"], [1.0])
    equal = normalise({"E": {"a": np.array([2.0, 2.0])}})
    np.testing.assert_allclose(equal["E"]["a"], [0.0, 0.0])


def write(out, env, agent, seed, returns, **settings):
    out.mkdir(parents=True)
    config = {"env": env, "agent": agent, "seed": seed, "steps": 10, "settings": settings}
    config["format"] = FORMAT
    (out / "config.json").write_text(json.dumps(config))
    rows = [{"kind": "eval", "step": 10 * k + 10, "return": r} for k, r in enumerate(returns)]
    (out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_runs_are_found_named_and_summed_up(tmp_path, capsys):
    from hyperaction.cli import main

    for seed in range(4):
        write(tmp_path / f"E/one/seed-{seed}", "E", "hgqn", seed, [0, 1, 3 + seed], orders=[1])
        write(tmp_path / f"F/one/seed-{seed}", "F", "hgqn", seed, [2, 2], orders=[1])
        write(tmp_path / f"plain-{seed}", "E", "hgqn", seed, [9, 9], orders=[1, 2])
    write(tmp_path / "E/one/seed-0-old-1", "E", "hgqn", 0, [99], orders=[1])
    assert main(["table", str(tmp_path), "--last", "1", "--format", "markdown"]) == 0
    header, _, *rows = capsys.readouterr().out.splitlines()
    names = "environment | agent | seeds | steps | evaluations | mean | median | IQM"
    assert header == f"| {names} |"
    assert rows[0].startswith("| E | one | 4 | 30 | 1 | 4.50 (3.")
    assert rows[1] == "| E | hgqn rank 2 | 4 | 20 | 1" + " | 9.00 (9.00 to 9.00)" * 3 + " |"
    assert rows[2].startswith("| F | one | 4 | 20 | 1 | 2.00")
    assert len(rows) == 3  # Not every agent was in both environments.
    write(tmp_path / "short", "E", "hgqn", 9, [0], orders=[1, 2])
    write(tmp_path / "nan", "E", "hgqn", 9, [0, float("nan")], orders=[1, 2])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text("{}")  # Of something else.
    twice = str(tmp_path / "E" / "..")  # The same runs by another path count once.
    assert main(["table", str(tmp_path), twice, "--at", "20"]) == 0
    printed, skipped = capsys.readouterr()
    assert "short: only at step 10 so far" in skipped
    assert "nan: the score is nan" in skipped
    assert main(["table", str(tmp_path), "--at", "5"]) == 1  # Before any evaluation.
    assert "no run with an evaluation" in capsys.readouterr().err
    assert "other/config.json is damaged" in skipped
    assert skipped.count("\n") == 3
    assert "No two environments have runs of every agent" in " ".join(printed.split())
    assert main(["table", str(tmp_path / "F"), str(tmp_path / "E"), "--format", "csv"]) == 0
    *_, overall = capsys.readouterr().out.splitlines()
    assert overall.startswith(f"{tables.ALL},one,4,20 to 30,1,")
    single = [str(tmp_path / name) for name in ("E/one/seed-1", "F/one/seed-1")]
    assert main(["table", *single, "--format", "csv"]) == 0
    for row in capsys.readouterr().out.splitlines()[1:]:
        assert row.split(",")[6:8] == ["", ""]  # One run has no interval.
    assert main(["table", str(tmp_path / "nothing")]) == 1
    assert "no run with an evaluation found in" in capsys.readouterr().err


def test_runs_with_hyperedges_of_their_own_are_called_by_their_number(tmp_path, capsys):
    from hyperaction.cli import main

    write(tmp_path / "named", "E", "hgqn", 0, [1], orders=[1], edges=["0", "0,1"])
    assert main(["table", str(tmp_path), "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("E,hgqn 2 hyperedges,1,")
