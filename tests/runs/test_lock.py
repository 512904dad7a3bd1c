"""The lock of a run's directory."""

import pytest

from hyperaction.runs.lock import locked


def hold(folder):
    with locked(folder):
        pass


def test_a_lock_that_is_a_link_is_refused_and_its_target_left_alone(tmp_path):
    target = tmp_path / "target"
    target.write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    for pointed in (target, tmp_path / "missing"):
        (run / "lock").symlink_to(pointed)
        with pytest.raises(ValueError, match=r"lock is a link; remove it"):
            hold(run)
        (run / "lock").unlink()
    assert target.read_text() == "mine"
    assert not (tmp_path / "missing").exists()


def test_a_directory_is_held_by_one(tmp_path):
    with locked(tmp_path), pytest.raises(ValueError, match=r"another process \(number \d+\)"):
        hold(tmp_path)
    hold(tmp_path)
