"""A folder for the Hugging Face hub: an agent, its settings, a model card, a film."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hyperaction.api import AGENT_CLASSES, BaseAgent
from hyperaction.errors import SettingError
from hyperaction.hub.model_card import Card
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.runs.files import replacing, write_json, write_text
from hyperaction.runs.reader import CONFIG, METRICS, read_metrics
from hyperaction.training.agent_file import load
from hyperaction.training.config import run_config
from hyperaction.version import __version__

CARD, FILM = "README.md", "replay.mp4"
FILES = (AGENT_FILE, CONFIG, METRICS, CARD, FILM)
FILM_STEPS = 1_000
"""Steps of the film, at most."""


def export(
    source: Path,
    out: Path,
    *,
    env: str = "",
    trust: bool = False,
    film: bool = True,
    on_message: Callable[[str], None] = lambda message: None,
) -> list[Path]:
    """Writes the folder of a run's agent, or of an agent's file; returns its files.

    Args:
        source: The directory of the run, or the file.
        out: The folder; one that was exported before is written over.
        env: The environment, instead of the run's own; a file knows none.
        trust: Whether a module that the run names as its environment may be imported.
        film: Whether to record the agent, where its environment can be rendered.
        on_message: Called with what a person should know.
    """
    check_out(out)
    is_run = source.is_dir()
    config = run_config(source) if is_run else {}
    file = load(source)
    agent = AGENT_CLASSES[file.name].load(source)
    name = env or str(config.get("env", ""))
    out.mkdir(parents=True, exist_ok=True)
    _copy(source / AGENT_FILE if is_run else source, out / AGENT_FILE)
    if is_run:
        # Where cartridges are is a matter of this machine.
        write_json(out / CONFIG, {**config, "env": name, "roms": ""})
        _copy(source / METRICS, out / METRICS)
    recorded = is_run and film and _film(source, out / FILM, env, trust, on_message)
    evaluations = read_metrics(source).of("eval") if is_run else []
    card = Card(
        file.name,
        type(agent).__name__,
        name,
        _facts(agent, config),
        evaluations,
        FILM if recorded else "",
    )
    write_text(out / CARD, card.text())
    return [out / name for name in FILES if (out / name).exists()]


def check_out(out: Path) -> None:
    """Refuses a folder that holds something else than an export."""
    others = [path.name for path in out.glob("*") if path.name not in FILES] if out.is_dir() else []
    if others:
        raise SettingError(
            f"`out` {out} holds {others[0]}, which is not of an export; name another"
        )
    if out.exists() and not out.is_dir():
        raise SettingError(f"`out` {out} is a file, not a folder")


def _copy(file: Path, target: Path) -> None:
    with replacing(target) as part:
        shutil.copyfile(file, part)


def _film(
    source: Path, file: Path, env: str, trust: bool, on_message: Callable[[str], None]
) -> bool:
    """Records the agent, if that can be done; whether it was."""
    file.unlink(missing_ok=True)
    try:
        from hyperaction.analysis.video_file import record

        record(
            source, file, episodes=1, steps=FILM_STEPS, fps=0, seed=0,
            on_step=lambda count, shot: None, env=env, trust=trust,
        )  # fmt: skip
    except (ImportError, ValueError, RuntimeError, OSError) as error:
        on_message(f"no film: {' '.join(str(error).split())}")
        return False
    return True


def _facts(agent: BaseAgent, config: dict[str, Any]) -> dict[str, str]:
    """What the card says of an agent."""
    facts: dict[str, str] = {"agent": agent.name}
    for name in ("env", "preset", "seed"):
        if name in config:
            facts[{"env": "environment"}.get(name, name)] = str(config[name])
    facts["steps"] = f"{agent.step:,}"
    hypergraph = getattr(agent.agent, "hypergraph", None)
    real = f"{len(agent.actions.sizes)} real numbers"
    facts["actions"] = str(hypergraph).partition("\n")[0] if hypergraph else real
    facts["observations"] = str(agent.observation_shape)
    facts["version"] = f"hyperaction {__version__}"
    return facts
