"""Commands with any arguments at all: a result or one line, and nothing written when refused."""

import contextlib
import os
import string

import pytest

from hyperaction.cli.main import COMMANDS
from hyperaction.training import runner
from hyperaction.training.config import _all_flags
from tests.chaos.commands import ViolationError, here

NUMBERS = ["-1", "0", "1", "2", "7", "64", "0.5", "1e-3", "1e400", "nan", "-inf", "99999999999", ""]
WORDS = ["dqn", "hgqn", "ddpg", "rainbow", "modern", "sum", "qmix", "mean", "cnn", "0,1", "x", "-"]
WORDS += ["polyak", "rmsprop", "branching", "gaussian", "linear:1:0:9", "linear:x", "independent"]
WORDS += ["\x1b[2J", "$x$", "../x", "a\nb", "\udc80", "--", "csv", "--help"]
ENVS = [
    "Switches-v0",
    "CartPole-v1",
    "Pendulum-v1",
    "CartPol-v1",
    "no:Thing-v0",
    "a/b",
    "",
    "Taxi-v3",
]
FLAGS = {
    "train": sorted(set(_all_flags()) - {"ENV", "--out", "--fresh"}),
    "sweep": ["--only", "--steps", "--seeds", "--retries", "--roms"],
    "evaluate": ["--episodes", "--seed"],
    "compare": ["--rows"],
    "table": ["--last", "--at", "--format"],
    "explain": ["--steps", "--weights", "--rows", "--seed"],
    "report": ["--last", "--embed"],
}
READ = ("evaluate", "compare", "table", "explain", "report")


class ReachedError(BaseException):
    """The arguments were right: a run would begin."""


def arguments(trial):
    """Whatever is typed, the answer is a result or one line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "Run", _begin)
        for _ in range(5):
            args = _any_command(trial)
            trial.notes[:] = [repr(args)]
            before = sorted(trial.root.rglob("*"))
            with contextlib.suppress(ReachedError):
                result = here(*args).check()
                if result.code == 2 and sorted(trial.root.rglob("*")) != before:
                    raise ViolationError("refused, but something was written")
    trial.check_others()
    trial.check_clean()


def _begin(*args, **options):
    raise ReachedError


def _any_command(trial):
    rng = trial.rng
    name = rng.choice(["train"] * 4 + [*READ, "sweep", "other"])
    if name == "other":  # Those that compute for long: they are not given what they need.
        name = rng.choice([*COMMANDS, _text(rng)])
        return [name, *(_value(rng) for _ in range(rng.randrange(3))), "--no-such-option"]
    args = [name]
    if name == "train":
        args += [rng.choice([*ENVS, _text(rng)]), "--out", str(trial.written / "run")]
    elif name == "sweep":
        args += [rng.choice(["paper", "", _text(rng), str(trial.beside / "thesis.txt")])]
    else:
        args += [str(trial.runs / rng.choice(("good", "none", "good/config.json", "")))]
        args += {
            "compare": ["--out", str(trial.written / "compare.png")],
            "report": ["--out", str(trial.written / "report.html")],
            "explain": ["--out", str(trial.written / "explain"), "--steps", "20"],
        }.get(name, [])
    for _ in range(rng.randrange(4)):
        flag = rng.choice(FLAGS[name])
        args += [flag[: len(flag) - (rng.random() < 0.1)]]
        args += [_value(rng) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
    return args


def _value(rng):
    return rng.choice([*NUMBERS, *WORDS, _text(rng)])


def _text(rng):
    letters = string.printable + "é∞\u202e😀"
    text = "".join(rng.choice(letters) for _ in range(rng.randrange(8)))
    return text.replace(os.sep, "")
