"""Whatever is typed, or found in a file: a clear line, no traceback, and nothing written."""

import contextlib
import json
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperaction import cli
from hyperaction.agents.presets import AGENTS
from hyperaction.agents.settings import DDPGSettings, ValueSettings
from hyperaction.options import TrainOptions
from hyperaction.running import executing

FLAGS = sorted(
    f"--{field.name.replace('_', '-')}"
    for kind in (TrainOptions, ValueSettings, DDPGSettings)
    for field in fields(kind)
    if field.name not in ("env", "settings", "out", "fresh")
)
NUMBERS = ["-1", "0", "1", "2", "7", "64", "0.5", "1e-3", "1e400", "nan", "-inf", "99999999999", ""]
WORDS = ["dqn", "hgqn", "ddpg", "rainbow", "modern", "sum", "qmix", "mean", "cnn", "0,1", "x", "-"]
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

    monkeypatch.setattr(executing, "Run", begin)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(Path(__file__).parent)


TOGETHER = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def told(args):
    """The exit code and what was said, of a command in this process."""
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(args)
    return code, err.getvalue()


@given(env=ENVS, options=st.lists(OPTION, max_size=4))
@TOGETHER
def test_any_arguments_of_train_begin_a_run_or_are_told_in_one_line(no_run, env, options):
    args = ["train", env, *(part for option in options for part in option), "--out", "run"]
    before = sorted(Path.cwd().iterdir())
    with contextlib.suppress(ReachedError, SystemExit):  # --help, or all is right.
        code, said = told(args)
        assert code in (1, 2)
        assert said.startswith("hyperaction: ")
        assert said.count("\n") == 1
    assert sorted(Path.cwd().iterdir()) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=5,
)


TRAIN = [
    "train", "CartPole-v1", "--steps", "100", "--phase-steps", "50", "--evaluation-steps", "20",
    "--hidden", "8", "--replay-start", "64", "--no-tensorboard",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A real run that is complete."""
    out = tmp_path_factory.mktemp("fuzz") / "run"
    code, said = told([*TRAIN, "--out", str(out)])
    assert code == 0, said
    return out


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_config_is_read_or_told_to_be_damaged(run, data):
    config = json.loads((run / "config.json").read_text())
    within = data.draw(st.sampled_from([config, config["settings"]]))
    for name in data.draw(st.lists(st.sampled_from(sorted(within)), min_size=1, max_size=2)):
        within[name] = data.draw(JSON | st.sampled_from([*AGENTS, 10**12]))
    text = data.draw(st.just(json.dumps(config)) | JSON.map(json.dumps) | st.text(max_size=20))
    copy = run.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run, copy)
    (copy / "config.json").write_text(text)
    files = {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    for command in (["table"], ["evaluate", "--episodes", "1"]):
        code, said = told([*command, str(copy)])
        assert code in (0, 1)
        assert said.count("\n") == (1 if code else 0)
    code, said = told([*TRAIN, "--out", str(copy)])
    assert code in (0, 1)
    if code:
        assert said.count("\n") == 1
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
    code, said = told(["evaluate", str(copy), "--episodes", "1"])
    assert code in (0, 1)
    assert said.count("\n") == (1 if code else 0)
