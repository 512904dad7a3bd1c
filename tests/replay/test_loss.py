"""After a loss, replay is what is left: nothing is mixed up, and nothing lost is drawn."""

import numpy as np
import pytest

import hyperaction.runs.checkpoints as checkpoints_module
from hyperaction.agents.presets import config_for
from hyperaction.replay.buffer import ReplayBuffer, Step
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.runs.state import check_like, join, split


class Images:
    observation_shape, observation_dtype, frames = (2, 3, 3), np.uint8, 2


class Numbers:
    observation_shape, observation_dtype, frames = (2,), np.float32, 0


def make(observed, capacity):
    changes = {"buffer_size": capacity, "n_step": 3, "batch_size": 8, "learning_starts": 8}
    return ReplayBuffer(
        config_for("hg-rainbow", "physical", changes=changes),
        observed,
        action_length=1,
        action_dtype=np.int32,
        mask_length=None,
        num_envs=1,
        rng=np.random.default_rng(0),
    )


def observation(observed, step):
    """A stack of the last two frames, each filled with its number; or just numbers."""
    if observed is Numbers:
        return np.array([step, -step], np.float32)
    return np.stack([np.full((3, 3), 1 + each % 200, np.uint8) for each in (step - 1, step)])


def play(replay, observed, steps):
    for step in steps:
        over = step % 13 == 12
        now, then = observation(observed, step), observation(observed, step + 1)
        replay.add(0, Step(now, np.array([step]), float(step), then, over, False))


def contents(replay):
    """The transitions that are there, by their actions, and their priorities."""
    slots = replay.ring.slots
    taken = replay.ring.take(slots)
    rows = zip(*(part for part in taken if part is not None), strict=True)
    return {
        int(row[1][0]): ([part.tolist() for part in row], float(priority))
        for row, priority in zip(rows, replay.priorities.priorities[slots], strict=True)
    }


@pytest.mark.parametrize("capacity", [40, 500])
@pytest.mark.parametrize("observed", [Images, Numbers])
def test_what_is_left_after_a_loss_is_unchanged(tmp_path, monkeypatch, observed, capacity):
    monkeypatch.setattr(checkpoints_module, "MAX_PIECE", 10)
    replay = make(observed, capacity)
    play(replay, observed, range(70))
    replay.sample(8)
    replay.update_priorities(np.arange(8.0))
    whole = contents(replay)
    store = Checkpoints(tmp_path)
    plain, arrays = split(replay.state_dict())
    store.write({"replay": plain}, arrays, replay.streams, {})
    for file in sorted(store.folder.glob("*-*-*.safetensors")):
        data = file.read_bytes()
        file.unlink()
        found, _ = Checkpoints(tmp_path).latest()
        again = make(observed, capacity)
        for piece in found.replay:
            again.streams[piece.stream].refill(piece.first, piece.read())
        state = join(found.state["replay"], found.arrays)
        check_like(state, again.state_like())
        again.load_state_dict(state)
        again.drop_before(found.lost_before)
        left = contents(again)
        assert len(left) == len(again)
        assert left.items() <= whole.items()
        assert list(left) == list(whole)[len(whole) - len(left) :]  # The newest.
        total = sum(priority for _, priority in left.values())
        assert again.priorities.tree[1] == pytest.approx(total)
        if left:
            assert set(again.sample(50).action[:, 0].tolist()) <= set(left)
        file.write_bytes(data)

        play(again, observed, range(70, 140))
        play_whole = make(observed, capacity)
        play(play_whole, observed, range(140))
        expected = contents(play_whole)
        for number, (row, _) in contents(again).items():
            if number >= 70:
                assert row == expected[number][0]
        if capacity == 40:  # By now everything lost would have been dropped.
            assert len(again) == len(play_whole)
            assert again.is_full
        assert set(again.sample(50).action[:, 0].tolist()) <= set(contents(again))
