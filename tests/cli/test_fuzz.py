"""Whatever is typed, or is in a file: a clear line, no traceback, and nothing written."""

import contextlib
import json
import shutil
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperaction.agents.presets import AGENTS
from hyperaction.cli import main
from hyperaction.training import runner
from hyperaction.training.config import _all_flags

# As they are typed, by whole names and by short ones; of settings that exist for any part.
FLAGS = sorted(set(_all_flags()) - {"ENV", "--out", "--fresh"})
NUMBERS = ["-1", "0", "1", "2", "7", "64", "0.5", "1e-3", "1e400", "nan", "-inf", "99999999999", ""]
WORDS = ["dqn", "hgqn", "ddpg", "rainbow", "modern", "sum", "qmix", "mean", "cnn", "0,1", "x", "-"]
WORDS += ["polyak", "rmsprop", "branching", "gaussian", "linear:1:0:9", "linear:x", "independent"]
VALUES = st.sampled_from(NUMBERS + WORDS) | st.text(max_size=6)
ENVS = st.sampled_from(
    ["CartPole-v1", "tests.faulty:Faulty-v0", "CartPol-v1", "no:Thing-v0", "a/b", "", "Taxi-v3"]
) | st.text(max_size=8)
OPTION = st.tuples(
    st.sampled_from(FLAGS) | st.sampled_from(FLAGS).map(lambda flag: flag[:-1]),
    st.lists(VALUES, max_size=2),
).map(lambda pair: [pair[0], *pair[1]])


class ReachedError(BaseException):
    """The arguments were right: a run would begin."""


@pytest.fixture
def no_run(monkeypatch, tmp_path):
    def begin(*args, **options):
        raise ReachedError

    monkeypatch.setattr(runner, "Run", begin)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(Path(__file__).parents[1])


TOGETHER = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def run_here(args):
    """The exit code of a command in this process, and what it printed as errors."""
    out, err = StringIO(), StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(args)
    return code, err.getvalue()


@given(env=ENVS, options=st.lists(OPTION, max_size=4))
@TOGETHER
def test_any_arguments_of_train_begin_a_run_or_are_refused_in_one_line(no_run, env, options):
    args = ["train", env, *(part for option in options for part in option), "--out", "run"]
    before = sorted(Path.cwd().iterdir())
    with contextlib.suppress(ReachedError, SystemExit):  # --help, or all is right.
        code, printed = run_here(args)
        assert code in (1, 2)
        assert printed.startswith("hyperaction: ")
        assert printed.count("\n") == 1
    assert sorted(Path.cwd().iterdir()) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=5,
)


TRAIN = [
    "train", "CartPole-v1", "--steps", "100", "--phase-steps", "50", "--evaluation-steps", "20",
    "--hidden", "8", "--learning-starts", "64", "--loggers",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A real run that is complete."""
    out = tmp_path_factory.mktemp("fuzz") / "run"
    code, printed = run_here([*TRAIN, "--out", str(out)])
    assert code == 0, printed
    return out


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_config_is_read_or_refused_as_damaged(run, data):
    config = json.loads((run / "config.json").read_text())
    settings = config["settings"]
    parts = [value for value in settings.values() if isinstance(value, dict)]
    within = data.draw(st.sampled_from([config, settings, *parts]))
    for name in data.draw(st.lists(st.sampled_from(sorted(within)), min_size=1, max_size=2)):
        within[name] = data.draw(JSON | st.sampled_from([*AGENTS, 10**12]))
    text = data.draw(st.just(json.dumps(config)) | JSON.map(json.dumps) | st.text(max_size=20))
    copy = run.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run, copy)
    (copy / "config.json").write_text(text)
    files = {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    for command in (["table"], ["evaluate", "--episodes", "1"]):
        code, printed = run_here([*command, str(copy)])
        assert code in (0, 1)
        assert printed.count("\n") == (1 if code else 0)
    code, printed = run_here([*TRAIN, "--out", str(copy)])
    assert code in (0, 1)
    if code:
        assert printed.count("\n") == 1
        assert {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()} == files


@given(place=st.floats(0, 1), value=st.integers(0, 255))
@settings(max_examples=40, deadline=None)
def test_any_byte_of_an_agent_may_be_wrong(run, place, value):
    copy = run.with_name("bytes")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run, copy)
    data = bytearray((run / "agent.safetensors").read_bytes())
    data[int(place * (len(data) - 1))] = value
    (copy / "agent.safetensors").write_bytes(data)
    code, printed = run_here(["evaluate", str(copy), "--episodes", "1"])
    assert code in (0, 1)
    assert printed.count("\n") == (1 if code else 0)
