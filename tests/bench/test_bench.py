import json
import os
from unittest import mock

import jax
import pytest

from hyperaction.bench import defaults, maximise, peers, treewidth
from hyperaction.cli import main
from hyperaction.kernels import library
from tests.strategies import HAS_KERNEL


@pytest.fixture
def process():
    """This process as one that begins now; cores and instruction set are set back in the end."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    jax.clear_caches()
    with mock.patch.dict(os.environ), mock.patch.object(library, "_used", set()):
        yield
    jax.clear_caches()
    if cores:
        os.sched_setaffinity(0, cores)


@pytest.fixture
def bench(process, capsys):
    """What a benchmark prints."""

    def run(*args):
        code = main(["bench", *args])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return printed.out

    return run


def test_the_maximise_benchmark_measures_its_cases(tmp_path, bench, monkeypatch):
    few = {name: points[:2] for name, points in maximise.GROWTH.items()}
    monkeypatch.setattr(maximise, "GROWTH", few)
    monkeypatch.setattr(treewidth, "WIDTHS", {3: 3, 5: 2})
    args = ["maximise", "--states", "2", "--repeats", "1", "--peer-states", "1"]
    args += ["--cases", "HalfCheetah rank 2", "17 x 5 rank 2"]
    isa = ["--isa", "baseline"] if HAS_KERNEL else []
    printed = bench(*args, *isa, "--out", str(tmp_path))
    rows = json.loads((tmp_path / "maximise.json").read_text())
    assert [row["case"] for row in rows["exact"]] == ["HalfCheetah rank 2"]
    assert all(row["exact"] and row["forward passes"] > 0 for row in rows["exact"])
    assert all(row["times pytoulbar2"] > 0 for row in rows["exact"])
    assert [row["case"] for row in rows["soft"]] == [row["case"] for row in rows["exact"]]
    works = ("value", "marginals", "draw")
    assert all(
        row[f"{kind} {work}"] > 0
        for row in rows["soft"]
        for kind in ("warm", "cold")
        for work in works
    )
    if HAS_KERNEL:
        assert {row["case"] for row in rows["large"]} == {"17 x 5 rank 2"}
        ways = {row["way"] for row in rows["large"]}
        assert ways == {"ascent", "ascent, bounded", "branch-and-bound"}
    assert all(row["largest loss"] < 0.005 for row in rows["large"])
    for size in (3, 5):  # Bands of the widths 1, 2 and so on.
        widths = [row["width"] for row in rows["width"] if row["sub-actions"] == size]
        assert widths == list(range(1, treewidth.WIDTHS[size] + 1))
    assert [(row["series"], row["x"]) for row in rows["growth"]] == [
        (name, x) for name, points in few.items() for x, *_ in points
    ]
    for figure in ("maximise-growth.png", "maximise-width.png"):
        assert (tmp_path / figure).read_bytes().startswith(b"\x89PNG")
    assert "The exact maximum of a batch" in printed
    if HAS_KERNEL:
        used = ["eliminate", "search", "soft_value", "soft_marginals", "soft_sample"]
        assert rows["kernels"] == {"set": "baseline", "used": used}
        sentence = f"Instruction set baseline; kernels used: {', '.join(used)}."
        assert sentence in " ".join(printed.split())


def test_the_torch_benchmark_compares_both_paths(tmp_path, bench):
    pytest.importorskip("torch")
    args = ["torch", "--states", "2", "--repeats", "1", "--cases", "HalfCheetah rank 2"]
    printed = bench(*args, "--out", str(tmp_path))
    (row,) = json.loads((tmp_path / "torch.json").read_text())["rows"]
    assert row["case"] == "HalfCheetah rank 2"
    assert min(row[each] for each in ("maximum", "maximum of one", "update")) > 0
    assert "PyTorch in times of JAX" in printed


def test_a_first_run_is_compared_with_random_actions():
    row = defaults.first_run("Machines-v0", 60, seed=0)
    assert (row.env, row.preset, row.steps) == ("Machines-v0", "small", 60)
    assert 30 < row.random < 50  # Of at most 96, and 60 where all just work.
    assert row.trained != row.random


def test_an_unknown_case_is_refused(tmp_path, capsys):
    assert main(["bench", "maximise", "--cases", "Ant rank 9", "--out", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "--cases: unknown case 'Ant rank 9'; did you mean 'Ant rank" in error


def test_the_train_benchmark_splits_a_step(tmp_path, bench):
    pytest.importorskip("pybullet_envs_gymnasium")
    args = ["train", "--ranks", "1", "--steps", "20", "--repeats", "1"]
    skipped = ["--peer-steps", "0", "--overlap-steps", "0"]
    printed = bench(*args, *skipped, "--out", str(tmp_path))
    found = json.loads((tmp_path / "train.json").read_text())
    shares = {name: share for name, share in found["split"]["1"].items() if name != "milliseconds"}
    assert set(shares) == {"environment", "update", "acting", "replay", "logging", "rest"}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert min(shares.values()) >= 0.0
    assert shares["update"] > shares["replay"] > 0.0
    assert found["floor"]["times floor"] > 0.5
    assert 0.1 < found["starts"]["1"]["gigabytes"] < 3.0
    assert "times its floor" in " ".join(printed.split())


def test_the_atari_benchmark_splits_a_step(tmp_path, bench, monkeypatch):
    pytest.importorskip("ale_py")
    monkeypatch.setattr("hyperaction.bench.atari.WARM_UP", 40)
    args = ["atari", "--steps", "8", "--repeats", "1", "--peer-steps", "0"]
    printed = bench(*args, "--out", str(tmp_path))
    found = json.loads((tmp_path / "atari.json").read_text())
    for agent in ("dqn", "hgqn"):
        shares = dict(found["split"][agent])
        assert shares.pop("milliseconds") > 0
        assert set(shares) == {
            "emulator", "preprocessing", "acting", "sampling", "update", "rest"
        }  # fmt: skip
        assert sum(shares.values()) == pytest.approx(1.0)
        assert shares["update"] > shares["sampling"] > 0.0
    assert 7.0 < found["replay_gigabytes"] < 7.5
    assert "A million frames take 7.14 GB" in " ".join(printed.split())


def test_a_benchmark_of_a_set_that_the_machine_has_not_is_refused_in_one_line(process, capsys):
    assert main(["bench", "maximise", "--isa", "sse9", "--peer-states", "0"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("hyperaction: --isa sse9 cannot be used: choose from baseline, avx2")
    assert error.count("\n") == 1


def test_a_peer_that_fails_is_left_out(monkeypatch, capsys):
    def child(worker, name, steps):
        if name == "old":
            raise RuntimeError("measuring old failed: no module")
        return {"steps_per_second": 10.0}

    monkeypatch.setattr(peers, "child", child)
    found = peers.speeds("worker", {"old": "json", "new": "json"}, 5, 2, lambda what: None)
    assert found == {"Hyperaction": 10.0, "new": 10.0}
    assert capsys.readouterr().err == "hyperaction: left out: measuring old failed: no module\n"
