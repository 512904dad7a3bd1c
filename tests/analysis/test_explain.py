"""Explained and recorded runs."""

import json
import shutil

import gymnasium
import numpy as np
import pytest
from PIL import Image

from hyperaction import HGQN, Hypergraph, cli
from hyperaction.analysis.rollout import load_trained, rollouts
from hyperaction.analysis.video import Painter, Shot, film
from hyperaction.report import explain as report
from tests.faulty import Faulty


def found_with(shares, sizes=(2, 2, 2)):
    rows = [{"vertices": list(part), "share": share} for part, share in shares.items()]
    return {"sizes": list(sizes), "names": ["0", "1", "2"], "shares": rows}


def test_an_order_that_explains_nothing_is_reported():
    shares = {(0,): 0.6, (1,): 0.2, (2,): 0.195, (0, 1): 0.003, (1, 2): 0.002}
    lines = report.sentences(found_with(shares))
    assert "order 1 99.5%, order 2 0.5%" in lines[0]
    assert lines[1] == "Rank 2 explains 0.5%: rank 1 is sufficient."
    assert lines[2] == "Least useful, 0.5% in total: {1, 2}, {0, 1}."  # The least first.
    assert lines[3] == "Without them: --edges 0 1 2"
    shares = {(0,): 0.5, (1,): 0.0, (2,): 0.2, (0, 1): 0.3, (1, 2): 0.0}
    lines = report.sentences(found_with(shares))
    assert not any("is sufficient" in line for line in lines)
    assert lines[-1] == "Without them: --edges 0 1 2 0,1"  # {1} is within {0, 1}, and stays.
    nothing = report.sentences(found_with(dict.fromkeys(shares, 0.0)))
    assert nothing == [
        "All joint actions of nonzero weight have the same value: nothing to explain."
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Small runs that differ in their agents."""
    out = tmp_path_factory.mktemp("insight")
    common = [
        "train", "tests.faulty:Faulty-v0", "--steps", "90", "--phase-steps", "90", "--hidden", "8",
        "--evaluation-steps", "20", "--learning-starts", "64", "--discount", "0.6", "--loggers",
    ]  # fmt: skip
    kinds = {
        "pair": ["--rank", "2", "--dueling", "--mixer", "mean"],
        "universal": ["--rank", "2", "--mixer", "universal"],
        "dqn": ["--agent", "dqn"],
        "action-in": ["--agent", "action-in"],
        "logarithmic": ["--rank", "2", "--objective", "logarithmic"],
    }
    for name, more in kinds.items():
        assert cli.main([*common, *more, "--out", str(out / name)]) == 0
    return out


def explain(runs, *names, more=()):
    out = runs / "explained"
    paths = [str(runs / name) for name in names]
    code = cli.main(["explain", *paths, "--trust", "--steps", "60", "--out", str(out), *more])
    assert code == 0
    assert (out / "explain.png").stat().st_size > 10_000
    return json.loads((out / "explain.json").read_text())


def test_runs_are_explained(runs, capsys):
    found = explain(runs, "pair")
    printed = capsys.readouterr().out
    assert "Variance of Q over joint actions explained: order 1" in printed
    assert f"Q of greedy actions is {found['values']['value']:.4g} on average" in printed
    assert found["values"]["steps"] == 6 * 5  # All but the last five before each time limit.
    assert found["steps"] == 60
    assert [row["edge"] for row in found["representation"]] == [[0], [1], [0, 1]]
    assert sum(row["share"] for row in found["shares"]) == pytest.approx(1)
    both = explain(runs, "pair", "pair")
    assert both["steps"] == 120
    assert both["agents"] == 2
    weighted = explain(runs, "pair", more=["--weights", "policy"])
    assert weighted["representation"] == found["representation"]
    # A table of all joint actions has parts of every order too.
    table = explain(runs, "dqn")
    assert [row["vertices"] for row in table["shares"]] == [[0], [1], [0, 1]]
    capsys.readouterr()
    assert explain(runs, "universal")["shares"] == []
    assert "cannot be split into shares" in capsys.readouterr().out
    assert cli.main(["explain", "--trust", str(runs / "pair"), str(runs / "dqn")]) == 1
    assert "has other hyperedges than" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("action-in", "its network takes the action in and has no hyperedges"),
        ("logarithmic", "its values are differences of exponentials, which cannot be split"),
    ],
)
def test_what_is_no_mix_of_hyperedges_is_played_and_filmed_and_not_explained(
    runs, name, reason, capsys
):
    run = str(runs / name)
    assert cli.main(["explain", "--trust", run]) == 1
    assert f"no agent to explain: {run}: {reason}" in capsys.readouterr().err
    assert cli.main(["evaluate", "--trust", run, "--episodes", "1"]) == 0
    agent = load_trained(runs / name, trust=True)
    shots = list(film(agent, 1, 0))
    assert len(shots) == 10
    assert Painter(agent.edges, agent.names).paint(shots[0]).shape == (480, 640 + 380, 3)


def test_a_run_without_an_agent_that_can_be_read_is_left_out(runs, tmp_path, capsys):
    bad = tmp_path / "bad"
    shutil.copytree(runs / "pair", bad)
    data = bytearray((bad / "agent.safetensors").read_bytes())
    data[-1] ^= 1
    (bad / "agent.safetensors").write_bytes(data)
    capsys.readouterr()
    assert explain(runs, str(bad), "pair")["agents"] == 1
    message = f"{bad / 'agent.safetensors'} is damaged: it does not match its checksum\n"
    assert capsys.readouterr().err == f"hyperaction: skipped {message}"
    out = tmp_path / "deep" / "explained"
    assert cli.main(["explain", str(bad), "--trust", "--out", str(out)]) == 1
    assert capsys.readouterr().err == f"hyperaction: no agent to explain: {message}"
    assert not out.parent.exists()


def test_shares_are_of_the_values_that_the_agent_acts_by(runs):
    learner = HGQN.load(runs / "pair")
    for rollout in rollouts(learner, Faulty(), 30, 0):
        hypergraph = learner.agent.hypergraph
        steps = zip(rollout.outputs, rollout.actions, rollout.values, strict=True)
        for outputs, action, value in steps:
            every = hypergraph.representation(outputs, hypergraph.all_actions()).sum(axis=-1)
            best = hypergraph.representation(outputs, action).sum()
            assert best == pytest.approx(every.max(), abs=1e-5)
            assert np.isfinite(value)


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_an_agent_is_recorded(runs, tmp_path, suffix, capsys):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    file = tmp_path / f"video{suffix}"
    assert (
        cli.main(["video", "--trust", str(runs / "pair"), "--episodes", "2", "--out", str(file)])
        == 0
    )
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    if suffix == ".mp4":
        frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(file))
        assert (frames, seconds) == (20, pytest.approx(1.0, abs=0.1))  # Two episodes of ten steps.
    else:
        with Image.open(file) as pictures:
            assert pictures.n_frames == 20
    short = ["--steps", "3", "--out", str(file)]
    assert cli.main(["video", "--trust", str(runs / "pair"), *short]) == 0
    capsys.readouterr()
    assert cli.main(["video", "--trust", str(runs / "pair"), "--out", "video.avi"]) == 2
    assert "neither .mp4 nor .gif" in capsys.readouterr().err


class Masked(gymnasium.Wrapper):
    """Its masks are of whole numbers, as those of Gymnasium's own environments."""

    def reset(self, **options):
        return super().reset(**options)[0], {"action_mask": np.array([0, 1, 1, 0], np.int8)}

    def step(self, action):
        assert list(action) == [1, 0]  # The one that is allowed.
        return *super().step(action)[:4], {"action_mask": np.array([0, 1, 1, 0], np.int8)}


def test_recorded_actions_respect_the_masks(runs):
    agent = load_trained(runs / "pair", trust=True)
    masked = agent._replace(make_env=lambda render_mode=None: Masked(Faulty(render_mode)))
    shots = list(film(masked, 2, 0))
    assert [(shot.episode, shot.step) for shot in shots] == [
        (e, s) for e in (1, 2) for s in range(10)
    ]
    assert [shot.total for shot in shots] == [float(s) for _ in range(2) for s in range(10)]


def test_a_frame_shows_the_state_and_a_bar_for_every_hyperedge():
    edges = Hypergraph.complete((2, 2, 2), rank=2).edges
    painter = Painter(edges, ["hip", "knee", "foot"])
    shot = Shot(
        np.full((60, 80, 3), 200, np.uint8), np.array([1, -1, 0.5, 0, 0, 0.2], np.float32),
        np.array([0.0, 1.0, 0.5]), 1.5, 2.0, 1, 3,
    )  # fmt: skip
    picture = painter.paint(shot)
    assert picture.shape == (480, 640 + 380, 3)
    assert (picture[:, :640] == 200).all()
    bars = picture[:, 640:].reshape(-1, 3).tolist()
    blue, orange = [31, 119, 180], [255, 127, 14]
    assert bars.count(blue) > 3 * bars.count(orange) > 0  # As the values of their orders.
