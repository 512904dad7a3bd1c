"""Records the agent of a run in a video file, MP4 or GIF."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from imageio_ffmpeg import count_frames_and_secs, write_frames
from PIL import Image

from hyperaction.analysis.rollout import load_trained
from hyperaction.analysis.video import Painter, Pixels, Shot, film
from hyperaction.runs.files import replacing


def record(
    run: Path,
    file: Path,
    *,
    episodes: int,
    steps: int,
    fps: float,
    seed: int,
    on_step: Callable[[int, Shot], None],
    env: str = "",
    trust: bool = False,
    parts: Mapping[str, str] | None = None,
) -> None:
    """Records episodes of the greedy policy of a run.

    Args:
        run: The directory of the run, or the file of an agent.
        file: The file to write.
        episodes: The number of episodes.
        steps: The maximum number of steps; 0 records whole episodes.
        fps: Steps per second; 0 uses the frame rate of the environment.
        seed: The seed of the environment.
        on_step: Receives the number of each step, from 1, and what is shown.
        env: The environment to use, instead of the run's own.
        trust: Whether modules that the run names may be imported.
        parts: Parts of the user's own, as in `load_agent`.
    """
    agent = load_trained(run, env=env, trust=trust, parts=parts)
    painter = Painter(agent.edges, agent.names)
    shots = film(agent, episodes, seed)
    with video_file(file, fps or agent.fps) as add:
        for count, shot in enumerate(islice(shots, steps or None), 1):
            add(painter.paint(shot))
            on_step(count, shot)


@contextmanager
def video_file(file: Path, fps: float) -> Iterator[Callable[[Pixels], None]]:
    """Yields a function that adds an image; the file is written completely or not at all."""
    with replacing(file) as part:
        writer = _Gif(part, fps) if file.suffix == ".gif" else _Mp4(part, fps)
        try:
            yield writer.add
            writer.close()
        finally:
            writer.stop()


class _Mp4:
    """Images encoded by the packaged ffmpeg."""

    def __init__(self, file: Path, fps: float) -> None:
        self._file, self._fps = file, fps
        self._sink: Any = None
        self._count = 0

    def add(self, image: Pixels) -> None:
        if self._sink is None:
            height, width, _ = image.shape
            self._sink = write_frames(
                str(self._file),
                (width, height),
                fps=self._fps,
                macro_block_size=2,
                ffmpeg_log_level="error",
                output_params=["-f", "mp4"],
            )
            with warnings.catch_warnings():
                # JAX warns of forking beside its threads; the child becomes ffmpeg at once.
                warnings.filterwarnings("ignore", message=r"os\.fork\(\)", category=RuntimeWarning)
                self._sink.send(None)
        self._sink.send(np.ascontiguousarray(image))
        self._count += 1

    def close(self) -> None:
        self.stop()
        if self._count != _frames(self._file):  # It does not report errors such as a full disk.
            raise OSError(f"{self._file} could not be written: ffmpeg did not finish")

    def stop(self) -> None:
        if self._sink is not None:
            self._sink.close()
            self._sink = None


def _frames(file: Path) -> int:
    try:
        return int(count_frames_and_secs(str(file))[0])
    except (RuntimeError, OSError):
        return -1


class _Gif:
    """Images with a palette each, at half the size and up to 20 per second."""

    def __init__(self, file: Path, fps: float) -> None:
        self._file, self._fps = file, fps
        self._every = max(1, round(fps / 20))
        self._count = 0
        self._images: list[Image.Image] = []

    def add(self, image: Pixels) -> None:
        if self._count % self._every == 0:
            full = Image.fromarray(image)
            half = full.resize((full.width // 2, full.height // 2))
            self._images.append(half.quantize(64))
        self._count += 1

    def close(self) -> None:
        first, *rest = self._images
        pause = round(1000 * self._every / self._fps)
        options = {"save_all": True, "append_images": rest, "duration": pause, "loop": 0}
        first.save(self._file, format="GIF", **options)

    def stop(self) -> None:
        self._images.clear()
