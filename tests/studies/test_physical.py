import csv
from pathlib import Path

import numpy as np
import pytest

from hyperaction.report.curves import (
    Curve,
    count_inside,
    format_return,
    group_curves,
    sentence,
    table,
)
from hyperaction.studies import atari
from hyperaction.studies.physical import peer_curve, published_curve, published_curves

CONFIG = {
    "env": "HalfCheetahBulletEnv-v0",
    "agent": "hgqn",
    "settings": {"orders": [1, 2], "edges": [], "mixer": "sum"},
}


def changed(**settings):
    return {**CONFIG, "settings": {**CONFIG["settings"], **settings}}


def test_runs_find_what_was_published_for_them():
    found = published_curve(CONFIG)
    assert found.agent == "hgqn-r2-sum"
    assert found.steps[0] == 10_000
    assert found.steps[-1] == 3_000_000
    assert (found.minimum <= found.mean).all()
    assert (found.mean <= found.maximum).all()
    # The means that the authors' figures show: 920 at 300,000 steps, 2001 at a million.
    late = found.mean[-10:].mean()
    assert late == pytest.approx(2509, abs=5)
    assert published_curve({**CONFIG, "agent": "bdqn"}).agent == "bdqn"
    assert published_curve(changed(mixer="mean")).agent == "hgqn-r2-sum"
    for other in (changed(orders=[2]), changed(edges=["0"]), changed(mixer="universal")):
        assert published_curve(other) is None
    assert published_curve({**CONFIG, "env": "CartPole-v1"}) is None


REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "physical_published.csv"


@pytest.mark.skipif(not REFERENCE.exists(), reason="the authors' files are not beside the project")
def test_the_published_table_is_the_authors():
    with REFERENCE.open() as file:
        rows = [row for row in csv.DictReader(file) if row["agent"] == "hgqn-r2-sum"]
    found = published_curve(CONFIG)
    for step in (10_000, 300_000, 3_000_000):
        returns = [
            float(row["eval_return"])
            for row in rows
            if row["domain"] == "HalfCheetahBulletEnv" and int(row["step"]) == step
        ]
        place = int(np.flatnonzero(found.steps == step)[0])
        ours = [found.mean[place], found.minimum[place], found.maximum[place]]
        np.testing.assert_allclose(ours, [np.mean(returns), min(returns), max(returns)], atol=0.51)


TQC = REFERENCE.with_name("zoo_tqc.csv")


@pytest.mark.skipif(not TQC.exists(), reason="the zoo's figures are not beside the project")
def test_the_table_of_tqc_is_the_zoos():
    with TQC.open() as file:
        rows = [row for row in csv.DictReader(file) if "three seeds" not in row["source"]]
    for row in rows:
        given = {int(key): float(row[key]) for key in row if key.isdigit() and row[key]}
        found = peer_curve({"env": row["environment"]})
        assert dict(zip(found.steps.tolist(), found.mean.tolist(), strict=True)) == given
    assert len(rows) == 5


def test_tqc_is_set_beside_runs_of_any_agent():
    assert peer_curve({"env": "CartPole-v1"}) is None
    peer = published_curves(CONFIG)[-1]
    assert peer.agent.startswith("TQC")
    steps = np.array([50_000, 100_000, 150_000])
    curve = Curve("mine", CONFIG["env"], steps, steps / 100.0, "hgqn")
    [group] = group_curves([(curve, None)], {CONFIG["env"]: peer})
    column = table(group, rows=3).columns[-1]
    assert column.header == peer.agent
    # Nothing before its first evaluation, and between two the line.
    assert list(column.cells) == ["", "1,302", "2,006"]


def test_evaluations_are_counted_inside_above_and_below():
    spread = published_curve(CONFIG)
    steps = np.array([500, 10_000, 20_000, 30_000, 4_000_000])
    returns = np.array([0.0, spread.maximum[0] + 1, spread.minimum[1] - 1, spread.mean[2], 0.0])
    curve = Curve("mine", "HalfCheetahBulletEnv-v0", steps, returns, "hgqn")
    assert count_inside(curve, spread) == {"inside": 1, "above": 1, "below": 1}
    assert "1 of 3 phases" in sentence(curve, spread)
    early = curve._replace(steps=steps[:1], returns=returns[:1])
    assert "no result at the published steps" in sentence(early, spread)


GAME = {
    "env": "ALE/BankHeist-v5",
    "agent": "hgqn",
    "settings": {"orders": [1, 2, 3], "edges": [], "mixer": "sum"},
}


def test_phases_that_end_late_are_set_beside_their_own_iteration():
    spread = atari.published_curve(GAME)
    curves = [
        Curve("a", GAME["env"], np.array([251_000, 507_000]), spread.minimum[:2], "hgqn"),
        Curve("b", GAME["env"], np.array([270_000, 560_000]), spread.maximum[:2], "hgqn"),
    ]
    for curve in curves:
        assert count_inside(curve, spread) == {"inside": 2, "above": 0, "below": 0}
    [group] = group_curves([(curve, spread) for curve in curves])
    columns = [list(column.cells) for column in table(group, rows=9).columns]
    assert columns[0] == ["270,000", "560,000"]
    assert columns[2] == columns[6]  # The published maximum.
    first, second = spread.minimum[:2]
    a = [first + (second - first) * 19 / 256, second]  # Between its evaluations, and after them.
    assert columns[1] == [format_return(value) for value in a]
    mean = (np.array(a) + spread.maximum[:2]) / 2
    assert columns[3] == [format_return(value) for value in mean]


def test_runs_of_the_same_agent_and_domain_share_a_table():
    spread = published_curve(CONFIG)
    steps = np.arange(1, 31) * 10_000
    curves = [Curve(name, CONFIG["env"], steps, steps / 300.0, name) for name in ("a", "b")]
    groups = group_curves([(curves[0], spread), (curves[1], spread), (curves[0], None)])
    assert [len(group.curves) for group in groups] == [2, 1]
    found = table(groups[0], rows=4)
    assert found.row_count == 4
    assert [column.header for column in found.columns][:3] == ["steps", "a", "b"]
