"""The command video."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import RunEnvironment, need
from hyperaction.errors import check_ranges
from hyperaction.runs.files import check_is_no_directory
from hyperaction.runs.remote import to_read


@dataclass(frozen=True)
class VideoOptions(RunEnvironment):
    """Record the agent of a run: the rendered episode, with the values behind its actions."""

    run: Annotated[Path, Positional("DIR")]
    """The directory of the run, or the file of an agent."""
    episodes: int = 1
    """The number of episodes."""
    steps: int = 0
    """The maximum number of steps; 0 records whole episodes."""
    fps: float = 0.0
    """Steps per second of the video; 0 uses the frame rate of the environment."""
    seed: int = 0
    """The seed of the environment."""
    out: Path = Path("results/video.mp4")
    """The file for the video, .mp4 or .gif."""

    def __post_init__(self) -> None:
        check_ranges(self, episodes=(1, inf), steps=(0, inf), seed=(0, inf))
        if self.fps:
            check_ranges(self, fps=(0.1, 1000))
        if self.out.suffix not in (".mp4", ".gif"):
            raise ValueError(f"--out {self.out} is neither .mp4 nor .gif")


def main(args: Sequence[str]) -> None:
    """Records the agent of a run."""
    options: VideoOptions = parse(VideoOptions, "video", args)
    check_is_no_directory(options.out)
    for module in ("PIL", "imageio_ffmpeg"):
        need(module, extra="report")
    from hyperaction.analysis.video_file import record
    from hyperaction.training import compile_cache

    compile_cache.use()
    if sys.platform == "linux" and "DISPLAY" not in os.environ:
        os.environ.setdefault("MUJOCO_GL", "egl")  # MuJoCo then renders without a display.
    console = Console()
    with console.status("recording") as status:

        def show(count: int, shot: Any) -> None:
            if count % 20 == 0:
                status.update(f"recording: {count:,} steps, return {shot.total:,.1f}")

        record(
            to_read(options.run),
            options.out,
            episodes=options.episodes,
            steps=options.steps,
            fps=options.fps,
            seed=options.seed,
            on_step=show,
            env=options.env,
            trust=options.trust,
            parts=options.parts,
        )
    console.print(f"Written: {options.out}", soft_wrap=True)
