"""A film of an agent: what is rendered, and beside it live bars of what it thinks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

PANEL = 380
"""How wide the bars' side is."""
HEIGHT = 480
"""How high a film is at least; smaller pictures are enlarged to it."""
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
INK, PAPER, FAINT = "#222222", "#ffffff", "#cccccc"

Picture = NDArray[np.uint8]


class Shot(Protocol):
    """One step of an episode."""

    @property
    def frame(self) -> Picture:
        """The state as rendered."""
        ...

    @property
    def representation(self) -> NDArray[Any]:
        """The chosen action's one value per hyperedge."""
        ...

    @property
    def action(self) -> NDArray[Any]:
        """The chosen sub-actions, each from 0 to 1."""
        ...

    @property
    def value(self) -> float:
        """Q(s, a)."""
        ...

    @property
    def total(self) -> float:
        """The return so far."""
        ...

    @property
    def episode(self) -> int:
        """Which episode it is."""
        ...

    @property
    def step(self) -> int:
        """Which step of it."""
        ...


class Bar(NamedTuple):
    """A bar: its name, its value as a share of the room to one side, and its colour."""

    name: str
    share: float
    colour: str


class Painter:
    """Paints frames; bars keep one scale, which grows when a value needs more.

    Args:
        edges: The hyperedges.
        names: What the vertices are called, if they are.
    """

    def __init__(self, edges: Sequence[Sequence[int]], names: Sequence[str]) -> None:
        self._edges = [tuple(edge) for edge in edges]
        self._order = sorted(
            range(len(self._edges)), key=lambda k: (len(self._edges[k]), self._edges[k])
        )
        self._names = list(names)
        self._scale = 1e-9

    def paint(self, shot: Shot) -> Picture:
        """The rendered state, and what the agent thinks beside it."""
        seen = Image.fromarray(shot.frame)
        factor = max(1.0, HEIGHT / seen.height)
        # Even numbers of pixels: codecs halve the colours.
        width, height = (2 * round(factor * side / 2) for side in seen.size)
        picture = Image.new("RGB", (width + PANEL, height), PAPER)
        picture.paste(seen.resize((width, height)), (0, 0))
        draw = ImageDraw.Draw(picture)
        left, right = width + 12, width + PANEL - 12
        told = f"episode {shot.episode}   step {shot.step}   return {shot.total:,.1f}"
        draw.text((left, 8), told, fill=INK, font=_font(13))
        draw.text((left, 26), f"Q(s, a) {shot.value:,.2f}", fill=INK, font=_font(13))
        actions = self._actions(shot)
        room = height - 96
        share = max(1, len(actions)) / (len(actions) + len(self._edges))
        middle = 66 + int(room * max(0.2, min(0.45, share)))
        draw.text((left, 48), "action", fill=INK, font=_font(11))
        _bars(draw, actions, (left, 64, right, middle), both=False)
        draw.text((left, middle + 4), "representation", fill=INK, font=_font(11))
        _bars(draw, self._edge_bars(shot), (left, middle + 20, right, height - 8), both=True)
        return np.asarray(picture)

    def _actions(self, shot: Shot) -> list[Bar]:
        names = self._names or [""] * len(shot.action)
        return [
            Bar(f"{vertex} {name}", float(value), FAINT)
            for vertex, (name, value) in enumerate(zip(names, shot.action, strict=True))
        ]

    def _edge_bars(self, shot: Shot) -> list[Bar]:
        self._scale = max(self._scale, float(np.abs(shot.representation).max()))
        return [
            Bar(
                ",".join(map(str, self._edges[k])),
                float(shot.representation[k]) / self._scale,
                COLOURS[(len(self._edges[k]) - 1) % len(COLOURS)],
            )
            for k in self._order
        ]


def _bars(
    draw: ImageDraw.ImageDraw,
    bars: Sequence[Bar],
    box: tuple[int, int, int, int],
    *,
    both: bool,
) -> None:
    """Horizontal bars in a box, from its left end, or to both sides of its middle."""
    left, top, right, bottom = box
    pitch = min(22.0, (bottom - top) / max(1, len(bars)))
    size = int(min(11, pitch - 1))
    labels = 110 if size >= 6 else 0
    start = left + labels
    zero = (start + right) // 2 if both else start
    room = right - zero
    for place, bar in enumerate(bars):
        y = top + place * pitch
        if labels:
            draw.text((left, y), bar.name[:18], fill=INK, font=_font(size))
        end = zero + round(bar.share * room)
        low, high = sorted((zero, end))
        draw.rectangle((low, y + 1, max(low + 1, high), y + max(1.0, pitch - 2)), fill=bar.colour)
        if not both:
            draw.rectangle((zero, y + 1, right, y + max(1.0, pitch - 2)), outline=FAINT)
            draw.rectangle((end - 2, y + 1, end + 2, y + max(1.0, pitch - 2)), fill=INK)
    draw.line((zero, top, zero, top + pitch * len(bars)), fill=INK)


_FONTS: dict[int, Any] = {}


def _font(size: int) -> Any:
    if size not in _FONTS:
        _FONTS[size] = ImageFont.load_default(size)
    return _FONTS[size]


@contextmanager
def film(file: Path, fps: float) -> Iterator[Any]:
    """Takes pictures one by one, and makes a film of them, whole or not at all."""
    part = file.with_name(f".{file.stem}.part{file.suffix}")
    file.parent.mkdir(parents=True, exist_ok=True)
    writer = _Gif(part, fps) if file.suffix == ".gif" else _Mp4(part, fps)
    try:
        yield writer.add
        writer.close()
        part.replace(file)
    finally:
        writer.stop()
        part.unlink(missing_ok=True)


class _Mp4:
    """Pictures through a packaged ffmpeg."""

    def __init__(self, file: Path, fps: float) -> None:
        self._file, self._fps = file, fps
        self._sink: Any = None
        self._count = 0

    def add(self, picture: Picture) -> None:
        if self._sink is None:
            from imageio_ffmpeg import write_frames

            height, width, _ = picture.shape
            self._sink = write_frames(
                str(self._file),
                (width, height),
                fps=self._fps,
                macro_block_size=2,
                ffmpeg_log_level="error",
            )
            with warnings.catch_warnings():
                # Of forking beside JAX's threads: what is forked here becomes ffmpeg at once.
                warnings.filterwarnings("ignore", message=r"os\.fork\(\)", category=RuntimeWarning)
                self._sink.send(None)
        self._sink.send(np.ascontiguousarray(picture))
        self._count += 1

    def close(self) -> None:
        self.stop()
        if self._count != _frames(self._file):  # It does not say so itself, on a full disk say.
            raise OSError(f"{self._file} could not be written: ffmpeg did not finish")

    def stop(self) -> None:
        if self._sink is not None:
            self._sink.close()
            self._sink = None


def _frames(file: Path) -> int:
    from imageio_ffmpeg import count_frames_and_secs

    try:
        return int(count_frames_and_secs(str(file))[0])
    except (RuntimeError, OSError):
        return -1


class _Gif:
    """Pictures with a palette each; a half and every other, since such films are large."""

    def __init__(self, file: Path, fps: float) -> None:
        self._file, self._fps = file, fps
        self._every = max(1, round(fps / 20))
        self._count = 0
        self._pictures: list[Image.Image] = []

    def add(self, picture: Picture) -> None:
        if self._count % self._every == 0:
            image = Image.fromarray(picture)
            small = image.resize((image.width // 2, image.height // 2))
            self._pictures.append(small.quantize(64))
        self._count += 1

    def close(self) -> None:
        first, *rest = self._pictures
        pause = round(1000 * self._every / self._fps)
        first.save(self._file, save_all=True, append_images=rest, duration=pause, loop=0)

    def stop(self) -> None:
        self._pictures.clear()
