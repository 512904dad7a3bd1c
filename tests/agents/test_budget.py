"""What finding best actions may take in training, and what is planned for it."""

import jax
import pytest

from hyperaction import maximiser
from hyperaction.agents.parts import to_dict
from hyperaction.agents.presets import config_for, restored
from hyperaction.errors import SettingError
from hyperaction.maximise.cost import training_budget
from hyperaction.maximise.elimination import Elimination
from tests.strategies import HAS_KERNEL

PAPER = {"HalfCheetah": (6, 26), "Walker2D": (6, 22), "Hopper": (3, 15), "Reacher": (2, 9)}
ANT = {"Ant": (8, 28)}
"""Joints, of five sub-actions each, and numbers of an observation, in PyBullet."""


def planned(vertices, observation, rank, *, agent="hgqn", preset="physical", **changes):
    config = config_for(agent, preset, rank=rank, changes=changes)
    made = config.build((5,) * vertices, (observation,))
    return jax.eval_shape(made.init, jax.random.key(0)).online.maximiser


@pytest.mark.parametrize("has_kernel", [True, False] if HAS_KERNEL else [False])
@pytest.mark.parametrize("domain", [*PAPER, *ANT])
def test_the_papers_domains_are_planned_as_without_a_budget(domain, has_kernel, monkeypatch):
    if not has_kernel:
        monkeypatch.setattr("hyperaction.kernels.serves", lambda *args: False)
    vertices, observation = (PAPER | ANT)[domain]
    for rank in range(1, min(vertices, 3) + 1):
        best = planned(vertices, observation, rank)
        assert best.name == ("decentralised" if rank == 1 else "elimination")
        assert best.way == maximiser(best.hypergraph, way=best.name, use_native=has_kernel).way
        assert isinstance(best.way, Elimination) == (has_kernel and rank > 1)
        assert planned(vertices, observation, rank, preset="modern").way == best.way


@pytest.mark.parametrize("agent", ["dqn", "rainbow"])
def test_agents_of_one_hyperedge_stay_exact(agent):
    for vertices, observation in PAPER.values():
        assert planned(vertices, observation, None, agent=agent).exact


@pytest.mark.skipif(not HAS_KERNEL, reason="plans are of the kernels' times")
def test_exact_ways_that_would_take_many_training_steps_are_not_taken_unless_asked_for():
    connector = {"vertices": 10, "observation": 100, "rank": 2}
    best = planned(**connector)
    assert (best.name, best.exact) == ("ascent", False)
    assert "per training step" in best.explain()
    assert planned(**connector, budget=100.0).exact
    assert planned(**connector, maximise="elimination").exact
    assert planned(**connector, objective="soft").exact  # Nothing approximate would do.
    assert planned(**connector, exploration="boltzmann").exact


def test_larger_batches_networks_and_fewer_updates_leave_more_time():
    usual = training_budget(1.0, 400_000, 64, 1)
    for other in (
        training_budget(2.0, 400_000, 64, 1),
        training_budget(1.0, 800_000, 64, 1),
        training_budget(1.0, 400_000, 128, 1),
        training_budget(1.0, 400_000, 64, 4),
    ):
        assert other.limit > usual.limit


def test_a_budget_is_stored_where_it_is_not_the_default():
    config = config_for("hgqn", "physical", rank=2, changes={})
    assert "budget" not in to_dict(config)
    assert restored("hgqn", to_dict(config)).budget == 1.0
    other = config_for("hgqn", "physical", rank=2, changes={"budget": 2})
    assert restored("hgqn", to_dict(other)).budget == 2


@pytest.mark.parametrize(
    ("agent", "changes", "message"),
    [
        ("hgqn", {"budget": -1.0}, "budget must be at least 0, not -1"),
        ("hgqn", {"budget": float("inf")}, "budget must be finite"),
        ("hgqn", {"budget": "much"}, "budget must be a number"),
        ("action-in", {"budget": 2.0}, "budget is for values mixed from hyperedges"),
    ],
)
def test_budgets_that_mean_nothing_are_refused(agent, changes, message):
    with pytest.raises(SettingError, match=message):
        config_for(agent, "physical", changes=changes)
