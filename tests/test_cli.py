import json
import subprocess
import sys

import pytest

from hyperaction.cli.command import COMMANDS


def hyperaction(*args, **options):
    return subprocess.run(
        [sys.executable, "-m", "hyperaction", *args], capture_output=True, text=True, **options
    )


def test_help_lists_every_command_by_what_a_person_wants():
    done = hyperaction("--help")
    assert done.returncode == 0
    for group, commands in COMMANDS.items():
        assert f"{group}:" in done.stdout
        for name in commands:
            assert f"  {name} " in done.stdout
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
def test_mistakes_are_told_before_jax_is_loaded(args, tmp_path):
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
    ],
)
def test_every_command_explains_each_option_with_its_default(command):
    done = hyperaction(*command.split(), "--help", env={"COLUMNS": "80", "PATH": ""})
    assert done.returncode == 0
    options = [line for line in done.stdout.splitlines() if line.startswith("│ --")]
    assert options
    explained = done.stdout[done.stdout.index("─ options ─") :]
    assert explained.count("(default:") == len(options)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["bandit"], "no command is called 'bandit'; did you mean 'bandits'?"),
        (
            ["frobnicate"],
            "there is train, sweep, evaluate, compare, table, explain, video, report, watch",
        ),
        (["bench", "maximize"], "no benchmark is called 'maximize'; did you mean 'maximise'?"),
        (["train"], "Missing from hyperaction train: ENV"),
        (["train", "CartPol-v1"], "no environment CartPol-v1; did you mean CartPole-v1?"),
        (["train", "CartPole-v1", "--agent", "hgq"], "invalid choice 'hgq' for argument '--agent'"),
        (["train", "CartPole-v1", "--rank", "9"], "order 2 on 1 vertex; allowed are 1 to 1"),
        (["train", "CartPole-v1", "--steps", "0"], "--steps 0 is below 1"),
        (["train", "CartPole-v1", "--mixer", "summ"], "invalid choice 'summ'"),
        (
            ["sweep", "paper-fysical"],
            "there is no grid paper-fysical, neither a file nor a name; did",
        ),
        (["sweep", "paper-physical", "--only", "x*"], "--only x* fits no run of paper-physical"),
        (["sweep", "paper-physical", "--seeds", "10"], "--seeds 10: paper-physical has 9"),
        (["table", "nowhere"], "no run with an evaluation was found in nowhere"),
        (["bandits", "--size", "5"], "Unrecognized options: --size, 5; did you mean --sizes?"),
        (["bandits", "--trials", "many"], "--trials: invalid literal for int"),
        (["bandits", "--trials", "0"], "--trials 0 is not in 1 to 100000; the nearest is 1"),
        (["bandits", "--sizes", "5", "5"], "--sizes names 5 twice"),
        (["bandits", "--sizes"], "--sizes is empty"),
        (["bandits", "--models", "tabula"], "invalid choice 'tabula' for argument '--models'"),
        (["bandits", "--out", "/dev/null/here"], "Not a directory"),
        (["atari-figures"], "nothing to draw: give --published, the directories of runs, or both"),
        (["atari-figures", "--publish"], "did you mean --published? (hyper"),
        (["atari-figures", "nowhere"], "nowhere holds no run: there is no config.json in it"),
        (["atari-figures", "--published", "--out", "/dev/null/here"], "Not a directory"),
    ],
)
def test_a_mistake_is_told_in_one_line(args, message, tmp_path):
    done = hyperaction(*args, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == "" or "training" in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_terminal_without_frames_gets_the_same_line(tmp_path):
    args = ("bandits", "--size", "5")
    plain = hyperaction(*args, env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert plain.stderr == hyperaction(*args).stderr


def test_no_command_at_all_shows_the_help():
    done = hyperaction()
    assert done.returncode == 2
    assert "usage: hyperaction COMMAND" in done.stdout


def test_the_version_is_the_packages():
    import hyperaction as package

    assert hyperaction("--version").stdout == f"hyperaction {package.__version__}\n"
    assert all(hasattr(package, name) for name in package.__all__)
