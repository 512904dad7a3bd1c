"""A trainer loads states like its own, and refuses all others in one line."""

import copy
import json
from typing import Any

import numpy as np
import pytest

from hyperaction.api import DDPG, HGRainbow
from hyperaction.envs.vector import Single
from hyperaction.envs.wrapper import Factored
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.runs.state import ARRAY, check_like, join, split
from hyperaction.training.checkpoint import TrainerCheckpoints
from hyperaction.training.trainer import Trainer
from tests.training.envs import TINY, Aiming, Counting

MARK = {"metrics": {"bytes": 0, "sha256": "x"}}
AGENTS = {"hg-rainbow": (HGRainbow, Counting), "ddpg": (DDPG, Aiming)}
HOSTILE: tuple[Any, ...] = (
    "x",
    None,
    True,
    -1,
    0.5,
    10**400,
    [],
    {},
    [[1]],
    {"a": 1},
    {ARRAY: "odd"},
    {ARRAY: []},
)


@pytest.fixture(scope="module", params=list(AGENTS))
def make(request):
    """Makes a trainer whose environment can be resumed."""
    kind, env = AGENTS[request.param]
    tiny = {name: TINY[name] for name in ("batch_size", "learning_starts", "buffer_size")}
    agent = kind(env(), hidden=(8, 8), **tiny)
    return lambda: Trainer(agent.agent, lambda: Single(Factored(env(), agent.actions)), 0)


def test_every_state_of_a_trainer_is_like_those_that_it_loads(make):
    trainer, like = make(), make().state_like()
    for step in range(14):
        plain, arrays = split(trainer.state_dict())
        check_like(join(json.loads(json.dumps(plain)), arrays), like)
        check_like(join(json.loads(json.dumps(plain)), arrays), trainer.state_like())
        trainer.advance()
        if step == 11:
            trainer.phase.losses.append(0.5)
            trainer.begin_phase()


def places(value, path=()):
    """The paths of all values in a state."""
    inner = value.items() if isinstance(value, dict) and ARRAY not in value else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    return [path, *(each for key, one in inner for each in places(one, (*path, key)))]


def with_value(state, path, value):
    """A copy of a state with another value in a place."""
    changed = copy.deepcopy(state)
    owner = changed
    for key in path[:-1]:
        owner = owner[key]
    owner[path[-1]] = value
    return changed


def test_a_state_of_another_kind_is_refused_when_it_is_restored_or_does_no_harm(make, tmp_path):
    trainer = make()
    for _ in range(10):
        trainer.advance()
    checkpoints = TrainerCheckpoints(Checkpoints(tmp_path))
    checkpoints.write(trainer, MARK, {})
    checkpoint, _ = checkpoints.store.latest()
    odd = checkpoint.arrays | {"odd": np.zeros((7, 5), np.uint8)}
    found = [path for path in places(checkpoint.state) if path]
    found = [path for path in found if path[1:2] != ("agent",) or ".online" in path[-1]]
    assert len(found) > 30
    taken, refused = [], []
    for index, path in enumerate(found):
        for value in HOSTILE[index % 3 :: 3]:
            state = with_value(checkpoint.state, path, value)
            try:
                checkpoints.restore(trainer, checkpoint._replace(state=state, arrays=odd))
            except ValueError as error:
                refused.append(str(error))
                continue
            trainer.advance()
            taken.append((path[-1], value))
    assert not [message for message in refused if "\n" in message]
    assert len(refused) > 4 * len(taken)
    assert checkpoints.restore(trainer, checkpoint)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("trainer", "replay_empty_at"), "x", "replay_empty_at is x, not an integer of at least 0"),
        (("trainer", "phase", "over"), 1, "phase/over is 1, not true or false"),
        (("trainer", "totals"), [], "totals has 0 values, not 1"),
        (("trainer", "phase", "more"), 1, "phase/more is unknown"),
        (("trainer", "replay", "last_encoded", 0), {ARRAY: "odd"}, "last_encoded/0 is an array of"),
    ],
)
def test_what_does_not_fit_is_named(make, tmp_path, path, value, message):
    checkpoints, trainer = TrainerCheckpoints(Checkpoints(tmp_path)), make()
    checkpoints.write(trainer, MARK, {})
    checkpoint, _ = checkpoints.store.latest()
    odd = checkpoint.arrays | {"odd": np.zeros((7, 5), np.uint8)}
    state = with_value(checkpoint.state, path, value)
    with pytest.raises(ValueError, match=rf"is not a checkpoint of this run: state/.*{message}"):
        checkpoints.restore(trainer, checkpoint._replace(state=state, arrays=odd))
