"""The settings of a run choose no code: they may be a stranger's."""

import json
import sys

import pytest

from hyperaction.analysis.explain import load_runs
from hyperaction.analysis.rollout import load_trained, play
from hyperaction.analysis.video_file import record
from hyperaction.api import HGQN
from hyperaction.cli import main
from hyperaction.errors import SettingError

STRANGER = "stranger_of_a_run:Faulty-v0"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("trust") / "run"
    args = ["--steps", "40", "--phase-steps", "40", "--evaluation-steps", "0", "--hidden", "4"]
    small = ["--learning-starts", "16", "--batch-size", "4", "--loggers", "--out", str(out)]
    assert main(["train", "tests.faulty:Faulty-v0", *args, *small]) == 0
    return out


@pytest.fixture
def strange(run, tmp_path, monkeypatch):
    """A run whose settings name a module that lies beside the user."""
    (tmp_path / "stranger_of_a_run.py").write_text("import tests.faulty\nRAN = True\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    file, config = run / "config.json", (run / "config.json").read_text()
    file.write_text(json.dumps(json.loads(config) | {"env": STRANGER}))
    yield run
    file.write_text(config)
    sys.modules.pop("stranger_of_a_run", None)


def ran():
    return "stranger_of_a_run" in sys.modules


COMMANDS = [
    ["evaluate", "--episodes", "1"],
    ["explain", "--steps", "3"],
    ["video", "--steps", "2", "--out", "a.gif"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_imports_what_a_run_names_only_if_asked_to(strange, capsys, command):
    name, *more = command
    assert main([name, str(strange), *more]) == 1
    assert capsys.readouterr().err == (
        f"hyperaction: the run's environment is {STRANGER}, a module that would be imported: give "
        f"--env {STRANGER}, or --trust if you know where the run is from\n"
    )
    assert not ran()
    assert main([name, str(strange), *more, "--env", "tests.faulty:Faulty-v0"]) == 0
    assert not ran()
    assert main([name, str(strange), *more, "--trust"]) == 0
    assert ran()


@pytest.mark.parametrize(
    "look",
    [
        load_trained,
        lambda run: play(run, 1, 0, print),
        lambda run: load_runs([run]),
        lambda run: record(run, run, episodes=1, steps=2, fps=1, seed=0, on_step=print),
    ],
)
def test_functions_that_read_a_run_import_nothing_either(strange, look):
    with pytest.raises(SettingError, match=r"give env stranger_of_a_run:Faulty-v0, or trust if"):
        look(strange)
    assert not ran()


@pytest.mark.parametrize("command", [["table"], ["compare"]])
def test_results_are_read_without_the_environment(strange, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # A drawing is written there.
    assert main([*command, str(strange)]) == 0
    HGQN.load(strange)
    assert not ran()


def test_a_run_is_resumed_with_the_environment_that_is_typed(run, capsys):
    args = ["--steps", "40", "--phase-steps", "40", "--evaluation-steps", "0", "--hidden", "4"]
    small = ["--learning-starts", "16", "--batch-size", "4", "--loggers", "--out", str(run)]
    assert main(["train", "tests.faulty:Faulty-v0", *args, *small]) == 0
    assert f"evaluate {run} --env tests.faulty:Faulty-v0\n" in capsys.readouterr().out


def test_environments_of_installed_packages_need_no_trust(run, capsys):
    file, config = run / "config.json", (run / "config.json").read_text()
    file.write_text(json.dumps(json.loads(config) | {"env": "CartPole-v1"}))
    assert main(["evaluate", str(run)]) == 1
    file.write_text(config)
    assert "the agent takes observations of shape" in capsys.readouterr().err
