"""The command of a run, given its settings."""

import json
import shlex

import pytest

from hyperaction.training.command_line import train_command
from hyperaction.training.config import parse_train

RUNS = [
    "CartPole-v1 --seed 3 --steps 2000",
    "HalfCheetahBulletEnv-v0 --rank 2 --preset physical --bins 3",
    "CartPole-v1 --optimiser rmsprop --learning-rate 0.01 --dueling --no-layer-norm",
    "E-v0 --edges 0 0,1 --constraints 'at most 2' --no-action ignore --action-names a b",
    "E-v0 --edges auto --hidden 32",
    "E-v0 --quantiles 8",
    "ALE/Pong-v5 --agent rainbow",
]


@pytest.mark.parametrize("given", RUNS)
def test_the_command_of_a_run_describes_the_same_run(given):
    config = json.loads(json.dumps(parse_train(shlex.split(given)).as_dict()))
    start, command, *args = shlex.split(train_command({"format": 2, **config}))
    assert (start, command) == ("hyperaction", "train")
    assert json.loads(json.dumps(parse_train(args).as_dict())) == config


def test_what_no_argument_describes_has_no_command():
    config = json.loads(json.dumps(parse_train(["CartPole-v1"]).as_dict()))
    config["settings"]["network"] = {"name": "custom", "is": "MyNetwork()"}
    assert train_command(config) is None
