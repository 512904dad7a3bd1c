"""A run's directory: not that of something else, and as it was where a start fails."""

import json

import numpy as np
import pytest

from hyperaction.replay.ring import Ring
from hyperaction.runs import Run
from hyperaction.runs.checkpoints import Checkpoints

CONFIG = {
    "env": "Env-v0",
    "agent": "hgqn",
    "seed": 0,
    "steps": 10,
    "settings": {"batch_size": 4},
}
OTHER = CONFIG | {"settings": {"batch_size": 8}}


def tree(folder):
    """Everything in a folder: what links lead to, and the files' contents."""
    return {
        str(path.relative_to(folder)): path.readlink()
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def start(out, config=CONFIG, **options):
    with Run(out, config, **options) as run:
        run.resume()
        raise ZeroDivisionError


def train(out, config=CONFIG, **options):
    """A run with a line of metrics."""
    with Run(out, config, **options) as run:
        run.resume()
        run.log("eval", {"step": 1, "return": 1.0})


def make_file(name):
    return lambda out: (out / name).write_text("precious")


def make_checkpoint(out):
    (out / "checkpoints").mkdir()
    (out / "checkpoints" / "state-000001.safetensors").write_text("precious")


FOREIGN = {
    "metrics.jsonl": make_file("metrics.jsonl"),
    "agent.safetensors": make_file("agent.safetensors"),
    "progress.json": make_file("progress.json"),
    "state-000001.safetensors": make_checkpoint,
    "checkpoints": make_file("checkpoints"),
    "linked checkpoints": lambda out: (out / "checkpoints").symlink_to("nowhere"),
    "linked metrics": lambda out: (out / "metrics.jsonl").symlink_to("nowhere"),
    "linked config": lambda out: (out / "config.json").symlink_to("nowhere"),
    "config.json": make_file("config.json"),
    "config of another program": lambda out: (out / "config.json").write_text('{"a": 1}'),
}


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("kind", FOREIGN)
def test_a_directory_with_files_of_something_else_is_refused(tmp_path, kind, fresh):
    out = tmp_path / "run"
    out.mkdir()
    FOREIGN[kind](out)
    before = tree(out)
    if fresh and (out / "config.json").exists():
        train(out, fresh=True)  # All of it is moved aside.
        after = tree(tmp_path / "run-old-1")
    else:
        with pytest.raises(ValueError, match=r"of something else|is damaged"):
            Run(out, CONFIG, fresh=fresh)
        after = tree(out)
    after.pop("lock", None)
    assert after == before


def test_an_archive_is_not_written_over(tmp_path):
    train(tmp_path)
    (tmp_path / "agent.safetensors").write_text("precious")
    before = tree(tmp_path)
    with Run(tmp_path, CONFIG | {"steps": 20}) as run:
        assert run.had_checkpoint()  # So that a session refuses it.
    assert tree(tmp_path) == before


@pytest.mark.parametrize("there", [False, True])
def test_a_start_that_fails_leaves_nothing(tmp_path, there):
    out = tmp_path / "new" / "run"
    if there:
        out.mkdir(parents=True)
        (out / "notes.txt").write_text("precious")
        (out / "checkpoints").mkdir()
    before = tree(tmp_path)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            start(out)
        assert tree(tmp_path) == before
    train(out, OTHER)


def test_a_fresh_start_that_fails_puts_the_old_run_back(tmp_path):
    out = tmp_path / "run"
    train(out)
    before = tree(tmp_path)
    with pytest.raises(ZeroDivisionError):
        start(out, OTHER, fresh=True)
    assert tree(tmp_path) == before


def test_settings_may_change_as_long_as_there_is_no_result(tmp_path):
    run = Run(tmp_path, CONFIG)  # As if the process were killed.
    run.resume()
    run._metrics.close()
    run._held.pop_all()
    train(tmp_path, OTHER)
    assert json.loads((tmp_path / "config.json").read_text())["settings"] == OTHER["settings"]
    with pytest.raises(ValueError, match="batch_size was 8, now 4"):
        Run(tmp_path, CONFIG)


def test_a_run_that_fails_after_a_result_keeps_it(tmp_path):
    for path in (tmp_path / "metrics", tmp_path / "checkpoint"):
        with pytest.raises(ZeroDivisionError), Run(path, CONFIG) as run:  # noqa: PT012
            run.resume()
            if path.name == "metrics":
                run.log("eval", {"step": 1, "return": 1.0})
            else:
                Checkpoints(path).write({}, {"x": np.zeros(1)}, Ring(9, (2,), 1).streams, {})
            raise ZeroDivisionError
        assert (path / "config.json").exists()


def test_runs_are_told_apart_by_all_settings_but_their_length(tmp_path):
    def identity(name, config):
        with Run(tmp_path / name, config) as run:
            return run.identity

    assert identity("a", CONFIG) == identity("b", CONFIG | {"steps": 99})
    assert identity("c", CONFIG) != identity("d", OTHER)
