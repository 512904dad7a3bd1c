"""Hyperedges that change while an agent learns."""

import json

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces

from hyperaction.agents.structure import GrowEdges, Structure, chosen_pairs, chosen_triples
from hyperaction.api import BDQN, DQN, HGQN, HGRainbow
from hyperaction.cli import main
from hyperaction.envs.vector import Single
from hyperaction.envs.wrapper import Factored
from hyperaction.hypergraph import Hypergraph
from hyperaction.mixers import MIXERS
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.training.checkpoint import TrainerCheckpoints
from hyperaction.training.structure import changed
from hyperaction.training.trainer import Trainer
from tests.training.envs import TINY

SINGLES = [(0,), (1,), (2,)]
PAIRS = [(0, 1), (0, 2), (1, 2)]


class Paired(gymnasium.Env):
    """A contextual bandit: the first and the last vertex must agree, the second adds by itself."""

    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.MultiDiscrete([2, 3, 2])

    def __init__(self, with_mask=False):
        self.with_mask = with_mask

    def _seen(self):
        self.context = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        mask = np.ones(7, bool)
        mask[2 + int(3 * abs(self.context[0])) % 3] = False
        self.mask = mask
        return self.context, {"action_mask": mask} if self.with_mask else {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._seen()

    def step(self, action):
        assert not self.with_mask or self.mask[2 + action[1]]
        sign = 1.0 if self.context[0] > 0 else -1.0
        reward = (sign if action[0] == action[2] else -sign) + 0.2 * action[1]
        seen, info = self._seen()
        return seen, float(reward), True, False, info


def make(kind=HGQN, with_mask=True, **settings):
    made = kind(Paired(), **(TINY | settings))
    return Trainer(made.agent, lambda: Single(Factored(Paired(with_mask), made.actions)), 0)


def advance(trainer, step):
    while trainer.step < step:
        trainer.advance()
    return trainer


def values(network, observations):
    compute = jax.jit(lambda network, seen: jax.vmap(network.q_values)(seen))
    return np.asarray(compute(network, observations), np.float64)


GROWING = {"rank": 2, "structure": GrowEdges((15,)), "mixer": "sum"}
CHOOSING = {"edges": "auto", "prune_at": 21, "keep": 1, "states": 50, "mixer": "mean"}
RAINBOW = CHOOSING | {"choose": "best", "keep": 3, "triples": 1}


@pytest.mark.parametrize(("kind", "settings"), [(HGQN, GROWING), (HGRainbow, RAINBOW)])
def test_a_run_resumed_around_a_change_is_the_run_that_never_stopped(kind, settings, tmp_path):
    whole = make(kind, **settings)
    stores = {}
    for step in (14, 15, 21):
        advance(whole, step)
        (tmp_path / str(step)).mkdir()
        stores[step] = Checkpoints(tmp_path / str(step), "id")
        mark = {"metrics": {"bytes": 0, "sha256": "x"}}
        TrainerCheckpoints(stores[step]).write(whole, mark, {})
    expected = advance(whole, 30).state_dict()
    assert len(expected["agent"]) > 0
    for store in stores.values():
        checkpoint, problems = store.latest()
        assert not problems
        resumed = make(kind, **settings)
        assert TrainerCheckpoints(store).restore(resumed, checkpoint)
        found = advance(resumed, 30).state_dict()
        assert found["structure"] == expected["structure"]
        for name, array in expected["agent"].items():
            np.testing.assert_array_equal(found["agent"][name], array, err_msg=name)
        assert found["explorer"]["rng"] == expected["explorer"]["rng"]


def test_a_stored_structure_of_another_kind_is_refused_in_one_line(tmp_path):
    trainer = advance(make(**GROWING), 16)
    checkpoints = TrainerCheckpoints(Checkpoints(tmp_path, "id"))
    checkpoints.write(trainer, {"metrics": {"bytes": 0, "sha256": "x"}}, {})
    checkpoint, _ = checkpoints.store.latest()
    stored = checkpoint.state["trainer"]["structure"]
    odd = {
        "edges": [[[0]], [[9]], [[0], [0]], [[0], [1], [2], [0, 1, 2]], "x"],
        "width": [0, 1, 10**18, None],
        "level": [1, -1],
        "changes": [[1]],
        "returns": ["x"],
    }
    for name, wrong in odd.items():
        for value in wrong:
            other = {**checkpoint.state["trainer"], "structure": {**stored, name: value}}
            state = {**checkpoint.state, "trainer": other}
            with pytest.raises(ValueError, match="is not a checkpoint of this run") as error:
                checkpoints.restore(make(**GROWING), checkpoint._replace(state=state))
            assert "\n" not in str(error.value)
    assert checkpoints.restore(trainer, checkpoint)


def test_growth_changes_no_value():
    trainer = advance(make(**GROWING), 14)
    assert trainer.agent.hypergraph == Hypergraph((2, 3, 2), SINGLES)
    before = trainer.state.tree
    _, after = changed(trainer.agent, before, tuple(SINGLES + PAIRS), np.random.default_rng(0))
    seen = trainer.replay.observations(4, np.random.default_rng(1))
    for old, new in [(before.online, after.online), (before.target, after.target)]:
        np.testing.assert_allclose(values(new, seen), values(old, seen), rtol=1e-4, atol=1e-5)
    assert advance(trainer, 16).agent.hypergraph == Hypergraph.complete((2, 3, 2), 2)
    assert [change["message"] for change in trainer.changes] == [
        "step 15: added 3 hyperedges at zero: now 6, up to order 2"
    ]


def test_hyperedges_are_added_in_equal_parts_the_low_orders_first():
    full = Hypergraph.complete((2, 2, 2), 3)
    grow, edges = GrowEdges((10, 20)), GrowEdges((10, 20)).first(full)
    assert list(edges) == SINGLES
    assert [grow.is_due(*each) for each in [(9, 0), (10, 0), (19, 1), (20, 1), (99, 2)]] == [
        False, True, False, True, False,
    ]  # fmt: skip
    for stage, later in enumerate([PAIRS[:2], [*PAIRS, (0, 1, 2)]]):
        edges = grow.next(Structure(edges, 5, stage), full, dict).edges
        assert list(edges) == SINGLES + later


def test_what_is_reported_as_dropped_is_what_the_values_lose():
    # No update comes between the last step before the change and the change.
    trainer = advance(make(train_frequency=10, **CHOOSING), 20)
    before = jax.tree.map(jax.numpy.copy, trainer.state.tree.online)
    after = advance(trainer, 21).state.tree.online
    (change,) = trainer.changes
    seen = trainer.replay.observations(50, np.random.default_rng([0, 21]))
    old, new = values(before, seen), values(after, seen)
    total = old.var(axis=1).mean()
    lost = sum(row["share"] for row in change["shares"] if not row["kept"])
    assert 0 < lost < 1
    np.testing.assert_allclose((old - new).var(axis=1).mean() / total, lost, rtol=1e-3)
    np.testing.assert_allclose((old - new).mean(axis=1), 0.0, atol=1e-5)
    assert len(change["dropped"]) == 2
    assert sum(row["share"] for row in change["shares"]) == pytest.approx(1.0)


def test_the_pair_that_interacts_is_found(tmp_path):
    settings = {**CHOOSING, "total_width": 120, "hidden": (32,), "prune_at": 300, "batch_size": 16}
    agent = HGQN(Paired(), **(TINY | settings | {"learning_rate": 3e-3, "learning_starts": 50}))
    agent.learn(305)
    (change,) = agent.structure_changes
    assert change["edges"] == [[0], [1], [2], [0, 2]]
    assert "kept 1 of 3 pairs, {0, 2} " in change["message"]
    agent.save(tmp_path / "agent.safetensors")
    loaded = HGQN.load(tmp_path / "agent.safetensors")
    assert loaded.agent.hypergraph == agent.agent.hypergraph
    seen = agent.trainer.replay.observations(5, np.random.default_rng(0))
    np.testing.assert_array_equal(loaded.act(seen), agent.act(seen))
    again = HGQN.load(tmp_path / "agent.safetensors", Paired())
    assert again.learn(60).agent.hypergraph == agent.agent.hypergraph
    agent.evaluate(Paired(), 1)


def test_a_run_says_and_stores_what_was_chosen(tmp_path, capsys):
    command = [
        "train", "tests.training.test_structure:Paired-v0", "--edges", "auto", "--structure.keep",
        "1", "--prune-at", "21", "--steps", "40", "--phase-steps", "20", "--evaluation-steps", "5",
        "--hidden", "8", "--total-width", "8", "--batch-size", "4", "--learning-starts", "8",
        "--buffer-size", "999", "--loggers", "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    assert main(command) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "step 21: kept 1 of 3 pairs, " in printed
    assert main(command) == 0
    stored = json.loads((tmp_path / "run" / "structure.json").read_text())
    assert stored["sizes"] == [2, 3, 2]
    assert len(stored["changes"][0]["edges"]) == 4
    assert HGQN.load(tmp_path / "run").agent.hypergraph.num_edges == 4


gymnasium.register("Paired-v0", "tests.training.test_structure:Paired")


def test_trees_and_triples():
    shares = {(0, 1): 0.3, (1, 2): 0.2, (0, 2): 0.1, (2, 3): 0.05}
    assert chosen_pairs(shares, 3, tree=True) == [(0, 1), (1, 2), (2, 3)]
    assert chosen_pairs(shares, 3, tree=False) == [(0, 1), (1, 2), (0, 2)]
    assert chosen_triples([(0, 1), (1, 2), (0, 2)], shares, 2) == [(0, 1, 2)]
    assert chosen_triples([(0, 1), (1, 2)], shares, 2) == []


def make_mixer_of(name):
    return lambda num_edges, features, key: MIXERS[name](num_edges, features, key)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (DQN, {"edges": "auto"}, "structure auto: dqn has only the hyperedge of all vertices; .* "
         "hgqn"),
        (BDQN, {"edges": "auto"}, "structure auto is not for the objective branching"),
        (HGQN, {"edges": "auto", "mixer": "universal"}, "needs the mixer sum or mean, not univ"),
        (HGQN, {"edges": "auto", "mixer": make_mixer_of("universal")}, "not under Universal"),
        (HGQN, {"edges": ["auto", "0,1"]}, "edges auto 0,1: auto stands alone"),
        (HGQN, {"edges": "auto", "rank": 3}, "chooses among pairs: rank must be 2, not 3"),
        (HGQN, {"edges": "auto", "prune_at": 8}, "prune_at 8 must be above learning_starts, 8"),
        (HGQN, {"edges": "auto", "triples": 1}, "triples needs .*choose best"),
        (HGQN, {"structure": "grow-edges", "orders": (2,)}, "needs every vertex by itself"),
        (HGQN, {"structure": "grow-edges", "at": (5, 5)}, "at must be increasing steps"),
        (HGQN, {"structure": "grown"}, "unknown structure 'grown'"),
    ],
)  # fmt: skip
def test_structures_that_make_no_sense_are_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(Paired(), **(TINY | settings))


def test_masks_of_any_vertices_hold_while_hyperedges_change():
    class Joint(Paired):
        def _seen(self):
            seen, _ = super()._seen()
            self.table = self.np_random.random((2, 3)) < 0.7
            self.table[0, 0] = True
            return seen, {"action_mask": {(0, 1): self.table}}

        def step(self, action):
            assert self.table[action[0], action[1]]
            return super().step(action)

    for settings in (GROWING, CHOOSING):
        trainer = HGQN(Joint(), **(TINY | settings)).learn(40).trainer
        assert trainer.changes
