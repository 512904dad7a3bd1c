"""The memory that a run takes, before it takes it."""

import pytest

import hyperaction
from hyperaction.cli import main
from hyperaction.training import memory


def test_a_replay_that_does_not_fit_is_refused_with_one_that_does(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(memory, "available", lambda: 4_000_000_000)
    code = main(["train", "ALE/Pong-v5", "--out", str(tmp_path / "run")])
    assert code == 1
    printed = capsys.readouterr().err
    assert "replay takes up to 7.1 GB of memory" in printed
    assert "only 4.0 GB is free; --buffer-size 350000 would fit" in printed
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="buffer_size 350000 would fit"):
        hyperaction.HGQN("ALE/Pong-v5")


def test_memory_that_files_take_in_a_container_is_free(monkeypatch, tmp_path):
    for name, text in {
        "memory.max": "16000000000",
        "memory.current": "15500000000",
        "memory.stat": "anon 1000000000\ninactive_file 9000000000\nactive_file 5000000000",
    }.items():
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory._left_in_container() == 14_500_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._left_in_container() is None


def test_no_more_runs_are_started_than_memory_holds(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 24_000_000_000)
    assert memory.runs_that_fit(7_140_000_000) == 2
    assert memory.runs_that_fit(24_000_000) is None
