"""Agents to share: what is exported is loaded again, and the hub understands its card."""

import json
import re
import sys

import gymnasium
import numpy as np
import pytest

from hyperaction import DQN, HGQN
from hyperaction.cli import main
from hyperaction.hub.folder import export
from hyperaction.training import hub

ENV = "CartPole-v1"
TRAIN = [
    "train", ENV, "--steps", "120", "--phase-steps", "60", "--evaluation-steps", "20",
    "--learning-starts", "64", "--hidden", "8", "--total-width", "8", "--loggers",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    assert main([*TRAIN, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def folder(run):
    pytest.importorskip("imageio_ffmpeg")
    out = run.parent / "folder"
    assert main(["export", str(run), "--to", "hub-folder", "--out", str(out)]) == 0
    return out


def test_an_exported_folder_has_the_agent_its_settings_results_and_a_film(run, folder):
    names = {"agent.safetensors", "config.json", "metrics.jsonl", "README.md", "replay.mp4"}
    assert {path.name for path in folder.iterdir()} == names
    assert (folder / "agent.safetensors").read_bytes() == (run / "agent.safetensors").read_bytes()
    assert json.loads((folder / "config.json").read_text())["env"] == ENV
    assert (folder / "replay.mp4").stat().st_size > 1_000


def test_the_hub_reads_the_card_and_its_results(run, folder):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    card = huggingface_hub.ModelCard.load(folder / "README.md")
    assert card.data.library_name == "hyperaction"
    assert {"reinforcement-learning", "hgqn", ENV} <= set(card.data.tags)
    (result,) = card.data.eval_results
    assert (result.task_type, result.dataset_name) == ("reinforcement-learning", ENV)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    returns = [row["return"] for row in rows if row["kind"] == "eval"]
    assert float(result.metric_value.split(" +/- ")[0]) == pytest.approx(returns[-1], abs=0.01)
    assert f"{returns[-1]:,.2f}" in card.text


def test_the_usage_of_the_card_runs_as_it_is_written(folder):
    _, _, rest = (folder / "README.md").read_text().partition("```python\n")
    code = rest.partition("```")[0].replace("USER/NAME", str(folder))
    names: dict[str, object] = {}
    exec(code, names)
    assert names["action"] in (0, 1)


def test_from_hub_gives_the_agent_of_the_run_and_learns_on(run, folder):
    observations = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    shared = HGQN.from_hub(folder)
    np.testing.assert_array_equal(shared.act(observations), HGQN.load(run).act(observations))
    learning = HGQN.from_hub(folder, gymnasium.make(ENV))
    assert learning.learn(5).step == shared.step + 5
    with pytest.raises(ValueError, match="holds the agent hgqn, not dqn"):
        DQN.from_hub(folder)


def test_an_exported_folder_is_evaluated_as_a_run_is(folder, capsys):
    assert main(["evaluate", str(folder), "--episodes", "1"]) == 0
    assert "mean" in capsys.readouterr().out


def test_a_bare_file_of_an_agent_is_exported_without_results(run, tmp_path):
    written = export(run / "agent.safetensors", tmp_path / "out")
    assert [path.name for path in written] == ["agent.safetensors", "README.md"]
    text = (tmp_path / "out" / "README.md").read_text()
    assert "model-index" not in text
    assert "HGQN.from_hub" in text
    assert HGQN.from_hub(tmp_path / "out").step == HGQN.load(run).step


def test_what_cannot_be_filmed_is_exported_without_a_film(run, tmp_path, capsys):
    config = json.loads((run / "config.json").read_text())
    other = tmp_path / "run"
    other.mkdir()
    for name in ("agent.safetensors", "metrics.jsonl"):
        (other / name).write_bytes((run / name).read_bytes())
    (other / "config.json").write_text(json.dumps(config | {"env": "strange_module:Env-v0"}))
    out = tmp_path / "out"
    assert main(["export", str(other), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "no film: the run's environment is strange_module:Env-v0" in printed  # Not imported.
    assert "strange_module" not in sys.modules
    assert not (out / "replay.mp4").exists()
    assert "<video" not in (out / "README.md").read_text()


def test_an_export_writes_over_an_export_and_nothing_else(run, folder, tmp_path, capsys):
    assert main(["export", str(run), "--no-film", "--out", str(tmp_path / "again")]) == 0
    assert main(["export", str(run), "--no-film", "--out", str(tmp_path / "again")]) == 0
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.tex").write_text("x")
    capsys.readouterr()
    assert main(["export", str(run), "--out", str(tmp_path / "notes")]) == 1
    error = "--out .* holds thesis.tex, which is not of an export; name another"
    assert re.search(error, capsys.readouterr().err)
    assert main(["export", str(tmp_path / "nowhere"), "--out", str(tmp_path / "new")]) == 1
    assert not (tmp_path / "new").exists()


def test_what_is_neither_a_folder_nor_fetched_is_one_line(monkeypatch):
    with pytest.raises(ValueError, match="neither a folder nor a repository of the hub"):
        HGQN.from_hub("not a name")
    with monkeypatch.context() as patch:
        patch.setattr(hub, "find_spec", lambda name: None)
        with pytest.raises(
            ValueError, match=r"needs huggingface_hub: pip install 'hyperaction\[hub"
        ):
            HGQN.from_hub("user/name")
    huggingface_hub = pytest.importorskip("huggingface_hub")

    def no_network(*args, **options):
        raise huggingface_hub.errors.LocalEntryNotFoundError("there is no network. Please check")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", no_network)
    with pytest.raises(ValueError, match=r"user/name cannot be fetched .*: there is no network$"):
        HGQN.from_hub("user/name")
