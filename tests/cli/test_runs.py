"""Commands that read runs: a bad run is left out with one line, and no name steers the terminal."""

import json
import os
from io import StringIO

import pytest
from rich.table import Table

from hyperaction.cli import main
from hyperaction.cli.console import Console
from hyperaction.cli.report import PageData
from hyperaction.errors import printable
from hyperaction.report.page.html import as_script
from tests.report.test_tables import write

ESCAPE = "\x1b[31m\x9b2J\u202e"


def line(**row):
    return json.dumps({"kind": "eval", "step": 50, "return": 1.0} | row) + "\n"


def damaged(out, how):
    """A run that is damaged in some way."""
    write(out, "E", "hgqn", 7, [1, 2], orders=[1])
    config, metrics = out / "config.json", out / "metrics.jsonl"
    if how == "config is a directory":
        config.unlink()
        config.mkdir()
    elif how == "config is a pipe":
        config.unlink()
        os.mkfifo(config)
    elif how == "metrics are a directory":
        metrics.unlink()
        metrics.mkdir()
    elif how == "metrics are a pipe":
        metrics.unlink()
        os.mkfifo(metrics)
    elif how == "nested NaN":
        config.write_text(config.read_text().replace('"E"', '"E", "more": {"a": [NaN]}'))
    elif how == "wrong settings":
        config.write_text(config.read_text().replace('"orders": [1]', '"orders": {"a": 1}'))
    elif how == "wrong part":
        config.write_text(config.read_text().replace('"orders"', '"network": 1, "orders"'))
    elif how == "unknown agent":
        config.write_text(config.read_text().replace('"hgqn"', '"\\u001b[2J"'))
    elif how == "too deep":
        config.write_text("[" * 100_000)
    elif how == "infinite step":
        metrics.write_text(line().replace("50", "Infinity"))
    elif how == "400 digits":
        metrics.write_text(line().replace("1.0", "9" * 400))
    elif how == "no return":
        metrics.write_text('{"kind": "eval", "step": 50}\n')
    elif how == "text as return":
        metrics.write_text(line(**{"return": "much"}))
    elif how == "not UTF-8":
        metrics.write_bytes(b"\xff\n")


DAMAGES = [
    "config is a directory", "config is a pipe", "metrics are a directory", "metrics are a pipe",
    "nested NaN", "wrong settings", "wrong part", "unknown agent", "too deep", "infinite step",
    "400 digits", "no return", "text as return", "not UTF-8",
]  # fmt: skip


@pytest.mark.parametrize("how", DAMAGES)
def test_a_bad_run_spoils_no_other_and_is_named_in_one_line(how, tmp_path, capsys):
    for seed in range(3):
        write(tmp_path / "good" / f"{seed}", "E", "hgqn", seed, [1, 2, 3 + seed], orders=[1])
    good = tmp_path / "good"
    assert main(["table", str(good), "--format", "csv"]) == 0
    alone = capsys.readouterr().out
    damaged(tmp_path / "bad", how)
    bad = str(tmp_path / "bad")
    assert main(["table", str(good), bad, "--format", "csv"]) == 0
    printed, skipped = capsys.readouterr()
    assert printed == alone
    for each in skipped.splitlines():
        assert each.startswith("hyperaction: skipped ")
        assert bad in each
        assert each.isprintable()
    assert skipped
    page = PageData([good, tmp_path / "bad"], last=10)
    data, _ = page()
    as_script(data)  # It is JSON, without NaN.
    assert page.problems
    returns = [run["series"]["return"]["value"] for run in data["runs"] if run["series"]]
    assert returns == [[1.0, 2.0, 3.0 + seed] for seed in range(3)]
    assert [mean["seeds"] for mean in data["means"]] == [[3, 3, 3]]
    for command in ("table", "compare"):  # Alone it is an error, in one line.
        assert main([command, bad]) == 1
        printed, error = capsys.readouterr()
        assert printed == ""
        assert error.count("\n") == 1
        assert bad in error


def test_a_bad_run_is_left_out_of_a_comparison(tmp_path, capsys):
    for seed in range(2):
        write(tmp_path / f"{seed}", "E", "hgqn", seed, [1, 2, 3 + seed], orders=[1])
    damaged(tmp_path / "bad", "too deep")
    runs = [str(tmp_path / name) for name in ("0", "bad", "1")]
    assert main(["compare", *runs, "--out", str(tmp_path / "curve.png")]) == 0
    printed, skipped = capsys.readouterr()
    assert skipped.startswith(f"hyperaction: skipped {tmp_path / 'bad'}")
    assert skipped.count("\n") == 1
    assert "mean of 2" in printed
    assert "3.5" in printed  # The mean of both at the last step.


def test_a_diverged_return_is_not_averaged_and_not_drawn(tmp_path, capsys):
    nan = float("nan")
    write(tmp_path / "a", "E", "hgqn", 0, [1, 2, nan, 4], orders=[1])
    write(tmp_path / "b", "E", "hgqn", 1, [1, 2, 3, 4], orders=[1])
    assert main(["table", str(tmp_path), "--format", "csv"]) == 0
    printed, skipped = capsys.readouterr()
    assert "a: the score is nan" in skipped
    assert printed.splitlines()[1].startswith("E,hgqn rank 1,1,40,2,3.5,")
    data, _ = PageData([tmp_path], last=10)()
    steps = [run["series"]["return"]["step"] for run in data["runs"]]
    assert steps == [[10, 20, 40], [10, 20, 30, 40]]


@pytest.mark.parametrize(
    ("evaluations", "last", "counted"),
    [(1, 10, 1), (3, 10, 1), (8, 10, 4), (30, 10, 10), (9, 2, 2)],
)
def test_a_score_is_of_no_more_than_the_last_half_and_says_of_how_many(
    evaluations, last, counted, tmp_path, capsys
):
    returns = list(range(evaluations))
    write(tmp_path / "run", "E", "dqn", 0, returns)
    assert main(["table", str(tmp_path), "--last", str(last), "--format", "csv"]) == 0
    row = capsys.readouterr().out.splitlines()[1].split(",")
    assert int(row[4]) == counted
    assert float(row[5]) == sum(returns[-counted:]) / counted


@pytest.mark.parametrize(
    ("seeds", "has_interval", "shown"),
    [([0], False, "1"), ([0, 1], False, "2"), ([0, 1, 1], False, "2 (3 runs)"),
     ([0, 1, 2], True, "3")],
)  # fmt: skip
def test_fewer_than_three_seeds_have_no_interval(seeds, has_interval, shown, tmp_path, capsys):
    for number, seed in enumerate(seeds):
        write(tmp_path / f"{number}", "E", "dqn", seed, [1, 2 + number])
    assert main(["table", str(tmp_path), "--format", "csv"]) == 0
    row = capsys.readouterr().out.splitlines()[1].split(",")
    assert row[2] == shown
    assert [bool(cell) for cell in row[6:8]] == [has_interval] * 2
    assert main(["table", str(tmp_path), "--format", "markdown"]) == 0
    cells = capsys.readouterr().out.splitlines()[2].split(" | ")
    assert [" to " in cell for cell in cells[5:8]] == [has_interval] * 3


def test_no_name_steers_the_terminal(tmp_path, capsys):
    for seed in range(2):
        out = tmp_path / f"{ESCAPE}{seed}"
        write(out, f"E{ESCAPE}|", "hgqn", seed, [1, 2], orders=[1])
    write(tmp_path / f"bad{ESCAPE}\n", f"E{ESCAPE}", "hgqn", 0, [1], orders=[1])
    (tmp_path / f"bad{ESCAPE}\n" / "config.json").write_text('{"env": "\x1b]0;x\x07"}')
    outputs = []
    for form in ("text", "csv", "markdown"):
        assert main(["table", str(tmp_path), "--format", form]) == 0
        outputs += capsys.readouterr()
    runs = [str(path) for path in tmp_path.iterdir()]
    assert main(["compare", *runs, "--out", str(tmp_path / "curve.png")]) == 0
    outputs += capsys.readouterr()
    assert main([ESCAPE]) == 2
    outputs += capsys.readouterr()
    for text in outputs:
        for each in text.splitlines():
            assert each.isprintable()
    assert "\\x1b[31m" in outputs[0]
    assert outputs[1].count("\n") == 1  # A name of two lines is one.


def test_the_console_escapes_wherever_text_comes():
    file = StringIO()
    console = Console(file, width=60)
    table = Table(title=f"title{ESCAPE}")
    table.add_column(f"column{ESCAPE}")
    table.add_row(f"row{ESCAPE} [red]:smile:")
    console.print(table)
    console.print(f"text{ESCAPE}\nsecond line \udcff")
    lines = file.getvalue().splitlines()
    assert all(line.isprintable() for line in lines)
    assert any("[red]:smile:" in line for line in lines)
    assert len({len(line) for line in lines if line[0] in "│┃┏└"}) == 1  # It stays a table.
    assert lines[-1] == "second line \\udcff"
    assert printable("a b é ü") == "a b é ü"
