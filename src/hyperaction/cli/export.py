"""The command export."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import RunEnvironment
from hyperaction.runs.remote import to_read


@dataclass(frozen=True)
class ExportOptions(RunEnvironment):
    """Write a run's agent to share: a folder that can be uploaded to the Hugging Face hub."""

    run: Annotated[Path, Positional("DIR")]
    """The directory of the run, or the file of an agent (agent.safetensors)."""
    to: Literal["hub-folder"] = "hub-folder"
    """What to write: hub-folder is weights, settings, metrics, a model card and a film."""
    out: Path = Path("export")
    """The folder to write."""
    film: bool = True
    """Record the agent, where its environment can be rendered."""


def main(args: Sequence[str]) -> None:
    """Writes the folder."""
    options: ExportOptions = parse(ExportOptions, "export", args)
    from hyperaction.hub.folder import export
    from hyperaction.training import compile_cache

    compile_cache.use()
    if sys.platform == "linux" and "DISPLAY" not in os.environ:
        os.environ.setdefault("MUJOCO_GL", "egl")  # MuJoCo then renders without a display.
    console = Console()
    with console.status("exporting"):
        written = export(
            to_read(options.run),
            options.out,
            env=options.env,
            trust=options.trust,
            film=options.film,
            on_message=lambda message: console.print(message, highlight=False, soft_wrap=True),
        )
    console.print(
        f"Written: {options.out} ({', '.join(each.name for each in written)})", soft_wrap=True
    )
    console.print(f"Upload it: hf upload USER/NAME {options.out}", soft_wrap=True, highlight=False)
