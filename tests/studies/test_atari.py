"""Published Atari results against the authors' files and their formulas written out slowly."""

import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from hyperaction.cli import main
from hyperaction.report.statistics import interquartile_mean
from hyperaction.runs.reader import FORMAT
from hyperaction.studies.atari import figures, published, report, scores

HGQN = {"orders": [1, 2, 3], "edges": [], "mixer": "sum"}
DQN = {**HGQN, "orders": [-1]}


def config(agent="hgqn", env="ALE/BankHeist-v5", **settings):
    return {
        "env": env,
        "agent": agent,
        "settings": {**(DQN if agent == "dqn" else HGQN)} | settings,
    }


def test_runs_find_what_was_published_for_them():
    found = published.published_curve(config())
    assert found.agent == "hgqn"
    assert found.steps.tolist() == [(iteration + 1) * 250_000 for iteration in range(200)]
    assert (found.minimum <= found.mean).all()
    assert (found.mean <= found.maximum).all()
    assert published.published_curve(config(orders=[1, 2, -1])).agent == "hgqn"
    assert published.published_curve(config("dqn", "ale_py:ALE/Zaxxon-v5")).agent == "dqn"
    others = [config(orders=[1, 2]), config(edges=["0"]), config(mixer="universal")]
    others += [config("dqn", orders=[1]), config("rainbow"), config("ddpg")]
    envs = ("ALE/Pong-v5", "ALE/BankHeist-ram-v5", "CartPole-v1")
    for other in (*others, *(config(env=env) for env in envs)):
        assert published.published_curve(other) is None
    assert published.game_of("ALE/Pong-v5") == "Pong"
    assert published.game_of("CartPole-v1") == ""


def test_scores_are_their_formulas():
    scale = published.Reference(random=-10.0, human=30.0)
    assert scores.human_normalised(-10.0, scale) == 0.0
    assert scores.human_normalised(30.0, scale) == 1.0
    assert scores.relative_score(15.0, baseline=5.0, scale=scale) == 10.0 / 40.0
    assert scores.relative_score(60.0, baseline=50.0, scale=scale) == 10.0 / 60.0  # Beyond a human.


def test_zaxxon_and_stargunner_lead_and_chopper_command_trails():
    bars = report.ordered([scores.published_score(game) for game in published.GAMES])
    assert len(bars) == 29
    assert [bar.game for bar in bars[:2]] == ["Zaxxon", "StarGunner"]
    assert [bar.relative for bar in bars[:2]] == pytest.approx([0.5, 0.5], abs=0.04)
    assert bars[-1].game == "ChopperCommand"
    assert bars[-1].relative == pytest.approx(-0.12, abs=0.005)


REFERENCE = Path(__file__).parents[3] / "shared" / "reference"
needs_reference = pytest.mark.skipif(
    not REFERENCE.exists(), reason="the authors' files are not beside the project"
)


@pytest.fixture(scope="module")
def authors():
    """Training returns by game, agent, seed and iteration; random and human scores by game."""
    returns = defaultdict(lambda: defaultdict(dict))
    with (REFERENCE / "atari_published.csv").open() as file:
        for row in csv.DictReader(file):
            seeds = returns[row["game"], row["agent"]]
            seeds[int(row["seed"])][int(row["iteration"])] = float(row["train_return"])
    with (REFERENCE / "atari_human_random.csv").open() as file:
        scales = {
            row["game"]: (float(row["random"]), float(row["human"])) for row in csv.DictReader(file)
        }
    return returns, scales


def there(seeds, iteration):
    """What the seeds that came so far have in an iteration."""
    return [seed[iteration] for seed in seeds.values() if iteration in seed]


@needs_reference
def test_the_published_curves_are_the_authors(authors):
    returns, scales = authors
    assert set(published.GAMES) == set(scales)
    for (game, agent), seeds in returns.items():
        assert published.reference(game) == scales[game]
        found = published.curve(game, agent)
        values = [there(seeds, iteration) for iteration in range(200)]
        for ours, statistic in ((found.mean, np.mean), (found.minimum, min), (found.maximum, max)):
            np.testing.assert_allclose(
                ours, [statistic(v) for v in values], rtol=5.1e-4, atol=0.0051
            )


@needs_reference
def test_relative_scores_are_those_of_the_authors_curves(authors):
    returns, scales = authors
    for game, (random, human) in scales.items():
        dqn, hgqn = (
            np.mean([np.mean(there(returns[game, agent], k)) for k in range(200)])
            for agent in ("dqn", "hgqn")
        )
        expected = (hgqn - dqn) / (max(dqn, human) - random)
        assert scores.published_score(game).relative == pytest.approx(expected, abs=2e-4)


@needs_reference
def test_scores_over_games_are_those_of_every_seed(authors):
    returns, scales = authors
    seeds = published.seed_scores()
    assert [(s.agent, s.seed) for s in seeds] == [("dqn", k) for k in range(1, 6)] + [
        ("hgqn", k) for k in range(1, 4)
    ]
    for agent, seed, *found in seeds:
        for iteration in (0, 100, 185, 199):
            scores = []
            for game, (random, human) in scales.items():
                all_seeds = returns[game, agent]
                # Three curves end early; the mean of the other seeds stands in.
                own = all_seeds[seed].get(iteration, np.mean(there(all_seeds, iteration)))
                scores.append((own - random) / (human - random))
            ours = [curve[iteration] for curve in found]
            slow = [np.median(scores), np.mean(scores), interquartile_mean(np.array(scores))]
            assert ours == pytest.approx(slow, abs=6e-5)


def test_a_run_is_averaged_over_the_steps_of_each_iteration():
    steps, returns = np.array([100_000, 310_000, 520_000]), np.array([1.0, 2.0, 3.0])
    each_step = np.repeat(returns, np.diff(steps, prepend=0))
    slow = [each_step[:250_000].mean(), each_step[250_000:500_000].mean()]
    np.testing.assert_allclose(scores.by_iteration(steps, returns), slow)
    assert len(scores.by_iteration(steps[:1], returns[:1])) == 0


def test_runs_of_both_agents_are_compared_over_the_iterations_that_all_have():
    dqn, hgqn = (
        [np.array([100.0, 200.0, 999.0])],
        [np.array([200.0, 300.0]), np.array([0.0, 500.0])],
    )
    found = scores.versus("BankHeist", ("dqn", "hgqn"), (dqn, hgqn))
    assert found[:6] == ("BankHeist", "dqn", "hgqn", 2, 1, 2)
    assert found.ours == pytest.approx((250.0 - 150.0) / (753.1 - 14.2))
    means = [published.curve("BankHeist", agent).mean[:2].mean() for agent in ("hgqn", "dqn")]
    assert found.published == pytest.approx((means[0] - means[1]) / (753.1 - 14.2))
    assert scores.versus("BankHeist", ("dqn", "hgqn"), (dqn, [np.array([])])).iterations == 0
    rainbow = scores.versus("BankHeist", ("rainbow", "hg-rainbow"), (dqn, hgqn))
    assert rainbow.ours == found.ours
    assert np.isnan(rainbow.published)


def write(out, config, returns, phase=250_000):
    out.mkdir(parents=True)
    (out / "config.json").write_text(
        json.dumps({**config, "seed": 0, "steps": 10, "format": FORMAT})
    )
    rows = [{"kind": "train", "step": phase * (k + 1), "return": r} for k, r in enumerate(returns)]
    rows.insert(1, {"kind": "eval", "step": phase, "return": 0.0})
    rows.append({"kind": "train", "step": phase * 99, "episodes": 0})  # No episode ended in it.
    (out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(out)


def test_published_figures_and_runs_are_drawn_and_summarised(tmp_path, capsys):
    runs = [
        write(tmp_path / "dqn/seed-0", config("dqn"), [20.0, 40.0, 60.0]),
        write(tmp_path / "hgqn/seed-0", config(), [30.0, 90.0]),
        write(tmp_path / "rank-1", config(orders=[1]), [30.0]),
        write(tmp_path / "short", config(env="ALE/Alien-v5"), [9.0], phase=10_000),
        write(tmp_path / "short-dqn", config("dqn", "ALE/Alien-v5"), [9.0], phase=10_000),
        write(tmp_path / "pong", config(env="ALE/Pong-v5"), [-21.0, -20.0]),
        write(tmp_path / "rainbow", config("rainbow", orders=[-1]), [20.0]),
        write(tmp_path / "hg", config("hg-rainbow"), [57.0]),
        write(tmp_path / "hg-1", config("hg-rainbow", orders=[1]), [999.0]),
    ]
    out = tmp_path / "all"
    twice = f"{tmp_path}/dqn/../rank-1"  # The same run by another path counts once.
    assert main(["atari-figures", "--published", *runs, twice, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert (
        "Zaxxon (+52.7%) and Star Gunner (+48.8%) lead, Chopper Command (-11.7%) trails." in printed
    )
    assert "HGQN is above DQN in 20 of 29 games" in printed
    assert (
        "hgqn/seed-0: hgqn in Bank Heist, return 90.0 at step 500,000; published at that step:"
        in printed
    )
    assert printed.count("rank-1: hgqn in Bank Heist, return 30.0 at step 250,000; nothing") == 1
    assert "hgqn/seed-0: the published agents played a different version of this game" in printed
    assert "short: the published agents played a different" not in printed  # Alien's is the same.
    assert "rank-1: the published agents" not in printed  # Nothing was published for it.
    assert "pong: hgqn in Pong, return -20.0 at step 500,000; nothing is published" in printed
    assert "short: hgqn in Alien, return 9.0 at step 10,000; the published curve is from" in printed
    assert "Alien, 1 run of HGQN versus 1 run of DQN: no relative score yet" in printed
    ours = 100 * 30.0 / (753.1 - 14.2)
    assert f"1 run of DQN, iterations 1 to 2: relative score {ours:+.1f}%, published +" in printed
    ours_alone = 100 * (60.0 - 14.2) / (753.1 - 14.2)
    assert (
        f"HGQN in 1 game (1 run), iterations 1 to 2, human-normalised: {ours_alone:.1f}%" in printed
    )
    drawings = [f"atari-{name}.png" for name in ("bars", "curves", "median-mean", "runs")]
    assert sorted(file.name for file in out.iterdir()) == [*drawings, "atari.json"]
    numbers = json.loads((out / "atari.json").read_text())
    assert numbers["games"][0]["game"] == "Zaxxon"
    assert numbers["over_games"]["hgqn"]["iqm"]["average"] == pytest.approx(0.598, abs=0.001)
    assert [run["name"] for run in numbers["runs"]][:3] == ["dqn/seed-0", "hgqn/seed-0", "rank-1"]
    rainbows = 100 * 37.0 / (753.1 - 14.2)
    pair = "Bank Heist, 1 run of HG-Rainbow versus 1 run of Rainbow, iteration 1: relative score"
    assert f"{pair} {rainbows:+.1f}%\n" in printed
    alien, bank_heist, rainbow = numbers["relative"]
    assert (rainbow["agent"], rainbow["published"]) == ("hg-rainbow", None)
    assert alien["ours"] is None
    assert bank_heist["ours"] == pytest.approx(ours / 100)


def test_runs_of_all_games_are_scored_as_the_published_seeds(tmp_path, capsys, monkeypatch):
    """Runs that are the published means have the published relative scores."""
    drawn = {}
    for name in ("draw_bars", "draw_over_games"):
        draw = getattr(figures, name)
        keep = lambda *args, name=name, draw=draw: (drawn.update({name: args[1]}), draw(*args))[1]  # noqa: E731
        monkeypatch.setattr(figures, name, keep)
    monkeypatch.setattr(figures, "draw_panels", lambda panels, file, **more: file)
    for game in published.GAMES:
        for agent in published.AGENTS:
            returns = published.curve(game, agent).mean.tolist()
            write(tmp_path / game / agent, config(agent, f"ALE/{game}-v5"), returns)
    out = tmp_path / "out"
    assert main(["atari-figures", "--published", str(tmp_path), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "HGQN in 29 games (29 runs), iterations 1 to 200, human-normalised over these" in printed
    assert len(drawn["draw_bars"]) == 29
    for versus in drawn["draw_bars"]:
        assert versus.ours == pytest.approx(versus.published)
        assert versus.ours == pytest.approx(scores.published_score(versus.game).relative)
    for over in drawn["draw_over_games"]:
        np.testing.assert_allclose(over.ours, over.published)
        slow = [
            [(mean - scale.random) / (scale.human - scale.random) for mean in curve.mean]
            for game in published.GAMES
            for scale, curve in [(published.reference(game), published.curve(game, over.agent))]
        ]
        numbers = json.loads((out / "atari.json").read_text())["over_games_of_runs"][over.agent]
        np.testing.assert_allclose(numbers["median"], np.median(slow, axis=0))
        np.testing.assert_allclose(numbers["mean"], np.mean(slow, axis=0))
        middle = [interquartile_mean(np.array(scores)) for scores in zip(*slow, strict=True)]
        np.testing.assert_allclose(numbers["iqm"], middle)


def test_games_are_scored_by_their_training_also_where_they_were_evaluated(tmp_path, capsys):
    run = write(tmp_path / "run", config(), [20.0, 115.0])  # Its evaluation is 0.
    assert main(["table", run, "--format", "csv"]) == 0
    assert ",1,500000,1,115," in capsys.readouterr().out  # The last half of its phases.
    assert main(["compare", run, "--out", str(tmp_path / "curve.png")]) == 0
    assert "2 of 2 phases between" in " ".join(capsys.readouterr().out.split())


def test_runs_alone_are_drawn_without_the_other_games(tmp_path, capsys, monkeypatch):
    drawn = []
    draw = figures.draw_panels
    monkeypatch.setattr(
        figures,
        "draw_panels",
        lambda panels, *args, **more: (drawn.extend(panels), draw(panels, *args, **more))[1],
    )
    runs = [
        write(tmp_path / "pong", config(env="ALE/Pong-v5"), [1.0]),
        write(tmp_path / "mine", config(), [1.0]),
    ]
    out = tmp_path / "figures"
    assert main(["atari-figures", *runs, "--out", str(out)]) == 0
    assert "Zaxxon" not in capsys.readouterr().out
    assert sorted(file.name for file in out.iterdir()) == ["atari-runs.png", "atari.json"]
    assert {panel.game: len(panel.published) for panel in drawn} == {"BankHeist": 2, "Pong": 0}


@pytest.mark.parametrize(
    ("env", "returns", "message"),
    [
        (
            "CartPole-v1",
            [1.0],
            "is a run of CartPole-v1, which is not an Atari game such as ALE/Alien",
        ),
        ("ALE/Alien-v5", [], "has no finished phase yet"),
        ("ALE/Alien-v5", [1.0, np.nan], "a return is not finite"),
        ("ALE/Alien-v5", ["much"], "line 1 of"),
    ],
)
def test_runs_that_cannot_be_drawn_are_refused_in_one_line(env, returns, message, tmp_path, capsys):
    run = write(tmp_path / "run", config(env=env), returns)
    assert main(["atari-figures", "--published", run, "--out", str(tmp_path / "out")]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not (tmp_path / "out").exists()


def test_a_narrow_terminal_loses_no_number(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    file = tmp_path / "file"
    file.touch()
    assert main(["atari-figures", "--published", "--out", str(tmp_path / "out")]) == 0
    assert "…" not in capsys.readouterr().out
    assert main(["atari-figures", "--published", "--out", str(file)]) == 1
    assert capsys.readouterr().err == f"hyperaction: {file} is a file, not a directory\n"


def test_a_drawing_that_fails_leaves_nothing_behind(tmp_path, capsys, monkeypatch):
    from matplotlib.figure import Figure

    def full(figure, file, **settings):
        Path(file).write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    out = tmp_path / "out"
    assert main(["atari-figures", "--published", "--out", str(out)]) == 1
    assert "no space left on device" in capsys.readouterr().err
    assert list(out.iterdir()) == []
