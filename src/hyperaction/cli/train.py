"""The command train."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hyperaction.cli.console import Console
from hyperaction.cli.terminal import STOPPED, UserError
from hyperaction.cli.warning_lines import release_warnings
from hyperaction.envs.ids import names_code
from hyperaction.runs.progress import Progress
from hyperaction.runs.remote import url_of
from hyperaction.training.config import parse_train
from hyperaction.training.display import progress_bar, status
from hyperaction.training.interrupts import StoppedError


def main(args: Sequence[str]) -> None:
    """Trains an agent, or resumes its training."""
    config = parse_train(args)
    from hyperaction.training.runner import run

    console = Console()
    bar = progress_bar(console, "{task.fields[more]}")
    task = bar.add_task("training", total=config.steps, more="")

    def begin(agent: Any) -> None:
        release_warnings()
        console.print(_describe(config.env, agent), highlight=False)
        bar.start()

    def show(progress: Progress) -> None:
        more = status(progress.steps_per_second, progress.last_return)
        bar.update(task, completed=min(progress.step, config.steps), more=more)

    try:
        run(config, begin, show, lambda message: console.print(message, highlight=False))
    except StoppedError as stop:
        raise UserError(f"{stop}; rerun the same command to resume", code=STOPPED) from None
    except KeyboardInterrupt:
        raise UserError(
            "stopped at once; rerun the same command to resume from the last checkpoint, if any",
            code=STOPPED,
        ) from None
    finally:
        if bar.live.is_started:
            bar.stop()
    out = url_of(config.out) or config.out
    console.print(f"Written: {out}/metrics.jsonl", soft_wrap=True)
    env = f" --env {config.env}" if names_code(config.env) else ""
    console.print(f"Play it: hyperaction evaluate {out}{env}", soft_wrap=True)


def _describe(env: str, agent: Any) -> str:
    if hasattr(agent, "hypergraph") and agent.config.heads.action_in:
        count = agent.hypergraph.num_actions
        return (
            f"{env}: {agent.action_length} sub-actions in, one value out; {count:,} joint actions"
        )
    if hasattr(agent, "hypergraph"):
        return f"{env}: {agent.hypergraph}"
    return f"{env}: {agent.action_length} real numbers per action"
