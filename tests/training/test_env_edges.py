"""Hyperedges by the names of vertices and of a robot's joints, to the run's files."""

import gymnasium
import pytest

from hyperaction import HGQN
from hyperaction.cli import main
from hyperaction.sweeps.grid import check_fits, read
from hyperaction.training.config import parse_train, run_config


def test_environments_without_a_robot_are_refused_by_name():
    message = "edges kinematic: CartPole-v1 has no robot with joints; Gymnasium's MuJoCo"
    with pytest.raises(ValueError, match=message):
        HGQN("CartPole-v1", edges="kinematic")
    vector = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    with pytest.raises(ValueError, match=message):
        HGQN(vector, edges="kinematic")
    alone = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point")
    with pytest.raises(ValueError, match="CartPoleVectorEnv are out of reach; pass one environm"):
        HGQN(alone, edges="kinematic")
    with pytest.raises(ValueError, match="edges kinematic stands for hyperedges of a robot"):
        parse_train(["CartPole-v1", "--edges", "kinematic"]).agent_config.hypergraph((2,))


def test_a_run_stores_the_hyperedges_and_finds_the_same_again(tmp_path, capsys):
    pytest.importorskip("pybullet_envs_gymnasium")
    out = tmp_path / "run"
    args = [
        "train", "ReacherBulletEnv-v0", "--edges", "kinematic", "--hidden", "8", "--loggers",
        "--phase-steps", "150", "--evaluation-steps", "0", "--out", str(out), "--steps",
    ]  # fmt: skip
    assert main([*args, "150"]) == 0
    assert "vertices: 0 joint0, 1 joint1\n" in capsys.readouterr().out
    assert run_config(out)["settings"]["edges"] == ["0", "1", "0,1"]
    assert main([*args, "300"]) == 0
    assert "resuming from step 150" in capsys.readouterr().out
    assert HGQN.load(out).agent.hypergraph.edges == ((0,), (1,), (0, 1))


def test_python_and_sweeps_find_the_hyperedges_too():
    pytest.importorskip("pybullet_envs_gymnasium")
    given = {"edges": ["kinematic", "0,1"], "hidden": (8,)}
    assert HGQN("ReacherBulletEnv-v0", **given).config.edges == ("0", "1", "0,1")
    table = {"agents": {"a": {"edges": ["kinematic"]}}, "seeds": [0]}
    assert check_fits("g", read("g", {"environments": ["ReacherBulletEnv-v0"], **table}).cells) > 0
    with pytest.raises(ValueError, match="CartPole-v1 has no robot"):
        check_fits("g", read("g", {"environments": ["CartPole-v1"], **table}).cells)
