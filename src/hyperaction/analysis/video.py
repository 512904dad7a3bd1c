"""Videos of an agent: the rendered state next to the action and its representation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from hyperaction.analysis.rollout import Trained, play_greedily

PANEL = 380
"""The width of the panel with the bars."""
HEIGHT = 480
"""The minimum height of a video; smaller images are enlarged to it."""
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
INK, PAPER, FAINT = "#222222", "#ffffff", "#cccccc"

Pixels = NDArray[np.uint8]
"""An image, `[height, width, 3]`."""


class Shot(NamedTuple):
    """One step of an episode."""

    image: Pixels
    """The rendered state."""
    representation: NDArray[np.float32]
    """The representation of the chosen action, one value per hyperedge that Q is mixed from."""
    action: NDArray[np.float64]
    """The chosen sub-actions, each scaled from 0, the lowest, to 1, the highest."""
    value: float
    """Q(s, a) of the chosen action."""
    total: float
    """The return so far."""
    episode: int
    step: int


def film(trained: Trained, episodes: int, seed: int) -> Iterator[Shot]:
    """Episodes of the greedy policy, step by step."""
    hypergraph = trained.hypergraph
    highest = np.maximum(np.array(hypergraph.sizes) - 1, 1)
    env = trained.make_env(render_mode="rgb_array")
    with closing(play_greedily(trained.learner, env, seed)) as steps:
        for step in takewhile(lambda step: step.episode <= episodes, steps):
            outputs, action, value = step.decision
            yield Shot(
                _render(env),
                hypergraph.representation(outputs, action) if trained.edges else outputs,
                action / highest,
                float(value),
                step.total,
                step.episode,
                step.number,
            )


def _render(env: Any) -> Pixels:
    image = env.render()
    if not isinstance(image, np.ndarray) or image.ndim != 3 or image.shape[2] != 3:
        raise ValueError("the environment does not render images (rgb_array)")
    return np.asarray(image, np.uint8)


class Bar(NamedTuple):
    """A bar: its name, its length relative to the longest possible one, and its colour."""

    name: str
    share: float
    colour: str


class Painter:
    """Paints frames; all bars have one scale, which grows when a value exceeds it.

    Args:
        edges: The hyperedges.
        names: The names of the vertices.
    """

    def __init__(self, edges: Sequence[Sequence[int]], names: Sequence[str]) -> None:
        self._edges = [tuple(edge) for edge in edges]
        self._order = sorted(
            range(len(self._edges)), key=lambda k: (len(self._edges[k]), self._edges[k])
        )
        self._names = list(names)
        self._scale = 1e-9

    def paint(self, shot: Shot) -> Pixels:
        """The rendered state, next to bars for the action and its representation."""
        state = Image.fromarray(shot.image)
        factor = max(1.0, HEIGHT / state.height)
        # Codecs need even numbers of pixels.
        width, height = (2 * round(factor * side / 2) for side in state.size)
        picture = Image.new("RGB", (width + PANEL, height), PAPER)
        picture.paste(state.resize((width, height)), (0, 0))
        draw = ImageDraw.Draw(picture)
        left, right = width + 12, width + PANEL - 12
        text = f"episode {shot.episode}   step {shot.step}   return {shot.total:,.1f}"
        draw.text((left, 8), text, fill=INK, font=_font(13))
        draw.text((left, 26), f"Q(s, a) {shot.value:,.2f}", fill=INK, font=_font(13))
        actions = self._actions(shot)
        room = height - 96
        share = max(1, len(actions)) / (len(actions) + len(self._edges))
        middle = 66 + int(room * max(0.2, min(0.45, share)))
        draw.text((left, 48), "action", fill=INK, font=_font(11))
        _bars(draw, actions, (left, 64, right, middle), both=False)
        if self._edges:
            draw.text((left, middle + 4), "representation", fill=INK, font=_font(11))
            _bars(draw, self._edge_bars(shot), (left, middle + 20, right, height - 8), both=True)
        return np.asarray(picture)

    def _actions(self, shot: Shot) -> list[Bar]:
        return [
            Bar(name, float(value), FAINT)
            for name, value in zip(self._names, shot.action, strict=True)
        ]

    def _edge_bars(self, shot: Shot) -> list[Bar]:
        self._scale = max(self._scale, float(np.abs(shot.representation).max()))
        return [
            Bar(
                ",".join(self._names[vertex] for vertex in self._edges[k]),
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
    """Horizontal bars in a box, from its left edge, or to both sides of its middle."""
    left, top, right, bottom = box
    pitch = min(22.0, (bottom - top) / max(1, len(bars)))
    size = int(min(11, pitch - 1))
    labels = 110 if size >= 6 else 0
    start = left + labels
    zero = (start + right) // 2 if both else start
    room = right - zero
    for row, bar in enumerate(bars):
        y = top + row * pitch
        if labels:
            draw.text((left, y), bar.name[:18], fill=INK, font=_font(size))
        end = zero + round(bar.share * room)
        low, high = sorted((zero, end))
        draw.rectangle((low, y + 1, max(low + 1, high), y + max(1.0, pitch - 2)), fill=bar.colour)
        if not both:
            draw.rectangle((zero, y + 1, right, y + max(1.0, pitch - 2)), outline=FAINT)
            draw.rectangle((end - 2, y + 1, end + 2, y + max(1.0, pitch - 2)), fill=INK)
    draw.line((zero, top, zero, top + pitch * len(bars)), fill=INK)


@cache
def _font(size: int) -> Any:
    return ImageFont.load_default(size)
