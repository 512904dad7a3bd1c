import json
import subprocess
import sys
import warnings

import pytest

from hyperaction.cli.main import COMMANDS, main
from hyperaction.cli.warning_lines import held_warnings, release_warnings


def hyperaction(*args, **options):
    return subprocess.run(
        [sys.executable, "-m", "hyperaction", *args], capture_output=True, text=True, **options
    )


def test_help_lists_every_command_by_what_a_person_wants():
    done = hyperaction("--help")
    assert done.returncode == 0
    for name, command in COMMANDS.items():
        assert f"{command.group}:" in done.stdout
        assert f"  {name} " in done.stdout
        assert command.help in done.stdout
    assert all(len(line) <= 88 for line in done.stdout.splitlines())


def test_help_loads_nothing_heavy():
    code = (
        "import sys, json; from hyperaction.cli import main; main(['--help']);"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert not {"jax", "numpy", "matplotlib", "tyro", "rich"} & set(loaded)


@pytest.mark.parametrize(
    "args", [["--rank", "9"], ["--edges", "0", "1,7"], ["--steps", "0"], ["--mixer", "summ"]]
)
def test_mistakes_are_reported_before_jax_is_loaded(args, tmp_path):
    code = (
        "import sys; from hyperaction.cli import main;"
        "assert main(['train', 'CartPole-v1', *sys.argv[1:]]) in (1, 2);"
        "assert 'jax' not in sys.modules"
    )
    command = [sys.executable, "-c", code, *args]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        "train",
        "train --agent ddpg",
        "sweep",
        "evaluate",
        "compare",
        "table",
        "explain",
        "video",
        "report",
        "watch",
        "bandits",
        "atari-figures",
        "bench maximise",
        "bench train",
        "bench atari",
        "doctor",
    ],
)
def test_every_command_explains_each_option_with_its_default(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        main([*command.split(), "--help"])
    printed = capsys.readouterr().out
    options = [line for line in printed.splitlines() if line.startswith("  --")]
    assert options
    assert printed.count("(default:") == len(options)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["bandit"], "unknown command 'bandit'; did you mean 'bandits'?"),
        (
            ["frobnicate"],
            "choose from train, sweep, baseline, tune, evaluate, compare, table, explain",
        ),
        (["bench", "maximize"], "unknown benchmark 'maximize'; did you mean 'maximise'?"),
        (["train"], "ENV is missing (hyperaction train --help)"),
        (["train", "CartPol-v1"], "unknown environment 'CartPol-v1'; did you mean 'CartPole-v1'?"),
        (
            ["train", "CartPole-v1", "--agent", "hgq"],
            "--agent: unknown agent 'hgq'; did you mean 'hgqn'?",
        ),
        (["train", "CartPole-v1", "--rank", "9"], "order 2 on 1 vertex; allowed are 1 to 1"),
        (["train", "CartPole-v1", "--steps", "0"], "--steps must be at least 1, not 0"),
        (
            ["train", "CartPole-v1", "--mixer", "summ"],
            "--mixer: unknown name 'summ'; did you mean 'sum'?",
        ),
        (
            ["sweep", "paper-fysical"],
            "unknown grid 'paper-fysical'; did you mean 'paper-physical'?",
        ),
        (["sweep", "paper-physical", "--only", "x*"], "--only x* fits no run of paper-physical"),
        (["sweep", "paper-physical", "--seeds", "10"], "--seeds 10: paper-physical has 9"),
        (["table", "nowhere"], "no run with an evaluation found in nowhere"),
        (["bandits", "--size", "5"], "unknown option --size; did you mean --sizes?"),
        (["bandits", "--trials", "many"], "--trials 'many' is not a whole number"),
        (["bandits", "--trials", "0"], "--trials must be from 1 to 100000, not 0"),
        (["bandits", "--sizes", "5", "5"], "--sizes contains 5 twice"),
        (["bandits", "--sizes"], "--sizes is empty"),
        (
            ["bandits", "--models", "tabula"],
            "--models: unknown name 'tabula'; did you mean 'tabular'?",
        ),
        (["bandits", "--out", "/dev/null/here"], "Not a directory"),
        (["atari-figures"], "nothing to draw: give --published, the directories of runs, or both"),
        (["atari-figures", "--publish"], "did you mean --published? (hyper"),
        (["atari-figures", "nowhere"], "nowhere holds no run: there is no config.json in it"),
        (["atari-figures", "--published", "--out", "/dev/null/here"], "Not a directory"),
    ],
)
def test_a_mistake_is_reported_in_one_line(args, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(args) in (1, 2)
    printed, error = capsys.readouterr()
    assert message in error
    assert error.count("\n") == 1
    assert printed == "" or "training" in printed
    assert not list(tmp_path.iterdir())


def test_a_process_ends_with_the_code_of_its_mistake(tmp_path):
    done = hyperaction("table", "nowhere", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hyperaction: no run with an evaluation found in nowhere\n"


def test_no_command_at_all_shows_the_help():
    done = hyperaction()
    assert done.returncode == 2
    assert "usage: hyperaction COMMAND" in done.stdout


def test_the_version_is_the_packages():
    import hyperaction as package

    assert hyperaction("--version").stdout == f"hyperaction {package.__version__}\n"
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize(
    ("command", "name"),
    [("video", "x.mp4"), ("compare", "x.png"), ("report", "x.html"), ("explain", "explain.json")],
)
def test_a_directory_in_the_place_of_a_file_is_noticed_first(tmp_path, capsys, command, name):
    (tmp_path / name).mkdir()
    out = tmp_path if command == "explain" else tmp_path / name
    assert main([command, str(tmp_path), "--out", str(out)]) == 1
    assert capsys.readouterr().err == f"hyperaction: {tmp_path / name} is a directory, not a file\n"


OLD = (
    "hyperaction: warning: The environment CartPole-v0 is out of date. You should consider "
    "upgrading to version `v1`.\n"
)


@pytest.mark.filterwarnings("default")
def test_warnings_of_others_are_one_line_each_and_none_beside_a_mistake(tmp_path, capsys):
    args = ["train", "CartPole-v0", "--steps", "20", "--phase-steps", "10", "--hidden", "8"]
    args += ["--evaluation-steps", "5", "--loggers", "--out", str(tmp_path / "run")]
    assert main(args) == 0
    assert capsys.readouterr().err == OLD  # Once, though environments are made again.
    for env in ("Taxi-v3", "CartPole-v0"):
        assert main(["train", env, *args[2:], "--rank", "9"]) in (1, 2)
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.filterwarnings("default")
def test_warnings_come_at_once_when_the_command_is_right(capsys):
    with held_warnings():
        warnings.warn("\x1b[33mWARN: early\nand more\x1b[0m", stacklevel=1)
        assert capsys.readouterr().err == ""
        release_warnings()
        assert capsys.readouterr().err == "hyperaction: warning: early and more\n"
        warnings.warn("late", DeprecationWarning, stacklevel=1)
        assert capsys.readouterr().err == "hyperaction: warning: late\n"
    with pytest.raises(ValueError, match="wrong"), held_warnings():  # noqa: PT012
        warnings.warn("beside a mistake", stacklevel=1)
        raise ValueError("wrong")
    assert capsys.readouterr().err == ""
