"""Parts of one's own by `module:Class`: typed they are used, named by a stranger they are not."""

import json
import sys

import pytest

from hyperaction.analysis.rollout import load_trained
from hyperaction.api import HGQN
from hyperaction.cli import main
from hyperaction.errors import SettingError
from tests.killing import metrics
from tests.training.envs import TINY, Counting

TRAIN = [
    "train", "tests.faulty:Faulty-v0", "--steps", "40", "--phase-steps", "20", "--learning-starts",
    "16", "--batch-size", "4", "--total-width", "8", "--evaluation-steps", "10",
]  # fmt: skip
NETWORK, MIXER = "tests.api.parts:Network", "tests.api.parts:Mixer"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("own") / "run"
    own = ["--network", NETWORK, "--mixer", MIXER, "--callback", "tests.api.parts:Asking"]
    own += ["--loggers", "tests.api.parts:Lines", "--keep-best"]
    assert main([*TRAIN, *own, "--out", str(out)]) == 0
    return out


def test_a_run_is_trained_with_parts_of_ones_own(run):
    settings = json.loads((run / "config.json").read_text())["settings"]
    assert settings["network"] == {"name": "custom", "is": NETWORK}
    assert settings["mixer"] == {"name": "custom", "is": MIXER}
    rows = metrics(run)
    assert [row["step"] for row in rows if row["kind"] == "eval"] == [13, 20, 40]
    assert [row.get("thirteen") for row in rows if row["kind"] == "train"] == [13.0, None]
    assert (run / "lines.txt").read_text().startswith("13 eval/episodes\n20 train/")
    assert (run / "best.safetensors").exists()


def test_parts_that_a_run_names_are_imported_only_if_asked_to(run, tmp_path, monkeypatch, capsys):
    (tmp_path / "stranger_of_a_part.py").write_text("from tests.api.parts import *\n")
    monkeypatch.chdir(tmp_path)
    config = json.loads((run / "config.json").read_text())
    config["settings"]["network"]["is"] = "stranger_of_a_part:Network"
    strange = tmp_path / "run"
    strange.mkdir()
    (strange / "config.json").write_text(json.dumps(config))
    (strange / "agent.safetensors").write_bytes((run / "agent.safetensors").read_bytes())
    (strange / "metrics.jsonl").write_bytes((run / "metrics.jsonl").read_bytes())
    evaluate = ["evaluate", str(strange), "--episodes", "1", "--env", "tests.faulty:Faulty-v0"]
    assert main([*evaluate, "--mixer", MIXER]) == 1
    assert capsys.readouterr().err == (
        "hyperaction: the run's network is stranger_of_a_part:Network, a module that would be "
        "imported: give --network stranger_of_a_part:Network, or --trust if you know where the "
        "run is from\n"
    )
    with pytest.raises(SettingError, match="a module that would be imported"):
        load_trained(strange, env="tests.faulty:Faulty-v0")
    with pytest.raises(SettingError, match=r"was an object of your own \(tests.api.parts"):
        HGQN.load(strange)
    assert main(["table", str(strange)]) == 0
    assert "stranger_of_a_part" not in sys.modules
    assert main([*evaluate, "--network", NETWORK, "--mixer", MIXER]) == 0
    assert "stranger_of_a_part" not in sys.modules
    typed = capsys.readouterr().out
    try:
        assert main([*evaluate, "--trust"]) == 0
        assert "stranger_of_a_part" in sys.modules
    finally:
        sys.modules.pop("stranger_of_a_part", None)
    assert typed.splitlines()[-2:] == capsys.readouterr().out.splitlines()[-2:]


def test_python_takes_references_too(run):
    agent = HGQN.load(run, network=NETWORK, mixer=MIXER)
    assert agent.step == 40
    small = {name: value for name, value in TINY.items() if name != "hidden"}
    assert HGQN(Counting(), **small, network=NETWORK).learn(12).step == 12


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--network", "nowhere_at_all:X", "there is no module nowhere_at_all here ("),
        ("--network", "tests.api.parts:Netwerk", "unknown name 'Netwerk'; did you mean 'Network'?"),
        ("--callback", "tests.api.parts", "write module:Class, such as parts:MyCallback"),
        ("--callback", "tests.api.parts:Lines", "--callback tests.api.parts:Lines: TypeError"),
        ("--loggers", "nowhere_at_all:X", "there is no module nowhere_at_all here ("),
        ("--callback", "tests.api.parts:Failing",
         "the callback Failing raised KeyError: 'no such\\nthing' (parts.py, line "),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_part_of_ones_own_is_one_line(
    tmp_path, capsys, option, value, message
):
    args = [*TRAIN, "--loggers", "--out", str(tmp_path / "run"), option, value]
    assert main(args) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists() or "Failing" in value
